"""Read the cells of a parsed table with the headers of their row and column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mwparserfromhell.nodes import Tag

from tasks.sources.wikipedia.markup import Renderer, make_label, make_value

MOST_CELLS = 100_000
"""Maximum number of cells in one table; a spanning cell counts once for each position that it covers."""
WIDEST = 1_000
"""Maximum number of columns that a cell may span, as in HTML."""
GROUPS = frozenset({"tbody", "thead", "tfoot"})


class TableTooLarge(ValueError):
    """Raised if a table has more cells than `MOST_CELLS`."""


@dataclass(frozen=True)
class WikiCell:
    """A cell. `row_header`, `column_header`: header levels joined by ` / `, or empty."""

    row: int
    column: int
    row_header: str
    column_header: str
    text: str


@dataclass(frozen=True)
class _Place:
    """A cell at a grid position of a table. `first`: whether the cell starts in this column."""

    text: str
    is_header: bool
    first: bool
    width: int


def read_table(table: Any, renderer: Renderer) -> tuple[str, list[WikiCell]]:
    """Return a table's caption and its non-empty cells, by row and column.

    A cell that spans several rows is repeated in each row. A cell that spans several columns is only in the
    first column. Header rows consist only of header cells; in a `wikitable` without header cells, the first
    row is the header row. A later header row replaces the previous header rows for the rows below it. A row's
    header consists of its header cells. If a row has no header cell, or its header cells contain no name, the
    first cell with a letter is added to the row's header. Raises TableTooLarge.
    """
    caption, rows = _list_rows(table, renderer)
    grid = _lay_out(rows)
    if not any(place.is_header for row in grid for place in row.values()) and "wikitable" in _attribute(
        table, "class"
    ):
        grid[:1] = [{n: _Place(p.text, True, p.first, p.width) for n, p in row.items()} for row in grid[:1]]
    return caption, list(_read_cells(grid))


def _list_rows(table: Any, renderer: Renderer) -> tuple[str, list[list[Any]]]:
    """Return the caption, and the cells of each row as (text, is header, width, height)."""
    caption, rows, loose = "", [], []
    for tag in _list_tags(table):
        name = str(tag.tag).strip().lower()
        if name == "tr":
            rows.append([cell for cell in _list_tags(tag) if str(cell.tag).strip().lower() in {"td", "th"}])
        elif name in {"td", "th"}:
            loose.append(tag)
        elif name == "caption":
            caption = make_label(renderer.render(tag.contents))
    # mwparserfromhell does not assign the cells before the first `|-` to a row, and parses the caption `|+`
    # as one of these cells.
    if loose and str(loose[0].contents).startswith("+"):
        caption = make_label(renderer.render(loose.pop(0).contents).lstrip("+").rpartition("|")[2])
    ordered = [loose, *rows] if loose else rows
    return caption, [[_read(cell, renderer) for cell in row] for row in ordered]


def _list_tags(tag: Any) -> Iterator[Any]:
    for node in tag.contents.nodes if tag.contents is not None else ():
        if isinstance(node, Tag):
            if str(node.tag).strip().lower() in GROUPS:
                yield from _list_tags(node)
            else:
                yield node


def _read(cell: Any, renderer: Renderer) -> tuple[str, bool, int, int]:
    is_header = str(cell.tag).strip().lower() == "th"
    rendered = renderer.render(cell.contents) if cell.contents is not None else ""
    text = make_label(rendered) if is_header else make_value(rendered)
    return text, is_header, _span(cell, "colspan"), _span(cell, "rowspan")


def _attribute(tag: Any, name: str) -> str:
    try:
        return str(tag.get(name).value) if tag.has(name) else ""
    except (ValueError, AttributeError):
        return ""


def _span(cell: Any, name: str) -> int:
    text = _attribute(cell, name).strip().strip("\"'")[:6]
    return max(1, min(int(text), WIDEST)) if text.isascii() and text.isdigit() else 1


def _lay_out(rows: Sequence[Sequence[tuple[str, bool, int, int]]]) -> list[dict[int, _Place]]:
    grid: list[dict[int, _Place]] = [{} for _ in rows]
    count = 0
    for number, row in enumerate(rows):
        column = 0
        for text, is_header, width, height in row:
            while column in grid[number]:
                column += 1
            height = min(height, len(rows) - number)
            count += width * height
            if count > MOST_CELLS:
                raise TableTooLarge(f"has more than {MOST_CELLS:,} cells")
            for below in range(number, number + height):
                for right in range(column, column + width):
                    grid[below].setdefault(right, _Place(text, is_header, right == column, width))
            column += width
    return grid


def _read_cells(grid: Sequence[dict[int, _Place]]) -> Iterator[WikiCell]:
    heads: list[dict[int, _Place]] = []
    heading = True
    whole = max((len(row) for row in grid), default=0)
    bodiless = all(place.is_header for row in grid for place in row.values())
    for number, row in enumerate(grid):
        said = [place for place in row.values() if place.text]
        spanning = sum(place.first for place in row.values()) == 1 and len(row) == whole > 1
        # A single header in a wider table is the heading of the rows below it, like a header that spans all
        # columns.
        alone = spanning or len(row) == 1 < whole
        if not bodiless and said and not alone and _is_head(row):
            heads = [*heads, row] if heading else [row]
            heading = True
            continue
        heading = heading and not said
        by_column = sorted(row.items())
        own = _name_row(by_column)
        for column, place in by_column:
            if place.text and place.first:
                levels = [text for at, text in own if at != column]
                header = "" if spanning or place.is_header else _join(levels)
                over = "" if spanning else _join(head[column].text for head in heads if column in head)
                yield WikiCell(number, column, header, over, place.text)


def _is_head(row: dict[int, _Place]) -> bool:
    """Return whether a row consists only of headers; its first cell may be empty."""
    return all(place.is_header or (column == 0 and not place.text) for column, place in row.items())


def _name_row(row: Sequence[tuple[int, _Place]]) -> list[tuple[int, str]]:
    """Return (column, text) for each cell that is part of the row's header."""
    headers = [(column, place.text) for column, place in row if place.is_header and place.first]
    texts = [
        (column, place.text) for column, place in row if place.first and place.text and not place.is_header
    ]
    said = "".join(text for _, text in headers)
    if len(said) > 3 and any(map(str.isalpha, said)):
        return headers
    worded = [(column, text) for column, text in texts[:3] if any(map(str.isalpha, text))][:1]
    if said:  # a rank, `Ret` or a number, which is not a name
        return [*headers, *worded]
    return worded or texts[:1]


def _join(levels: Iterator[str] | Sequence[str]) -> str:
    return " / ".join(dict.fromkeys(level for level in levels if level))
