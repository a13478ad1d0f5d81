"""Read a table: TANQ's text (`a|b`, one row per line, the first is the header) or a list of rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from tasks.scoring.items import BadItem, Record, describe_type, is_number

TITLE = "title|"

Cell = str | tuple[str, ...]
"""A cell's text, or its values if the record lists them."""


@dataclass(frozen=True, slots=True)
class CellTable:
    """A lower-case table. rows: the header first; their lengths may differ.

    titled: whether the first row is a line `title|x`: a title to the rule `released`, a header to `paper`.
    """

    rows: tuple[tuple[Cell, ...], ...]
    titled: bool = False

    def take_title(self) -> tuple[str | None, CellTable]:
        """Return the title, None without one, and the table below it."""
        if not self.titled:
            return None, self
        return " | ".join(map(join_values, self.rows[0][1:])), CellTable(self.rows[1:])

    def transpose(self) -> CellTable:
        """Transpose the table; short rows are filled with empty cells."""
        return CellTable(tuple(zip_longest(*self.rows, fillvalue="")))


def get_table(record: Record, field: str) -> CellTable:
    """Read a field that must be a table. Raises BadItem."""
    value = record.get(field)
    if isinstance(value, str):
        return parse_table(value)
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        raise BadItem(f"{field} is {describe_type(value)}; a table's text or a list of rows is wanted")
    return CellTable(tuple(tuple(read_cell(cell, field) for cell in row) for row in value))


def parse_table(text: str) -> CellTable:
    """Parse a text table; a first line `title|x` may be its title, `title | x` is a header like any other.

    As in TANQ's released code a newline ends a line: one at the text's end leaves no row, a second one does.
    """
    lines = text.lower().splitlines()
    rows = tuple(tuple(cell.strip() for cell in line.split("|")) for line in lines)
    return CellTable(rows, titled=bool(lines) and lines[0].startswith(TITLE))


def read_cell(cell: object, field: str) -> Cell:
    """Read a cell of a list of rows: text, a number, null, or a list of these. Raises BadItem."""
    if isinstance(cell, list):
        return tuple(read_value(value, field) for value in cell)
    return read_value(cell, field)


def read_value(value: object, field: str) -> str:
    """Read one value of a cell. Raises BadItem."""
    if value is None:
        return ""
    if isinstance(value, str) or is_number(value):
        return str(value).strip().lower()
    raise BadItem(
        f"{field} holds {describe_type(value)} as a cell; expected text, a number, null or a list of them"
    )


def join_values(cell: Cell) -> str:
    """Join a cell's values to one text."""
    return cell if isinstance(cell, str) else ", ".join(cell)
