"""Stage: the closed-domain variant of a database: the same tables, keys and types under fictitious names."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.grammar.closed.closed_entry import Closed, Renaming
from tasks.grammar.closed.rewriting import rewrite

Cell = str | bytes | int | float | None


def closed(closed_names: list[Renaming], entry: Closed, out: Path) -> Counts:
    """Write the variant's SQLite file, for an entry of `databases:`. The same input gives the same bytes.

    What refers to a name by key follows it. Raises BadInput where a rule of the database forbids a new name,
    or a name of the database has none.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.{os.getpid()}")
    shutil.copyfile(entry.file, draft)
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            changed = _rename_all(connection, closed_names, entry)
        draft.replace(out)
    except sqlite3.Error as error:
        raise BadInput(entry.file, f"cannot be closed: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return Counts(len(closed_names), changed, {})


def _rename_all(connection: sqlite3.Connection, renamings: list[Renaming], closed: Closed) -> int:
    connection.execute("PRAGMA journal_mode = MEMORY")
    # Keys and what points at them change one after the other; all is checked at the end.
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA trusted_schema = OFF")
    columns: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for each in renamings:
        columns[each.table, each.column][each.old] = each.new
    connection.execute("BEGIN")
    triggers = _lift_triggers(connection)
    changed = sum(_rename(connection, *place, names) for place, names in sorted(columns.items()))
    names, people = split_names(renamings)
    changed += sum(_rewrite(connection, each, names, people) for each in sorted(closed.texts))
    for statement in triggers:
        connection.execute(statement)
    connection.execute("COMMIT")
    _check(connection, closed)
    connection.execute("VACUUM")
    return changed


def split_names(renamings: list[Renaming]) -> tuple[dict[str, str], dict[str, str]]:
    """Give all names with their successors, and those of people once more by themselves."""
    names = {each.old: each.new for each in renamings}
    return names, {each.old: each.new for each in renamings if each.kind == "person"}


def _rename(connection: sqlite3.Connection, table: str, column: str, names: Mapping[str, str]) -> int:
    missing: list[str] = []

    def find(old: Cell) -> Cell:
        if not isinstance(old, str) or not old.strip():
            return old
        if old not in names:
            missing.append(old)
        return names.get(old, old)

    connection.create_function("renamed", 1, find, deterministic=True)
    cursor = connection.execute(
        f"UPDATE {_quote(table)} SET {_quote(column)} = renamed({_quote(column)}) "  # noqa: S608 (quoted names)
        f"WHERE {_quote(column)} IS NOT NULL"
    )
    if missing:
        raise BadInput(f"{table}.{column}", f"holds a name that has no successor: {missing[0]!r}")
    return cursor.rowcount


def _rewrite(
    connection: sqlite3.Connection, place: str, names: Mapping[str, str], people: Mapping[str, str]
) -> int:
    table, _, column = place.partition(".")
    connection.create_function(
        "rewritten",
        1,
        lambda text: rewrite(text, names, people) if isinstance(text, str) else text,
        deterministic=True,
    )
    cursor = connection.execute(
        f"UPDATE {_quote(table)} SET {_quote(column)} = rewritten({_quote(column)}) "  # noqa: S608 (quoted names)
        f"WHERE {_quote(column)} IS NOT NULL"
    )
    return cursor.rowcount


def _lift_triggers(connection: sqlite3.Connection) -> list[str]:
    """Take the triggers off while names change, and hand back what makes them."""
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
    ).fetchall()
    for name, _ in found:
        connection.execute(f"DROP TRIGGER {_quote(name)}")
    return [sql for _, sql in found]


def _check(connection: sqlite3.Connection, closed: Closed) -> None:
    broken = set(connection.execute("PRAGMA foreign_key_check")) - set(_find_broken(closed.file))
    if broken:
        raise BadInput(closed.file, f"cannot be closed: a foreign key of {sorted(broken)[0][0]} would break")
    verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
    if verdict != "ok":
        raise BadInput(closed.file, f"cannot be closed: {verdict}")


def _find_broken(file: Path) -> Iterator[tuple[object, ...]]:
    """List the keys that were broken before: they are none of our doing."""
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        yield from connection.execute("PRAGMA foreign_key_check").fetchall()


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
