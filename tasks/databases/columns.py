"""A database schema as rows: one row per column, with generic types, sorted by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import unquote

from tasks.errors import BadInput

ESCAPED = re.compile(r"[%.:\[\]'\"`\\]|[^\S ]|[\x00-\x1f\x7f]|^ | $|(?<= ) ")
"""Characters to escape in a table or column name within an id.

The characters separate the names, mark placeholders, or may be lost when the id is part of a text.
"""


@dataclass(frozen=True)
class Column:
    """A column of one table. A Column never contains cell values."""

    id: str
    """`table.column`, from `make_column_id`."""
    table: str
    name: str
    type: str
    """Generic type, the same for every engine: text, integer, real, date, boolean or other."""
    nullable: bool
    primary_key: bool
    references: str | None
    """The id of the column that a foreign key points to; None if the column is not a foreign key."""
    descriptive: bool
    """Whether people would ask about the column: false for surrogate keys, foreign keys and bare
    identifiers."""
    words: str = ""
    """The term that people use for the column, if it differs from the column's name: `date of birth` for
    `dob`."""
    table_words: str = ""
    """The term that people use for one row of the table, if it differs from the table's name."""
    scope: str = ""
    """A phrase that limits a question to the rows of the table in this database: `in the records of January
    2013`."""
    dated_scope: str = ""
    """The scope without its date, for questions that state a date: `in the records`."""
    reading: str = ""
    """The conversion of cells in queries (tasks/databases/profile/readings.py); empty if queries use the
    cells unchanged."""
    form: str = ""
    """The format of the values, for `write_said`: `moment` for dates with a time, otherwise empty."""


def make_column_id(table: str, name: str) -> str:
    """Return the id of a column: `contacts.phone ext%2E` is the column `phone ext.` of the table contacts.

    Characters that would split the id, end a placeholder or be lost when the id is part of a text are written
    as hex bytes. An id therefore contains exactly one dot and identifies exactly one column.
    """
    return ".".join(ESCAPED.sub(_escape, part) for part in (table, name))


def split_column_id(column: str) -> tuple[str, str]:
    """Return the names of the table and the column in a column id, in the database's spelling.

    The suffix of a placeholder, as in `films.year:from`, is dropped.
    """
    table, _, name = column.partition(":")[0].partition(".")
    return unquote(table), unquote(name)


def name_table(column: Column) -> str:
    """Return the name of a column's table, escaped as in the column's id."""
    return column.id.partition(".")[0]


def find_named(key: str, columns: Sequence[Column], place: str) -> list[tuple[str, str, str]]:
    """Return the table or columns that a key names, each as (table, column, id).

    For a table, `column` is empty, and `id` is the table's name as it is escaped in column ids. A column name
    without a table names all columns with this name. `place`: the key's position in params.yaml, for error
    messages. Raises BadInput if no table or column has the name.
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
        hint = f"did you mean {close[0]}?" if close else "each key must be a column or a table"
        raise BadInput(place, f"there is no column or table {key!r}", hint=hint)
    return [(column.table, column.name, column.id) for column in named]


def _escape(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())
