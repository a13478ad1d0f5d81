"""Match a predicted table with the answer table: its header, columns, rows and cells (TANQ, section 5.6)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from rapidfuzz.distance import Levenshtein

from tasks.tanq.build.tanq_item import FinalRow, TanqItem
from tasks.tanq.labels import CellState
from tasks.tanq.score.same_values import count_values, is_nothing, is_same_name, simplify

ENTITY_HEADS = frozenset({"entity", "name", "item", "title", "answer"})
FILLERS = frozenset({"of", "the", "in", "and", "a", "an", "by", "its", "their"})
UNIT = re.compile(r"\([^()]*\)|\[[^\][]*\]")
CELLS_TOLD = 10
"""Maximum number of cells to compare to identify a column with an unknown header."""
SPELLING = 0.85
"""Minimum similarity (0 to 1) of two spellings of a header."""

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class TableMatch:
    """The match between a predicted table and the answer.

    - rows: the predicted rows, transposed if the entities are in the first row of the reply's table.
    - head: whether the first row is a header.
    - columns: for each column of the answer, the position of the predicted column, or None.
    - entities: for each row of the answer list, including rows that fail a filter, the positions of predicted
      rows.
    - cells: for each row of the answer list, the state of each cell.

    A cell is RIGHT if exactly the answer's values are predicted. A cell is PARTIAL if only some of the values
    are predicted or the cell is empty, and WRONG if another value is predicted. A cell is MISSING if its row
    or column is not predicted, and UNTOLD if the answer has no value.
    """

    rows: tuple[tuple[str, ...], ...]
    head: bool
    columns: tuple[int | None, ...]
    entities: tuple[tuple[int, ...], ...]
    cells: tuple[tuple[CellState, ...], ...]

    @property
    def body(self) -> range:
        """The positions of the rows below the header."""
        return range(int(self.head), len(self.rows))

    @property
    def others(self) -> tuple[int, ...]:
        """The positions of rows whose entity is not in the answer list."""
        known = {place for places in self.entities for place in places}
        return tuple(place for place in self.body if place not in known)

    @property
    def unrequested(self) -> tuple[int, ...]:
        """The positions of columns that are not in the answer, except the first column."""
        width = max(map(len, self.rows), default=0)
        return tuple(place for place in range(1, width) if place not in self.columns)

    def read(self, row: int, column: int) -> str:
        """Return the text of a cell; empty if its row is too short."""
        return self.rows[row][column] if column < len(self.rows[row]) else ""


def match_table(item: TanqItem, table: Rows) -> TableMatch:
    """Match a predicted table with an item's answer.

    Columns are matched by header words, then by cells. Without a header, columns are matched by cells, then
    in order if both tables have the same number of columns. Rows are matched by their first cells.
    """
    rows = turn(item, table)
    head = has_header(item, rows)
    entities = match_entities(item.rows, rows, int(head))
    columns = match_columns(item, rows, head, entities)
    match = TableMatch(rows, head, columns, entities, ())
    cells = tuple(
        tuple(_judge_cell(item, match, row, column) for column in range(len(item.columns)))
        for row in range(len(item.rows))
    )
    return TableMatch(rows, head, columns, entities, cells)


def turn(item: TanqItem, table: Rows) -> tuple[tuple[str, ...], ...]:
    """Transpose a table if its first row contains more of the answer's entities than its first column."""
    rows = tuple(tuple(cell.strip() for cell in row) for row in table)
    names = [row.label for row in item.rows]
    across = sum(_is_any(names, cell) for cell in rows[0][1:]) if rows else 0
    down = sum(_is_any(names, row[0]) for row in rows if row)
    return tuple(zip_longest(*rows, fillvalue="")) if across > down else rows


def has_header(item: TanqItem, rows: Rows) -> bool:
    """Return whether the first row is a header.

    A header begins with a word such as `entity`, shares words with the answer's headers, or contains neither
    a known entity nor a value.
    """
    if not rows or not rows[0]:
        return False
    first, *cells = rows[0]
    known = [*(row.label for row in item.rows), *(thing.label for thing in (*item.intermediates, *item.near))]
    if simplify(first) in ENTITY_HEADS:
        return True
    if any(compare_heads(column.header, cell) for column in item.columns for cell in cells):
        return True
    values = [value for row in item.rows for cell in row.cells for value in cell.values]
    return not _is_any(known, first) and not any(
        _is_any(values, cell) or re.fullmatch(r"[\d.,%\s-]+", cell) for cell in cells if cell
    )


def match_entities(answers: Sequence[FinalRow], rows: Rows, start: int) -> tuple[tuple[int, ...], ...]:
    """Return the positions of the predicted rows for each answer.

    A row belongs to the answer with exactly the same name, otherwise to the first answer with a similar name.
    """
    places: list[list[int]] = [[] for _ in answers]
    names = [simplify(answer.label) for answer in answers]
    for place in range(start, len(rows)):
        said = rows[place][0] if rows[place] else ""
        exact = [number for number, name in enumerate(names) if name == simplify(said)]
        like = exact or [number for number, answer in enumerate(answers) if is_same_name(answer.label, said)]
        if like:
            places[like[0]].append(place)
    return tuple(map(tuple, places))


def match_columns(
    item: TanqItem, rows: Rows, head: bool, entities: Sequence[Sequence[int]]
) -> tuple[int | None, ...]:
    """Return the position of the predicted column for each column of the answer, or None.

    Each predicted column is used at most once.
    """
    found: list[int | None] = [None] * len(item.columns)
    width = max(map(len, rows), default=0)
    if head:
        _take_best(found, [
            (compare_heads(column.header, rows[0][place]), number, place)
            for number, column in enumerate(item.columns) for place in range(1, len(rows[0]))
        ])  # fmt: skip
    _take_best(found, [
        (_compare_cells(item, rows, entities, number, place), number, place)
        for number, known in enumerate(found) if known is None
        for place in range(1, width) if place not in found
    ])  # fmt: skip
    if not head and width == len(item.columns) + 1:
        _take_best(found, [(1.0, number, number + 1) for number in range(len(item.columns))])
    return tuple(found)


def compare_heads(gold: str, said: str) -> float:
    """Return the similarity (0 to 1) of two headers, compared by their words without units.

    If one header has all words of the other, the result is the share of common words. Otherwise, the result
    is half the Levenshtein similarity, or 0 if the Levenshtein similarity is below `SPELLING`.
    """
    one, other = _list_words(gold), _list_words(said)
    if not one or not other:
        return 0.0
    if one <= other or other <= one:
        return len(one & other) / len(one | other)
    alike = Levenshtein.normalized_similarity(" ".join(sorted(one)), " ".join(sorted(other)))
    return alike / 2 if alike >= SPELLING else 0.0


def _list_words(header: str) -> set[str]:
    words = simplify(UNIT.sub(" ", header)).split()
    return {_drop_plural(word) for word in words} - FILLERS


def _drop_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _take_best(found: list[int | None], pairs: list[tuple[float, int, int]]) -> None:
    """Assign each predicted column to at most one column of the answer, the most similar pairs first.

    pairs: similarity, number of the answer's column, and position of the predicted column. Ties are broken
    by position. found: updated in place.
    """
    taken = {place for place in found if place is not None}
    for likeness, number, place in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if likeness > 0 and found[number] is None and place not in taken:
            found[number] = place
            taken.add(place)


def _compare_cells(
    item: TanqItem, rows: Rows, entities: Sequence[Sequence[int]], number: int, place: int
) -> float:
    """Return the share of a predicted column's cells that contain a value of the answer's cell.

    The result is 0 if the share is at most one half. Up to `CELLS_TOLD` non-empty cells are compared.
    """
    column = item.columns[number]
    pairs = (
        (answer.cells[number].values, rows[row][place])
        for answer, places in zip(item.rows, entities, strict=True)
        for row in places
        if place < len(rows[row])
    )
    told = islice(((values, said) for values, said in pairs if values and not is_nothing(said)), CELLS_TOLD)
    hits = [count_values(values, said, column.kind)[0] > 0 for values, said in told]
    return sum(hits) / len(hits) if sum(hits) * 2 > len(hits) else 0.0


def _judge_cell(item: TanqItem, match: TableMatch, row: int, column: int) -> CellState:
    values, place = item.rows[row].cells[column].values, match.columns[column]
    if not values:
        return CellState.UNTOLD
    if place is None or not match.entities[row]:
        return CellState.MISSING
    said = [match.read(number, place) for number in match.entities[row]]
    told = list(dict.fromkeys(text for text in said if not is_nothing(text)))
    found, extra = count_values(values, "; ".join(told), item.columns[column].kind)
    if extra:
        return CellState.WRONG
    return CellState.RIGHT if found == len(values) else CellState.PARTIAL


def _is_any(names: Sequence[str], said: str) -> bool:
    return bool(said) and any(is_same_name(name, said) for name in names)
