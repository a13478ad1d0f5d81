"""Change one cell of a database, and find by `sqlite3` the queries whose answers change."""

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path


def run_queries(database: sqlite3.Connection, queries: Mapping[str, str]) -> dict[str, list[str]]:
    """Run queries by id; return their rows in sorted order."""
    return {name: sorted(map(repr, database.execute(sql).fetchall())) for name, sql in queries.items()}


def plant_change(path: Path, table: str, column: str, queries: Mapping[str, str]) -> set[str]:
    """Increase a number in the first row that affects an answer; return the queries whose answers change.

    Queries that do not name the column cannot change.
    """
    told = {name: sql for name, sql in queries.items() if column in sql}
    with closing(sqlite3.connect(path)) as database:
        before = run_queries(database, told)
        rows = f"SELECT rowid FROM {table} WHERE {column} IS NOT NULL ORDER BY rowid"
        for (row,) in database.execute(rows).fetchall():
            database.execute(f"UPDATE {table} SET {column} = {column} + 1000 WHERE rowid = ?", (row,))
            now = run_queries(database, told)
            if changed := {name for name in told if now[name] != before[name]}:
                database.commit()
                return changed
            database.rollback()
    raise AssertionError(f"no query depends on a row of {table}.{column}")


def copy_database(source: Path, target: Path) -> Path:
    """Copy a database to its path in a project; return the path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    return target
