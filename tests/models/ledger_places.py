"""Locations for a test's live ledger: a file, or a test database on the local PostgreSQL server."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import text

from tests.databases.servers import Place, open_place

ENGINES = ("sqlite", "postgresql")
CELLS = ("calls.text", "calls.key", "batches.keys")
"""The cell that `damage` changes."""


@contextmanager
def place_ledger(engine: str, folder: Path) -> Iterator[Path | str]:
    """Yield the address of a ledger that does not exist yet; skip if its server is not running."""
    if engine == "sqlite":
        yield folder / "l.sqlite"
        return
    with open_place("postgresql") as place:
        yield name_database(place)


def name_database(place: Place) -> str:
    """Return a database's address for its owner; put the owner's password, if any, into the environment."""
    if place.owner.url.password is not None:
        os.environ["PGPASSWORD"] = place.owner.url.password
    return place.owner.url.set(drivername="postgresql", password=None).render_as_string()


def damage(address: Path | str, old: bytes, new: bytes) -> None:
    """Change one cell of a ledger directly in the database, or bytes in the file."""
    if isinstance(address, str):
        import psycopg

        with psycopg.connect(address) as connection:
            changed = 0
            for cell in CELLS:
                table, _, column = cell.partition(".")
                query = f"UPDATE {table} SET {column} = %s WHERE {column} = %s"
                changed += connection.execute(query.encode(), (new, old)).rowcount
        assert changed == 1
        return
    with closing(sqlite3.connect(address)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = address.read_bytes()
    assert content.count(old) == 1
    address.write_bytes(content.replace(old, new))


def cut_connections(place: Place) -> int:
    """End every connection to a database, like a network fault; return their number."""
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
    with place.admin.connect() as connection:
        return len(connection.execute(text(query), {"name": place.name}).all())
