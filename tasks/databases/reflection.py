"""Read a database's schema, without reading any cell."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, literal, select, types
from sqlalchemy import table as make_table
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Inspector
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedForeignKeyConstraint
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import SAWarning, SQLAlchemyError

from tasks.databases.columns import Column, make_column_id
from tasks.databases.entry import DatabaseEntry

IDENTIFIER = re.compile(r"(^|[_ ])(id|qid|uuid|guid)$|[a-z](Id|ID)$", re.ASCII)
SPOKEN = re.compile(r"[^\W\d_]+(['-][^\W\d_]+)*( [^\W\d_]+(['-][^\W\d_]+)*){0,5}")
"""Words as they stand in a sentence, six at most."""
GENERIC: tuple[tuple[type[types.TypeEngine[Any]], str], ...] = (
    (types.Boolean, "boolean"),
    (types.Integer, "integer"),
    (types.Numeric, "real"),
    (types.Date, "date"),
    (types.DateTime, "date"),
    (types.Time, "date"),
    (types.String, "text"),
)


def reflect(database: DatabaseEntry | Path) -> list[Column]:
    """Read tables, columns, types, keys and nullability, sorted by table and column.

    Only the catalogue is queried: no cell of a user's table is read. Views are left out.
    Raises BadInput if the database cannot be opened, DatabaseGone if a server does not answer.
    """
    entry = (
        database if isinstance(database, DatabaseEntry) else DatabaseEntry(name=database.stem, file=database)
    )
    with _connect(entry) as connection:
        return reflect_connection(connection)


def reflect_times(database: DatabaseEntry) -> dict[str, frozenset[str]]:
    """Say what columns of each name are, in tables and views: `date` (or a timestamp), `time`, `other`."""
    found: dict[str, set[str]] = {}
    with _connect(database) as connection:
        for columns in inspect(connection).get_multi_columns(kind=ObjectKind.ANY).values():
            for column in columns:
                kind = column["type"]
                days = isinstance(kind, (types.Date, types.DateTime))
                name = "date" if days else "time" if isinstance(kind, types.Time) else "other"
                found.setdefault(column["name"].lower(), set()).add(name)
    return {name: frozenset(kinds) for name, kinds in found.items()}


def is_empty(database: DatabaseEntry, tables: Iterable[str]) -> bool:
    """Tell whether none of the tables has a row; no, where one may not be read. Raises as `reflect`."""
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
    """Read the schema that a connection sees. Raises SQLAlchemyError."""
    with warnings.catch_warnings():
        # SQLite allows any word as a type; types unknown to SQLAlchemy become `other`.
        warnings.simplefilter("ignore", SAWarning)
        inspector = inspect(connection)
        shapes = {name: inspector.get_columns(name) for name in sorted(inspector.get_table_names())}
        keys = {name: list(inspector.get_pk_constraint(name)["constrained_columns"]) for name in shapes}
        comments = {name: _read_table_comment(inspector, name) for name in shapes}
        foreign = {name: inspector.get_foreign_keys(name) for name in shapes}
    columns: list[Column] = []
    for table, shape in shapes.items():
        references = _resolve_references(foreign[table], shapes)
        columns.extend(
            _describe(table, column, keys[table], references.get(column["name"]), comments[table])
            for column in sorted(shape, key=lambda described: described["name"])
        )
    return columns


def _resolve_references(
    constraints: Iterable[ReflectedForeignKeyConstraint], shapes: Mapping[str, Iterable[ReflectedColumn]]
) -> dict[str, str]:
    """Map each foreign-key column to the id of the column it points to, in the catalogue's spelling.

    SQLite accepts keys in another case, and keys to missing tables or columns; the latter are ignored.
    """
    tables = {name.lower(): name for name in shapes}
    found: dict[str, str] = {}
    for constraint in sorted(constraints, key=_order_key):
        table = tables.get(str(constraint["referred_table"]).lower())
        if table is None:
            continue
        spelling = {str(column["name"]).lower(): str(column["name"]) for column in shapes[table]}
        for own, theirs in zip(
            constraint["constrained_columns"], constraint["referred_columns"], strict=False
        ):
            if str(theirs).lower() in spelling:
                found.setdefault(own, make_column_id(table, spelling[str(theirs).lower()]))
    return found


def _order_key(constraint: ReflectedForeignKeyConstraint) -> tuple[list[str], str, list[str]]:
    """Sort constraints by their columns: their names differ between engines."""
    return constraint["constrained_columns"], constraint["referred_table"], constraint["referred_columns"]


def read_comment(comment: str | None) -> str:
    """Read what a catalogue's comment calls a thing: a few words; empty if it is a longer remark, or none."""
    text = " ".join((comment or "").split()).rstrip(".")
    first, _, rest = text.partition(" ")
    # A capital at the beginning is that of a sentence, unless it is an abbreviation.
    text = text if first.isupper() else f"{first.lower()} {rest}".strip()
    return text if SPOKEN.fullmatch(text) else ""


def _read_table_comment(inspector: Inspector, table: str) -> str:
    try:
        return read_comment(inspector.get_table_comment(table)["text"])
    except NotImplementedError:  # SQLite has no comments
        return ""


def _describe(
    table: str, column: ReflectedColumn, key: list[str], references: str | None, table_words: str
) -> Column:
    name, kind = str(column["name"]), column["type"]
    generic = _name_type(kind)
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
    if isinstance(kind, types.Numeric) and kind.scale == 0 and kind.precision is not None:
        return "integer"
    if isinstance(kind, mysql.TINYINT) and kind.display_width == 1:
        return "boolean"  # MariaDB stores BOOLEAN as TINYINT(1)
    return next((name for generic, name in GENERIC if isinstance(kind, generic)), "other")
