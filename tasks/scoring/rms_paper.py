"""Relative mapping similarity as TANQ's paper describes it (section 5.1): triplets, matched greedily."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.scoring.metric import FloatArray, IntArray
from tasks.scoring.rms_released import RmsScores, score_empty, score_sum
from tasks.scoring.similarity import compare_all, compare_pairs
from tasks.scoring.tables import Cell, CellTable, join_values


class Triplet(NamedTuple):
    """A value of one cell."""

    entity: str
    relation: str
    value: str


class CodedTexts(NamedTuple):
    """A field of all triplets: its distinct texts, and each triplet's index among them."""

    texts: list[str]
    codes: IntArray


def compute_paper(gold: CellTable, prediction: CellTable) -> RmsScores:
    """Score the prediction as it is and transposed; the better F1 counts, then precision, then recall.

    The score does not depend on the order of rows or columns. A line `title|x` is a header like any other.
    """
    targets = sorted(find_triplets(gold))
    straight = score_triplets(targets, prediction)
    if straight.f1 == 1:
        return straight
    turned = score_triplets(targets, prediction.transpose())
    return max(straight, turned, key=lambda scores: (scores.f1, scores.precision, scores.recall))


def score_triplets(targets: Sequence[Triplet], prediction: CellTable) -> RmsScores:
    """Match triplets (entity, relation, value) in descending similarity, each once; ties by their texts.

    The similarity of two triplets is the product of their fields' similarities. A list gives a cell's values
    directly; a text is split at commas, but in the prediction only if the whole text is not a gold value. An
    empty cell has no triplet. The order of matching and ties is our choice: the paper only says "greedily".
    Ties by position would make the score depend on the order of rows.
    """
    values = {triplet.value for triplet in targets}
    predictions = sorted(find_triplets(prediction, values))
    if not targets or not predictions:
        return score_empty(len(targets), len(predictions))
    total = match_greedily(*compare_triplets(targets, predictions))
    return score_sum(total, len(targets), len(predictions))


def find_triplets(table: CellTable, whole: Iterable[str] = ()) -> Iterator[Triplet]:
    """Yield a table's triplets, row by row; cells equal to one of `whole` are not split."""
    if not table.rows:
        return
    header = [join_values(cell) for cell in table.rows[0]]
    kept = frozenset(whole)
    for row in table.rows[1:]:
        for relation, cell in zip(header[1:], row[1:], strict=False):
            for value in split_cell(cell, kept):
                yield Triplet(join_values(row[0]), relation, value)


def split_cell(cell: Cell, whole: frozenset[str]) -> list[str]:
    """Return a cell's values, without empty ones."""
    if isinstance(cell, str):
        cell = (cell,) if cell in whole else tuple(part.strip() for part in cell.split(","))
    return [value for value in cell if value]


def compare_triplets(
    targets: Sequence[Triplet], predictions: Sequence[Triplet]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Find all pairs of positive similarity: index of the target, of the prediction, and similarity.

    Entities and relations are few, so all of them are compared; values only if both of these are similar.
    """
    golds = [encode(column) for column in zip(*targets, strict=True)]
    guesses = [encode(column) for column in zip(*predictions, strict=True)]
    matrices = [compare_all(golds[n].texts, guesses[n].texts) for n in range(2)]
    alike = [(matrices[n] > 0)[np.ix_(golds[n].codes, guesses[n].codes)] for n in range(2)]
    rows, columns = np.nonzero(alike[0] & alike[1])
    likeness = np.ones(len(rows))
    for n in range(2):
        likeness *= matrices[n][golds[n].codes[rows], guesses[n].codes[columns]]
    likeness *= compare_value_columns(golds[2], guesses[2], rows, columns)
    kept = likeness > 0
    return rows[kept], columns[kept], likeness[kept]


def compare_value_columns(
    golds: CodedTexts, guesses: CodedTexts, rows: IntArray, columns: IntArray
) -> FloatArray:
    """Compare the values of the given pairs, equal pairs once."""
    width = len(guesses.texts)
    codes, places = np.unique(golds.codes[rows] * width + guesses.codes[columns], return_inverse=True)
    pairs = [divmod(code, width) for code in codes.tolist()]
    return compare_pairs([golds.texts[a] for a, _ in pairs], [guesses.texts[b] for _, b in pairs])[places]


def encode(texts: Sequence[str]) -> CodedTexts:
    """Encode texts as indexes of the distinct texts, in order of first appearance."""
    places = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    return CodedTexts(list(places), np.array([places[text] for text in texts], dtype=np.int64))


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
