"""Relative mapping similarity as TANQ's paper words it (section 5.1): triplets, matched greedily."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.scoring.metric import FloatArray, IntArray
from tasks.scoring.rms_released import Rms, score_empty, score_sum
from tasks.scoring.similarity import compare_pairs
from tasks.scoring.tables import Cell, Table, spell_cell


class Triplet(NamedTuple):
    """One value of one cell."""

    entity: str
    relation: str
    value: str


def compute_paper(gold: Table, prediction: Table) -> Rms:
    """Match triplets (entity, relation, value) in descending similarity, each once; ties by position.

    The similarity of two triplets is the product of their fields'. A list is a cell's values as they stand; a
    text is split at commas, but in the prediction only where the whole is no gold value. An empty cell has no
    triplet. The order of matching and of ties is ours: the paper says only "greedily".
    """
    targets = list(find_triplets(gold))
    values = {triplet.value for triplet in targets}
    predictions = list(find_triplets(prediction, values))
    if not targets or not predictions:
        return score_empty(len(targets), len(predictions))
    total = match_greedily(*compare_triplets(targets, predictions))
    return score_sum(total, len(targets), len(predictions))


def find_triplets(table: Table, whole: Iterable[str] = ()) -> Iterator[Triplet]:
    """Give a table's triplets, row by row; cells equal to one of `whole` are not split."""
    if not table.rows:
        return
    header = [spell_cell(cell) for cell in table.rows[0]]
    kept = frozenset(whole)
    for row in table.rows[1:]:
        for relation, cell in zip(header[1:], row[1:], strict=False):
            for value in split_cell(cell, kept):
                yield Triplet(spell_cell(row[0]), relation, value)


def split_cell(cell: Cell, whole: frozenset[str]) -> list[str]:
    """Give a cell's values, without empty ones."""
    if isinstance(cell, str):
        cell = (cell,) if cell in whole else tuple(part.strip() for part in cell.split(","))
    return [value for value in cell if value]


def compare_triplets(
    targets: Sequence[Triplet], predictions: Sequence[Triplet]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Give all pairs that are at all alike: index of the target, of the prediction, and similarity."""
    rows, columns = np.divmod(np.arange(len(targets) * len(predictions)), len(predictions))
    likeness = np.ones(len(rows))
    for field in range(3):
        golds, gold_codes = encode([triplet[field] for triplet in targets])
        guesses, guess_codes = encode([triplet[field] for triplet in predictions])
        codes, places = np.unique(gold_codes[rows] * len(guesses) + guess_codes[columns], return_inverse=True)
        pairs = [divmod(int(code), len(guesses)) for code in codes]
        likeness *= compare_pairs([golds[a] for a, _ in pairs], [guesses[b] for _, b in pairs])[places]
        alike = likeness > 0
        rows, columns, likeness = rows[alike], columns[alike], likeness[alike]
    return rows, columns, likeness


def encode(texts: Sequence[str]) -> tuple[list[str], IntArray]:
    """Give the distinct texts, and each text's number among them."""
    places = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    return list(places), np.array([places[text] for text in texts], dtype=np.int64)


def match_greedily(rows: IntArray, columns: IntArray, likeness: FloatArray) -> float:
    """Sum the similarities of pairs taken in descending order, each row and each column once."""
    total = 0.0
    used_rows: set[int] = set()
    used_columns: set[int] = set()
    for n in np.lexsort((columns, rows, -likeness)):
        row, column = int(rows[n]), int(columns[n])
        if row not in used_rows and column not in used_columns:
            used_rows.add(row)
            used_columns.add(column)
            total += float(likeness[n])
    return total
