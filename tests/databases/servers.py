"""Temporary test databases on the local PostgreSQL and MariaDB servers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import URL, Engine, MetaData, create_engine, make_url, text, types
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from tasks.databases.entry import DatabaseEntry

ADDRESSES = {
    "postgresql": os.environ.get(
        "BENCHLOOM_TEST_POSTGRESQL", "postgresql+psycopg://root@127.0.0.1:5432/test"
    ),
    "mariadb": os.environ.get("BENCHLOOM_TEST_MARIADB", "mysql+pymysql://root@127.0.0.1:3306/test"),
}
PASSWORD_ENV = "BENCHLOOM_TEST_PASSWORD"
PASSWORD = "hush-4711-xyzzy"
NUMBERS = count()


@dataclass
class Place:
    """A database with its owner's engine and a read-only account."""

    kind: str
    admin: Engine
    owner: Engine
    name: str
    reader: str
    entry: DatabaseEntry
    extra: dict[str, object] = field(default_factory=dict)

    def run(self, *statements: str) -> list[list[tuple[object, ...]]]:
        """Run statements as the owner; return the rows of statements that have results."""
        found = []
        with self.owner.connect() as connection:
            for statement in statements:
                result = connection.execute(text(statement.replace(":", "\\:")))
                if result.returns_rows:
                    found.append([tuple(row) for row in result])
            connection.commit()
        return found

    def load(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert rows as the owner."""
        marks = ", ".join(f":c{n}" for n in range(len(rows[0])))
        quote = '"' if self.kind == "postgresql" else "`"
        with self.owner.begin() as connection:
            connection.execute(
                text(f"INSERT INTO {quote}{table}{quote} VALUES ({marks})"),
                [{f"c{n}": cell for n, cell in enumerate(row)} for row in rows],
            )

    def grant(self) -> None:
        """Grant the reader access to all existing tables."""
        if self.kind == "postgresql":
            self.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {self.reader}")

    def kick(self) -> int:
        """End all connections of the reader, like a restart; return their number."""
        with self.admin.connect() as connection:
            if self.kind == "postgresql":
                ended = connection.execute(
                    text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = :who"),
                    {"who": self.reader},
                ).all()
                return len(ended)
            found = connection.execute(
                text("SELECT id FROM information_schema.processlist WHERE user = :who"), {"who": self.reader}
            ).all()
            for (number,) in found:
                connection.execute(text(f"KILL {number}"))
            return len(found)


@contextmanager
def open_place(kind: str) -> Iterator[Place]:
    """Create a database and its reader, and drop both at the end; skip if the server is not running."""
    admin_url = make_url(ADDRESSES[kind])
    pytest.importorskip("psycopg" if kind == "postgresql" else "pymysql", reason="an extra's driver")
    admin = create_engine(admin_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    name = f"benchloom_{os.getpid()}_{next(NUMBERS)}"
    reader = f"{name}_reader"
    try:
        with admin.connect() as connection:
            for statement in _creation(kind, name, reader):
                connection.execute(text(statement))
    except DBAPIError as error:
        pytest.skip(f"no {kind} server to test on: {str(error.orig).splitlines()[0]}")
    owner = create_engine(admin_url.set(database=name), poolclass=NullPool)
    try:
        yield Place(kind, admin, owner, name, reader, _entry(admin_url, name, reader))
    finally:
        with admin.connect() as connection:
            for statement in _removal(kind, name, reader):
                connection.execute(text(statement))


def _entry(admin: URL, name: str, reader: str) -> DatabaseEntry:
    url = admin.set(database=name, username=reader, password=None)
    return DatabaseEntry(
        name="shop", url=url.render_as_string(hide_password=False), password_env=PASSWORD_ENV
    )


def _creation(kind: str, name: str, reader: str) -> list[str]:
    if kind == "postgresql":
        return [
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'",
            f"CREATE ROLE {reader} LOGIN PASSWORD '{PASSWORD}'",
        ]
    return [
        f"CREATE DATABASE {name} CHARACTER SET utf8mb4",
        f"CREATE USER {reader} IDENTIFIED BY '{PASSWORD}'",
        f"GRANT SELECT ON {name}.* TO {reader}",
    ]


def _removal(kind: str, name: str, reader: str) -> list[str]:
    if kind == "postgresql":
        return [f"DROP DATABASE {name} WITH (FORCE)", f"DROP ROLE {reader}"]
    return [f"DROP DATABASE {name}", f"DROP USER {reader}"]


def copy_tables(source: Path, place: Place) -> None:
    """Copy the tables, keys and rows of a SQLite file to another database, readable by its reader."""
    engine = create_engine(f"sqlite:///{source}")
    metadata = MetaData()
    metadata.reflect(engine)
    for table in metadata.tables.values():
        keys = {column for constraint in table.foreign_key_constraints for column in constraint.columns}
        for column in table.columns:
            column.autoincrement = False  # MariaDB would replace the key 0
            keyed = column.primary_key or column in keys
            if isinstance(column.type, (types.Text, types.NullType)) and keyed:
                column.type = types.String(100)
            elif isinstance(column.type, types.BLOB):
                column.type = types.LargeBinary()
            elif isinstance(column.type, types.REAL):
                column.type = types.Double()
    with engine.connect() as old, place.owner.begin() as new:
        metadata.create_all(new)
        for table in metadata.sorted_tables:
            rows = [dict(row._mapping) for row in old.execute(table.select())]
            if rows:
                new.execute(table.insert(), rows)
    engine.dispose()
    place.grant()
