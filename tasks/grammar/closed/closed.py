"""Stage: write the closed-domain variant of a database: the same rows with fictitious names."""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.databases.columns import split_column_id
from tasks.errors import BadInput
from tasks.files import write_beside
from tasks.grammar.closed.closed_entry import ClosedVariant, Renaming
from tasks.grammar.closed.rewriting import rewrite

Cell = str | bytes | int | float | None
"""The value of a SQLite cell."""


def closed(closed_names: list[Renaming], entry: ClosedVariant, out: Path) -> Counts:
    """Write the variant's SQLite file; the same input results in the same bytes.

    A foreign key that refers to a name is changed together with the name. Raises BadInput if a constraint of
    the database forbids a new name, or if a name in the database has no new name.
    """
    with write_beside(out) as draft:
        shutil.copyfile(entry.file, draft)
        try:
            with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                changed = _replace_names(connection, closed_names, entry)
        except sqlite3.Error as error:
            raise BadInput(entry.file, f"cannot be made into a closed variant: {error}") from error
    return Counts(len(closed_names), changed, {})


def _replace_names(connection: sqlite3.Connection, renamings: list[Renaming], variant: ClosedVariant) -> int:
    """Replace all names; return the number of converted cells."""
    # There is no journal file next to the draft: an interrupted draft is deleted, never repaired.
    connection.execute("PRAGMA journal_mode = MEMORY")
    # Keys and referring columns change one after the other. `_check_integrity` checks the result.
    connection.execute("PRAGMA foreign_keys = OFF")
    # A database from someone else must not run functions with side effects through its schema.
    connection.execute("PRAGMA trusted_schema = OFF")
    columns: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for renaming in renamings:
        columns[renaming.table, renaming.column][renaming.old] = renaming.new
    connection.execute("BEGIN")
    # Triggers would run for every renamed cell, and could change other cells.
    triggers = _drop_triggers(connection)
    changed = sum(
        _replace_in_column(connection, table, column, names)
        for (table, column), names in sorted(columns.items())
    )
    names, people = split_names(renamings)
    changed += sum(_rewrite_texts(connection, column, names, people) for column in sorted(variant.texts))
    for statement in triggers:
        connection.execute(statement)
    connection.execute("COMMIT")
    _check_integrity(connection, variant)
    # Freed pages of the file may still contain old names.
    connection.execute("VACUUM")
    return changed


def split_names(renamings: list[Renaming]) -> tuple[dict[str, str], dict[str, str]]:
    """Return two maps from old to new names: one for all names, and one for people's names only."""
    names = {renaming.old: renaming.new for renaming in renamings}
    return names, {renaming.old: renaming.new for renaming in renamings if renaming.kind == "person"}


def _replace_in_column(
    connection: sqlite3.Connection, table: str, column: str, names: Mapping[str, str]
) -> int:
    missing: list[str] = []

    def find(old: Cell) -> Cell:
        if not isinstance(old, str) or not old.strip():
            return old
        if old not in names:
            missing.append(old)
        return names.get(old, old)

    changed = _convert_column(connection, table, column, find)
    if missing:
        raise BadInput(f"{table}.{column}", f"has a name without a replacement: {missing[0]!r}")
    return changed


def _rewrite_texts(
    connection: sqlite3.Connection, name: str, names: Mapping[str, str], people: Mapping[str, str]
) -> int:
    """Replace the names in the text column with the id `name`; return the number of non-NULL cells."""

    def convert(cell: Cell) -> Cell:
        return rewrite(cell, names, people) if isinstance(cell, str) else cell

    return _convert_column(connection, *split_column_id(name), convert)


def _convert_column(
    connection: sqlite3.Connection, table: str, column: str, convert: Callable[[Cell], Cell]
) -> int:
    """Convert all non-NULL cells of a column; return the number of converted cells."""
    connection.create_function("converted", 1, convert, deterministic=True)
    cursor = connection.execute(
        f"UPDATE {_quote(table)} SET {_quote(column)} = converted({_quote(column)}) "  # noqa: S608 (quoted names)
        f"WHERE {_quote(column)} IS NOT NULL"
    )
    return cursor.rowcount


def _drop_triggers(connection: sqlite3.Connection) -> list[str]:
    """Drop all triggers; return the SQL statements that create them again."""
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
    ).fetchall()
    for name, _ in found:
        connection.execute(f"DROP TRIGGER {_quote(name)}")
    return [sql for _, sql in found]


def _check_integrity(connection: sqlite3.Connection, variant: ClosedVariant) -> None:
    """Raise BadInput if the file is damaged or violates a foreign key that the original satisfies."""
    broken = set(connection.execute("PRAGMA foreign_key_check")) - set(_list_broken_keys(variant.file))
    if broken:
        raise BadInput(
            variant.file,
            "cannot be made into a closed variant: "
            f"a foreign key of table {sorted(broken)[0][0]} would break",
        )
    verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
    if verdict != "ok":
        raise BadInput(variant.file, f"cannot be made into a closed variant: {verdict}")


def _list_broken_keys(file: Path) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a SQLite file that violate a foreign key."""
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        yield from connection.execute("PRAGMA foreign_key_check").fetchall()


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
