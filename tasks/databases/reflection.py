"""Read a database's schema from its catalogue, without reading cells."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, literal, select, types
from sqlalchemy import table as make_table
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.engine import Inspector
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedForeignKeyConstraint
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import DBAPIError, SAWarning, SQLAlchemyError

from tasks.databases.columns import Column, make_column_id
from tasks.databases.entry import DatabaseEntry, name_cause
from tasks.databases.left_out import UnreadPart, list_inner, list_kinds, list_schemas

IDENTIFIER = re.compile(r"(^|[_ ])(id|qid|uuid|guid)$|[a-z](Id|ID)$", re.ASCII)
"""Matches the names of identifier columns."""
SPOKEN = re.compile(r"[^\W\d_]+(['-][^\W\d_]+)*( [^\W\d_]+(['-][^\W\d_]+)*){0,5}")
"""Matches one to six words of letters, with apostrophes or hyphens inside words."""
GENERIC: tuple[tuple[type[types.TypeEngine[Any]], str], ...] = (
    (types.Boolean, "boolean"),
    (types.Integer, "integer"),
    (types.Numeric, "real"),
    (types.Date, "date"),
    (types.DateTime, "date"),
    (types.Time, "date"),
    (types.String, "text"),
    (postgresql.CITEXT, "text"),
    (types.Uuid, "text"),
    (mysql.YEAR, "integer"),
)
"""SQLAlchemy type -> generic type; the first matching entry applies."""
DECLARED: tuple[tuple[str, str], ...] = (
    ("BOOL", "boolean"), ("DATE", "date"), ("TIME", "date"), ("STRING", "text"), ("MEMO", "text"),
    ("UNIQUEID", "text"), ("UUID", "text"), ("GUID", "text"), ("ENUM", "text"), ("XML", "text"),
    ("NOTE", "text"), ("JSON", "other"), ("GEO", "other"), ("POINT", "other"), ("POLYGON", "other"),
    ("BINARY", "other"), ("IMAGE", "other"), ("RAW", "other"), ("MONEY", "real"), ("CURRENCY", "real"),
    ("NUMBER", "real"), ("FIXED", "real"), ("SERIAL", "integer"), ("YEAR", "integer"),
)  # fmt: skip
"""Substring of a type declared in SQLite -> generic type, for types that SQLAlchemy does not know."""
AFFINE = ("INT", "CHAR", "CLOB", "TEXT", "BLOB", "REAL", "FLOA", "DOUB")
"""Substrings of a declared type that SQLite, and therefore SQLAlchemy, recognises."""


def reflect(database: DatabaseEntry | Path) -> list[Column]:
    """Return all columns with types, keys and nullability, sorted by table and column.

    Only the catalogue is queried: no cell of a user's table is read. Views are skipped. Raises BadInput if
    the database cannot be opened, and DatabaseGone if a server does not answer.
    """
    entry = (
        database if isinstance(database, DatabaseEntry) else DatabaseEntry(name=database.stem, file=database)
    )
    with _connect(entry) as connection:
        return reflect_connection(connection)


def reflect_times(database: DatabaseEntry) -> dict[str, frozenset[str]]:
    """Map each lower-case column name in tables and views to its kinds: `date`, `time` or `other`.

    A timestamp has the kind `date`.
    """
    found: dict[str, set[str]] = {}
    with _connect(database) as connection:
        for columns in inspect(connection).get_multi_columns(kind=ObjectKind.ANY).values():
            for column in columns:
                kind = column["type"]
                days = isinstance(kind, (types.Date, types.DateTime))
                name = "date" if days else "time" if isinstance(kind, types.Time) else "other"
                found.setdefault(column["name"].lower(), set()).add(name)
    return {name: frozenset(kinds) for name, kinds in found.items()}


def list_unread(database: DatabaseEntry | Path) -> list[UnreadPart]:
    """Return the parts that `reflect` skips, including foreign keys to unread tables.

    Raises the same errors as `reflect`.
    """
    entry = (
        database if isinstance(database, DatabaseEntry) else DatabaseEntry(name=database.stem, file=database)
    )
    with _connect(entry) as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)
        found = [*list_inner(connection).values(), *list_kinds(connection), *list_schemas(connection)]
        quote = connection.dialect.identifier_preparer.quote
        inspector = inspect(connection)
        lost: dict[str, str] = {}
        shapes = _read_shapes(connection, inspector, lost)
        found += [UnreadPart("unreadable_table", f"table {name} is", why) for name, why in lost.items()]
        for table in shapes:
            for constraint in inspector.get_foreign_keys(table):
                if _find_table(constraint, shapes) is None:
                    schema, other = constraint["referred_schema"], constraint["referred_table"]
                    other = other if schema is None else f"{quote(schema)}.{quote(other)}"
                    key = ", ".join(constraint["constrained_columns"])
                    what = f"foreign key {table}.{key} -> {other} is"
                    found.append(UnreadPart("foreign_key", what, f"the table {other} is not read"))
    return found


def is_empty(database: DatabaseEntry, tables: Iterable[str]) -> bool:
    """Return whether all tables are empty; False if a table cannot be read.

    Raises the same errors as `reflect`.
    """
    with _connect(database) as connection:
        for name in tables:
            try:
                if connection.scalar(select(literal(1)).select_from(make_table(name)).limit(1)):
                    return False
            except SQLAlchemyError:
                return False
    return True


@contextmanager
def _connect(entry: DatabaseEntry) -> Iterator[Connection]:
    engine = entry.connect()
    try:
        with engine.connect() as connection:
            yield connection
    except SQLAlchemyError as error:
        raise entry.explain(error, "its schema cannot be read") from None
    finally:
        engine.dispose()


def reflect_connection(connection: Connection) -> list[Column]:
    """Return the columns that are visible to a connection. Raises SQLAlchemyError."""
    with warnings.catch_warnings():
        # SQLite allows any word as a type; types unknown to SQLAlchemy become `other`.
        warnings.simplefilter("ignore", SAWarning)
        inspector = inspect(connection)
        shapes = _read_shapes(connection, inspector, {})
        keys = {name: list(inspector.get_pk_constraint(name)["constrained_columns"]) for name in shapes}
        comments = {name: _read_table_comment(inspector, name) for name in shapes}
        foreign = {name: inspector.get_foreign_keys(name) for name in shapes}
        declared = _read_declared(connection, shapes) if connection.dialect.name == "sqlite" else {}
    columns: list[Column] = []
    for table, shape in shapes.items():
        references = _resolve_references(foreign[table], shapes)
        columns.extend(
            _describe(
                table,
                column,
                keys[table],
                references.get(column["name"]),
                comments[table],
                declared.get((table, column["name"])),
            )
            for column in sorted(shape, key=lambda described: described["name"])
        )
    return columns


def _read_shapes(
    connection: Connection, inspector: Inspector, lost: dict[str, str]
) -> dict[str, list[ReflectedColumn]]:
    """Return the columns of each readable table, sorted by table.

    A table whose catalogue entry is unreadable is skipped, and the reason is added to `lost`. For example, a
    virtual table's module or the required privileges may be missing. Raises SQLAlchemyError if no table can
    be read or if the connection is lost.
    """
    inner = list_inner(connection)
    shapes: dict[str, list[ReflectedColumn]] = {}
    last: SQLAlchemyError | None = None
    for name in sorted(set(inspector.get_table_names()) - set(inner)):
        try:
            shapes[name] = inspector.get_columns(name)
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            last, lost[name] = error, name_cause(error)
    if last is not None and not shapes:
        raise last
    return shapes


def _read_declared(connection: Connection, tables: Iterable[str]) -> dict[tuple[str, str], str]:
    """Map (table, column) to a generic type, for the SQLite types that SQLAlchemy does not know.

    SQLAlchemy reports an unknown type as NUMERIC, which is the type's affinity in SQLite.
    """
    quote = connection.dialect.identifier_preparer.quote_identifier
    found = {}
    for table in tables:
        for row in connection.exec_driver_sql(f"PRAGMA table_xinfo({quote(table)})"):
            words = str(row[2] or "").upper().partition("(")[0].strip()
            known = words in sqlite.base.ischema_names or any(part in words for part in AFFINE)
            if words and not known:
                generic = next((generic for part, generic in DECLARED if part in words), "other")
                found[table, str(row[1])] = generic
    return found


def _resolve_references(
    constraints: Iterable[ReflectedForeignKeyConstraint], shapes: Mapping[str, Iterable[ReflectedColumn]]
) -> dict[str, str]:
    """Map foreign-key columns to the ids of the referenced columns, in the catalogue's spelling.

    SQLite ignores case in the names of a foreign key. SQLite also accepts references to missing tables or
    columns; this function skips such references.
    """
    found: dict[str, str] = {}
    for constraint in sorted(constraints, key=_order_key):
        table = _find_table(constraint, shapes)
        if table is None:
            continue
        spelling = {str(column["name"]).lower(): str(column["name"]) for column in shapes[table]}
        # A SQLite key that names no columns refers to the primary key, which may have fewer columns or none.
        for column, theirs in zip(
            constraint["constrained_columns"], constraint["referred_columns"], strict=False
        ):
            if str(theirs).lower() in spelling:
                found.setdefault(column, make_column_id(table, spelling[str(theirs).lower()]))
    return found


def _find_table(constraint: ReflectedForeignKeyConstraint, shapes: Iterable[str]) -> str | None:
    """Return the table that a key refers to, in the catalogue's spelling; None if the table is not read."""
    if constraint["referred_schema"] is not None:
        return None
    return {name.lower(): name for name in shapes}.get(str(constraint["referred_table"]).lower())


def _order_key(constraint: ReflectedForeignKeyConstraint) -> tuple[list[str], str, list[str]]:
    """Return the sort key of a constraint: its columns and the referenced table and columns.

    The constraint's name is not used, because it depends on the engine.
    """
    return constraint["constrained_columns"], constraint["referred_table"], constraint["referred_columns"]


def read_comment(comment: str | None) -> str:
    """Return a catalogue comment if it is a term of one to six words; "" for any other comment.

    The first word becomes lower case, except an upper-case abbreviation. A final full stop is removed.
    """
    text = " ".join((comment or "").split()).rstrip(".")
    first, _, rest = text.partition(" ")
    # A comment starts with a capital letter like a sentence; this letter is lowered, except in abbreviations.
    text = text if first.isupper() else f"{first.lower()} {rest}".strip()
    return text if SPOKEN.fullmatch(text) else ""


def _read_table_comment(inspector: Inspector, table: str) -> str:
    try:
        return read_comment(inspector.get_table_comment(table)["text"])
    except NotImplementedError:  # SQLite has no comments
        return ""


def _describe(
    table: str,
    column: ReflectedColumn,
    key: list[str],
    references: str | None,
    table_words: str,
    declared: str | None,
) -> Column:
    name, kind = str(column["name"]), column["type"]
    generic = declared or _name_type(kind)
    surrogate = key == [name] and generic == "integer"
    hidden = surrogate or references is not None or isinstance(kind, types.LargeBinary)
    return Column(
        id=make_column_id(table, name),
        table=table,
        name=name,
        type=generic,
        nullable=bool(column["nullable"]) and name not in key,
        primary_key=name in key,
        references=references,
        descriptive=not hidden and not _is_identifier(name),
        words=read_comment(column.get("comment")),
        table_words=table_words,
    )


def _is_identifier(name: str) -> bool:
    return (
        bool(IDENTIFIER.search(name))
        or name.upper() in {"ID", "QID", "UUID", "GUID"}
        or (name.isupper() and name.endswith("_ID"))
    )


def _name_type(kind: types.TypeEngine[Any]) -> str:
    if isinstance(kind, postgresql.DOMAIN):
        return _name_type(kind.data_type)
    if isinstance(kind, types.Numeric) and kind.scale == 0 and kind.precision is not None:
        return "integer"
    if isinstance(kind, mysql.TINYINT) and kind.display_width == 1:
        return "boolean"  # MariaDB stores BOOLEAN as TINYINT(1)
    return next((name for generic, name in GENERIC if isinstance(kind, generic)), "other")
