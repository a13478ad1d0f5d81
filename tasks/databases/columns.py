"""A database schema as rows: one per column, with generic types, sorted by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import unquote

from tasks.errors import BadInput

ESCAPED = re.compile(r"[%.:\[\]'\"`\\]|[^\S ]|[\x00-\x1f\x7f]|^ | $|(?<= ) ")
"""What no part of an id holds as it is: it divides ids, marks placeholders, or does not last in a text."""


@dataclass(frozen=True)
class Column:
    """A column of one table. It never contains a value of a cell."""

    id: str
    """`table.column`, as `make_column_id` writes it"""
    table: str
    name: str
    type: str
    """text, integer, real, date, boolean or other: the same on every engine."""
    nullable: bool
    primary_key: bool
    references: str | None
    """The id of the column that a foreign key points to."""
    descriptive: bool
    """Whether people would ask about it: no surrogate key, no foreign key, no bare identifier."""
    words: str = ""
    """What people call it, where its name does not say it: `date of birth` for `dob`."""
    table_words: str = ""
    """What people call one row of its table, where the table's name does not say it."""
    scope: str = ""
    """What confines a question to its table's rows in this database: `in the records of January 2013`."""
    dated_scope: str = ""
    """The same where the question fixes a date: `in the records`."""
    reading: str = ""
    """How queries read its cells (tasks/databases/profile/readings.py); empty: as they are."""
    form: str = ""
    """What `write_said` must know of its values: `moment` for dates with a time; else empty."""


def make_column_id(table: str, name: str) -> str:
    """Write the id of a column: `contacts.phone ext%2E` is the column `phone ext.` of contacts.

    Whatever would divide the id, end a placeholder or get lost in a text is written as its bytes in hex, so
    that an id has one dot, and names one column.
    """
    return ".".join(ESCAPED.sub(_escape, part) for part in (table, name))


def split_column_id(column: str) -> tuple[str, str]:
    """Return the table and the name of a column by its id, as the database spells them.

    A placeholder's suffix, `films.year:from`, is left out.
    """
    table, _, name = column.partition(":")[0].partition(".")
    return unquote(table), unquote(name)


def name_table(column: Column) -> str:
    """Return the table as a column's id spells it."""
    return column.id.partition(".")[0]


def find_named(key: str, columns: Sequence[Column], place: str) -> list[tuple[str, str, str]]:
    """Find what a key names, as (table, column, id): a table, a column, or every column of that name.

    place: of the key, for errors. Raises BadInput if it names nothing.
    """
    table = next((column for column in columns if column.table == key), None)
    if table is not None:
        return [(key, "", name_table(table))]
    exact = [column for column in columns if key in (column.id, f"{column.table}.{column.name}")]
    named = exact or [column for column in columns if column.name == key]
    if not named:
        known = [*{column.table for column in columns}, *(column.id for column in columns)]
        known += [column.name for column in columns]
        close = get_close_matches(key, known, 1)
        hint = f"did you mean {close[0]}?" if close else "keys are columns or tables"
        raise BadInput(place, f"there is no column or table {key!r}", hint=hint)
    return [(column.table, column.name, column.id) for column in named]


def _escape(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())
