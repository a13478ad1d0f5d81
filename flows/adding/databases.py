"""Create an entry for `benchloom add database`: open the database, and read ten rows of each table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlglot import exp

from flows.adding.addition import Addition, require_name, require_new, trying
from flows.parameters import Parameters
from flows.settings import parse_database
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.reflection import list_unread, reflect
from tasks.errors import BadInput, SqlError

MAGIC = b"SQLite format 3\0"
ROWS = 10
LIMITS = QueryLimits(timeout_s=60, bytes=100_000_000)
"""Limits on each query of the test: run time in seconds, and size of the result in bytes."""
SHOWN_TABLES = 8
"""Maximum number of tables listed in the printed result."""


@dataclass(frozen=True)
class DatabaseOptions:
    """Options for a new entry of `databases`. place: a SQLite file, or a SQLAlchemy URL with no password."""

    place: str
    password_env: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    """Key -> text. The keys are title, licence, source, attribution and description; all are optional."""
    tried: bool = True
    replace: bool = False


def add_database(root: Path, params: Parameters, name: str, options: DatabaseOptions) -> Addition:
    """Test a database and return its entry.

    Raises BadInput if the database cannot be read, or has no rows.
    """
    require_name(name)
    keys = ("databases", name)
    require_new(params, keys, replace=options.replace)
    fields, copies = locate(root, name, options)
    entry = parse_database(
        Parameters({**params, "databases": {name: {**fields, **options.texts}}}, params.path), name
    )
    found: dict[str, object] = {}
    if options.tried:
        opened = entry.resolve_under(root)
        if copies:
            opened = opened.model_copy(update={"file": next(iter(copies))})
        with trying(params, keys):
            found = try_database(opened)
    return Addition(
        "database",
        name,
        {keys: {**fields, **options.texts}},
        found,
        [*describe(found), *(f"copied in its current state to {fields['file']}" for _ in copies)],
        f"benchloom plan grammar-dataset@{name}",
        copies,
    )


def locate(root: Path, name: str, options: DatabaseOptions) -> tuple[dict[str, str], dict[Path, Path]]:
    """Return the fields that locate a database, and the copies to make (source file -> target file).

    Only a file outside the project is copied. Raises BadInput if the file does not exist, or is not a SQLite
    file.
    """
    if "://" in options.place:
        password = {"password_env": options.password_env} if options.password_env else {}
        return {"url": options.place, **password, "file": f"snapshots/{name}.json"}, {}
    if options.password_env:
        raise BadInput(
            "--password-env", "applies only to a URL", hint="omit it: a SQLite file has no password"
        )
    path = Path(options.place).expanduser().resolve()
    if not path.is_file():
        raise BadInput(
            options.place,
            "no such database file",
            hint="give a SQLite file or a URL: dialect://user@host/database",
        )
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise BadInput(options.place, "is not a SQLite file")
    if path.is_relative_to(root):
        return {"file": path.relative_to(root).as_posix()}, {}
    # A file outside the project may change or disappear unnoticed.
    inside = Path("data") / f"{name}.sqlite"
    return {"file": inside.as_posix()}, {path: root / inside}


def try_database(entry: DatabaseEntry) -> dict[str, object]:
    """Read ten rows of each table, and list the tables that cannot be read.

    Raises BadInput if no row can be read, and DatabaseGone if the database server does not answer.
    """
    columns = Counter(column.table for column in reflect(entry))
    if not columns:
        raise BadInput(entry.label, "contains no tables")
    rows: dict[str, int] = {}
    unread = [f"{part.what} was not read: {part.why}" for part in list_unread(entry)]
    with SafeDatabase(entry, LIMITS) as safe:
        for table in sorted(columns):
            some = exp.select("*").from_(exp.table_(table, quoted=True)).limit(ROWS)
            try:
                rows[table] = len(safe.query(some.sql(dialect=entry.dialect)).rows)
            except SqlError as error:
                unread.append(f"table {table} was not read: {' '.join(str(error).split())}")
    if not any(rows.values()):
        raise BadInput(
            entry.label,
            f"none of its {len(columns)} tables has rows that can be read",
            hint="; ".join(unread[:3]),
        )
    tables = {table: {"columns": columns[table], "rows_read": rows.get(table)} for table in sorted(columns)}
    return {"dialect": entry.dialect, "tables": tables, "unread": unread}


def describe(found: Mapping[str, object]) -> list[str]:
    """Format the result of a test as lines."""
    tables, unread = found.get("tables"), found.get("unread")
    if not isinstance(tables, Mapping) or not isinstance(unread, list):
        return []
    names = ", ".join(list(tables)[:SHOWN_TABLES]) + (", ..." if len(tables) > SHOWN_TABLES else "")
    empty = [table for table, about in tables.items() if about["rows_read"] == 0]
    lines = [f"read up to {ROWS} rows of each of {len(tables)} tables: {names}"]
    if empty:
        lines.append(f"empty tables: {', '.join(empty)}")
    return [*lines, *unread]
