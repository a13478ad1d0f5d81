"""Relative mapping similarity as in TANQ's paper (section 5.1): greedily matched triplets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.scoring.metric import FloatArray, IntArray
from tasks.scoring.rms_released import RmsScores, score_empty, score_sum
from tasks.scoring.similarity import compare_all, compare_pairs
from tasks.scoring.tables import Cell, CellTable, join_values


class Triplet(NamedTuple):
    """One value of a cell, with the entity of its row and the relation of its column."""

    entity: str
    relation: str
    value: str


class CodedTexts(NamedTuple):
    """One field of all triplets: the distinct texts, and each triplet's index into these texts."""

    texts: list[str]
    codes: IntArray


def compute_paper(gold: CellTable, prediction: CellTable) -> RmsScores:
    """Score the prediction and its transpose; return the better score.

    Scores are compared by F1, then precision, then recall. Scores do not depend on the order of rows or
    columns. Unlike in `compute_released`, a first line `title|x` is a header, not a title.
    """
    targets = sorted(find_triplets(gold))
    straight = score_triplets(targets, prediction)
    if straight.f1 == 1:
        return straight
    turned = score_triplets(targets, prediction.transpose())
    return max(straight, turned, key=lambda scores: (scores.f1, scores.precision, scores.recall))


def score_triplets(targets: Sequence[Triplet], prediction: CellTable) -> RmsScores:
    """Match triplets greedily, in descending order of similarity, and return the scores.

    Each triplet is matched at most once. The similarity of two triplets is the product of their fields'
    similarities. Each member of a list cell has its own triplet. A text cell is split at commas, but a
    predicted text that equals a gold value is not split. An empty cell has no triplet. The TANQ paper only
    says "greedily"; the order is ours. Ties are broken by the strings of the triplets, so that the score does
    not depend on the order of rows.
    """
    values = {triplet.value for triplet in targets}
    predictions = sorted(find_triplets(prediction, values))
    if not targets or not predictions:
        return score_empty(len(targets), len(predictions))
    total = match_greedily(*compare_triplets(targets, predictions))
    return score_sum(total, len(targets), len(predictions))


def find_triplets(table: CellTable, whole: Iterable[str] = ()) -> Iterator[Triplet]:
    """Yield a table's triplets, row by row; cells that equal one of `whole` are not split."""
    if not table.rows:
        return
    header = [join_values(cell) for cell in table.rows[0]]
    kept = frozenset(whole)
    for row in table.rows[1:]:
        for relation, cell in zip(header[1:], row[1:], strict=False):
            for value in split_cell(cell, kept):
                yield Triplet(join_values(row[0]), relation, value)


def split_cell(cell: Cell, whole: frozenset[str]) -> list[str]:
    """Return the non-empty values of a cell; a text that equals one of `whole` is not split."""
    if isinstance(cell, str):
        cell = (cell,) if cell in whole else tuple(part.strip() for part in cell.split(","))
    return [value for value in cell if value]


def compare_triplets(
    targets: Sequence[Triplet], predictions: Sequence[Triplet]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Find all pairs with positive similarity; return target indexes, prediction indexes and similarities.

    All pairs of entities, and all pairs of relations, are compared. Values are compared only if both entity
    and relation have positive similarity.
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
    """Return the value similarities for the given pairs of triplets; equal pairs are compared once."""
    width = len(guesses.texts)
    codes, places = np.unique(golds.codes[rows] * width + guesses.codes[columns], return_inverse=True)
    pairs = [divmod(code, width) for code in codes.tolist()]
    return compare_pairs([golds.texts[a] for a, _ in pairs], [guesses.texts[b] for _, b in pairs])[places]


def encode(texts: Sequence[str]) -> CodedTexts:
    """Encode texts as indexes into the distinct texts, in order of first appearance."""
    places = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    return CodedTexts(list(places), np.array([places[text] for text in texts], dtype=np.int64))


def match_greedily(rows: IntArray, columns: IntArray, likeness: FloatArray) -> float:
    """Match pairs greedily, and return the sum of their similarities.

    Pairs are matched in descending order of similarity; each row and each column is used at most once.
    """
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
