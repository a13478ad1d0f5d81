"""Read tables in TANQ's text format (`a|b`, one row per line, header first) or as lists of rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from tasks.scoring.items import BadItem, Record, describe_type, is_number

TITLE = "title|"

Cell = str | tuple[str, ...]
"""A cell's text, or a tuple of texts if the cell is a list in the record."""


@dataclass(frozen=True, slots=True)
class CellTable:
    """A table in lower case. `rows`: the header first; the lengths of rows may differ.

    `titled`: whether the first row has the form `title|x`. The rule `released` treats this row as a title,
    and `paper` as a header.
    """

    rows: tuple[tuple[Cell, ...], ...]
    titled: bool = False

    def take_title(self) -> tuple[str | None, CellTable]:
        """Return the title or None, and the table without the title."""
        if not self.titled:
            return None, self
        return " | ".join(map(join_values, self.rows[0][1:])), CellTable(self.rows[1:])

    def transpose(self) -> CellTable:
        """Return the transposed table; missing cells of short rows become empty cells."""
        return CellTable(tuple(zip_longest(*self.rows, fillvalue="")))


def get_table(record: Record, field: str) -> CellTable:
    """Read a table from a record's field. Raises BadItem if the field is not a table."""
    value = record.get(field)
    if isinstance(value, str):
        return parse_table(value)
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        raise BadItem(f"{field} is {describe_type(value)}; expected a table as text, or a list of rows")
    return CellTable(tuple(tuple(read_cell(cell, field) for cell in row) for row in value))


def parse_table(text: str) -> CellTable:
    """Parse a text table. A first line that begins with `title|` sets `titled`; `title | x` is a header.

    As in TANQ's released code, one newline at the end of the text adds no row, but a second newline adds a
    row.
    """
    lines = text.lower().splitlines()
    rows = tuple(tuple(cell.strip() for cell in line.split("|")) for line in lines)
    return CellTable(rows, titled=bool(lines) and lines[0].startswith(TITLE))


def read_cell(cell: object, field: str) -> Cell:
    """Read a cell of a list of rows: text, a number, null, or a list of these. Raises BadItem otherwise."""
    if isinstance(cell, list):
        return tuple(read_value(value, field) for value in cell)
    return read_value(cell, field)


def read_value(value: object, field: str) -> str:
    """Read one value of a cell as stripped lower-case text. Raises BadItem for other types."""
    if value is None:
        return ""
    if isinstance(value, str) or is_number(value):
        return str(value).strip().lower()
    raise BadItem(
        f"a cell of {field} contains {describe_type(value)}; expected text, a number, null or a list of these"
    )


def join_values(cell: Cell) -> str:
    """Join a cell's values into one text, separated by commas."""
    return cell if isinstance(cell, str) else ", ".join(cell)
