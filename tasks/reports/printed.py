"""Print a JSON record's figures as terminal tables, with rows and columns declared by JSON pointers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks.reports.tables import Cell, FigureTable, Line

ANY = "*"
"""The pointer part that matches every key."""
NARROW, WIDE = 20, 40
"""Widths of label columns in characters.

A column is not wrapped if none of its labels is longer than NARROW; no column is wider than WIDE.
"""


@dataclass(frozen=True)
class PrintedColumn:
    """A column of a printed table.

    `at`: path of the figure below the line's object; empty if the object is the figure. A path that starts
    with `/` is a pointer from the record's root, in which `{0}` is replaced by the first key that `*`
    matched. `between`: path of the interval, if it is not part of the figure. `scale`: factor for values.
    `digits`: number of decimals.
    """

    head: str
    at: str = ""
    between: str = ""
    scale: int = 1
    digits: int = 0


@dataclass(frozen=True)
class Rows:
    """The lines of a printed table: one line per object that matches a pointer with `*`.

    `label`: the texts of the label columns; `{0}` is replaced by the first key that `*` matched.
    """

    at: str
    label: tuple[str, ...]
    columns: tuple[PrintedColumn, ...] = ()
    """Columns of these lines, if they differ from the table's columns."""


@dataclass(frozen=True)
class Printed:
    """A printed table. title: the line above the table, in which `fill_fields` replaces names in braces."""

    heads: tuple[str, ...]
    rows: tuple[Rows, ...]
    columns: tuple[PrintedColumn, ...]
    title: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """Maps a key of the record to the text that replaces the key in labels."""
    keeps: Callable[[Any], bool] = bool
    """Returns whether an object is shown as a line."""

    def list_columns(self) -> tuple[PrintedColumn, ...]:
        """Return the table's columns, or the columns of its first `Rows` if the table itself has none.

        The headers of these columns apply to all lines.
        """
        return self.columns or self.rows[0].columns


def build_table(printed: Printed, figures: Mapping[str, Any]) -> FigureTable:
    """Fill a printed table with a record's figures; a missing figure gives a cell without a value."""
    lines = []
    for rows in printed.rows:
        columns = rows.columns or printed.list_columns()
        for keys, found in _match(figures, rows.at.split("/")[1:]):
            if printed.keeps(found):
                names = [printed.names.get(key, key) for key in keys]
                label = tuple(text.format(*names) for text in rows.label)
                lines.append(
                    Line(label, tuple(_read_cell(figures, found, column, keys) for column in columns))
                )
    heads = tuple(column.head for column in printed.list_columns())
    return FigureTable("", fill_fields(printed.title, figures), printed.heads, heads, tuple(lines))


def print_tables(printed: tuple[Printed, ...], figures: Mapping[str, Any], notes: Iterable[str]) -> None:
    """Print a record's warnings and tables, then notes.

    Tables without lines are omitted, except the first. Untrusted texts are escaped.
    """
    from rich.markup import escape
    from rich.table import Column as Shown
    from rich.table import Table

    from tasks.console import CleanConsole

    console = CleanConsole(highlight=False)
    for warning in figures.get("warnings", ()):
        console.print(f"[bold]WARNING[/bold] {escape(warning)}")
    for declared in printed:
        table = build_table(declared, figures)
        if not table.lines and declared is not printed[0]:
            continue
        about = f"{figures['system']} on {figures['dataset']}: " if declared is printed[0] else ""
        console.print(escape(about + table.title))
        labels = []
        for place, head in enumerate(table.heads):
            width = max((len(line.label[place]) for line in table.lines), default=0)
            labels.append(Shown(head, no_wrap=width <= NARROW, max_width=WIDE))
        values = (Shown(head, justify="right") for head in table.columns)
        shown = Table(*labels, *values, box=None, padding=(0, 2, 0, 0))
        for line in table.lines:
            cells = zip(line.cells, declared.list_columns(), strict=True)
            shown.add_row(
                *(escape(text) for text in line.label),
                *(format_cell(cell, column) for cell, column in cells),
            )
        console.print(shown)
    for note in notes:
        console.print(escape(note))


def format_cell(cell: Cell, column: PrintedColumn) -> str:
    """Format a value and its interval, if any; `-` if the value is undefined."""
    if cell.value is None:
        return "-"
    value, *bounds = (
        f"{column.scale * part:.{column.digits}f}" for part in (cell.value, *(cell.interval or ()))
    )
    return f"{value} ({', '.join(bounds)})" if bounds else value


def fill_fields(text: str, figures: Mapping[str, Any]) -> str:
    """Replace each name in braces with its value in the record's `counts` or in the record itself.

    Unknown names are unchanged.
    """
    known = {**figures, **figures.get("counts", {})}
    return re.sub(r"\{(\w+)\}", lambda found: str(known.get(found[1], found[0])), text)


def _match(value: Any, parts: list[str], keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a pair for each match of a pointer: the keys that `*` matched, and the object."""
    if not parts:
        yield keys, value
    elif isinstance(value, Mapping):
        first, *rest = parts
        for name in value if first == ANY else ([first] if first in value else []):
            yield from _match(value[name], rest, (*keys, name) if first == ANY else keys)


def _read_cell(figures: Mapping[str, Any], line: Any, column: PrintedColumn, keys: tuple[str, ...]) -> Cell:
    value = _find(figures, line, column.at, keys)
    interval = _find(figures, line, column.between, keys) if column.between else None
    if isinstance(value, Mapping):
        interval = value.get("interval") or (value.get("low"), value.get("high"))
        value = value.get("value")
    bounds = None if not interval or None in interval else (interval[0], interval[1])
    return Cell(value, 0, 0, bounds, "", "" if value is not None else "not defined")


def _find(figures: Mapping[str, Any], line: Any, place: str, keys: tuple[str, ...]) -> Any:
    value = figures if place.startswith("/") else line
    for part in filter(None, place.split("/")):
        name = part.format(*keys)
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
