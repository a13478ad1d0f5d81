"""Relative mapping similarity as in TANQ's released code (after Liu et al., DePlot)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tasks.scoring.metric import FloatArray
from tasks.scoring.similarity import compare_all_texts, compare_texts, compare_values
from tasks.scoring.tables import CellTable, join_values

KEYS_AT_ONCE = 256
"""Number of keys to compare at a time; after each block, the comparison can end early."""
ROUNDING = 1e-9
"""The tolerance, per gold key, for rounding errors in the upper bound of `compute_costs`."""

Datapoints = Mapping[str, str]


class RmsScores(NamedTuple):
    """Precision, recall and F1 of one table, each between 0 and 1."""

    precision: float
    recall: float
    f1: float


ZERO = RmsScores(0.0, 0.0, 0.0)


def compute_released(gold: CellTable, prediction: CellTable) -> RmsScores:
    """Return the score of the prediction or the transposed prediction, whichever has the better F1.

    If both F1 values are equal, the score of the transposed prediction is returned. The orientation with
    more of the gold keys is scored first, so that scoring the other orientation can often end early.
    """
    target = find_datapoints(gold)
    turned, straight = find_datapoints(prediction, transposed=True), find_datapoints(prediction)
    if len(target.keys() & turned.keys()) > len(target.keys() & straight.keys()):
        best = score_datapoints(target, turned)
        other = score_datapoints(target, straight, at_least=best.f1)
        return best if best.f1 >= other.f1 else other
    best = score_datapoints(target, straight)
    other = score_datapoints(target, turned, at_least=best.f1)
    return best if best.f1 > other.f1 else other


def find_datapoints(table: CellTable, *, transposed: bool = False) -> dict[str, str]:
    """Return the datapoints of a table or of its transpose: {row name + " " + header: cell}.

    A repeated key keeps its first position and gets the last cell. A title is a datapoint in both
    orientations. If header and row differ in length, the extra cells are dropped. A table with only a header,
    or with only one column, has no other datapoints.
    """
    title, table = table.take_title()
    points = {} if title is None else {"title": title}
    rows = table.transpose().rows if transposed else table.rows
    if len(rows) < 2:
        return points
    header = [join_values(cell) for cell in rows[0]]
    for row in rows[1:]:
        for name, cell in zip(header[1:], row[1:], strict=False):
            points[f"{join_values(row[0])} {name}"] = join_values(cell)
    return points


def score_datapoints(target: Datapoints, predicted: Datapoints, at_least: float = 0.0) -> RmsScores:
    """Score predicted datapoints; return zeros early if F1 is certain to be below `at_least`."""
    if not target or not predicted:
        return score_empty(len(target), len(predicted))
    shared = [(key, key) for key in target if key in predicted]
    if len(shared) == min(len(target), len(predicted)):
        pairs = shared  # equal keys have distance 0, and any other assignment has a positive distance
    else:
        wanted = at_least * (len(target) + len(predicted)) / 2
        found = assign_keys(list(target), list(predicted), wanted)
        if found is None:
            return ZERO
        pairs = found
    likenesses = (
        likeness * compare_values(target[key], predicted[predicted_key])
        for key, predicted_key in pairs
        if (likeness := compare_texts(key, predicted_key))
    )
    return score_sum(sum(likenesses), len(target), len(predicted))


def assign_keys(keys: list[str], predicted: list[str], wanted: float) -> list[tuple[str, str]] | None:
    """Return the pairs of gold and predicted keys with the minimal sum of distances.

    Returns None if the similarities of the pairs cannot add up to `wanted`.
    """
    from scipy.optimize import linear_sum_assignment

    costs = compute_costs(keys, predicted, wanted)
    if costs is None:
        return None
    rows, columns = linear_sum_assignment(costs)
    return [(keys[row], predicted[column]) for row, column in zip(rows, columns, strict=True)]


def compute_costs(keys: Sequence[str], predicted: Sequence[str], wanted: float) -> FloatArray | None:
    """Compute 1 - key similarity, shape (keys, predicted).

    Returns None if no pairs of keys can have similarities that add up to `wanted`. The upper bound on this
    sum is the best similarity of each gold key compared so far, plus 1 for each gold key not yet compared.
    """
    costs = np.empty((len(keys), len(predicted)))
    reachable = float(len(keys))
    for start in range(0, len(keys), KEYS_AT_ONCE):
        block = compare_all_texts(keys[start : start + KEYS_AT_ONCE], predicted)
        reachable -= len(block) - block.max(axis=1).sum()
        if reachable < wanted - ROUNDING * len(keys):
            return None
        np.subtract(1.0, block, out=costs[start : start + KEYS_AT_ONCE])
    return costs


def score_empty(gold: int, predicted: int) -> RmsScores:
    """Return precision, recall and F1 if gold or the prediction has no datapoints.

    The scores are (1, 1, 1) if both sides are empty, (0, 1, 0) if gold is empty, and (1, 0, 0) if the
    prediction is empty.
    """
    if gold == predicted:
        return RmsScores(1.0, 1.0, 1.0)
    return RmsScores(0.0, 1.0, 0.0) if not gold else RmsScores(1.0, 0.0, 0.0)


def score_sum(total: float, gold: int, predicted: int) -> RmsScores:
    """Compute precision = total / predicted, recall = total / gold, and F1; all are 0 if the total is 0."""
    if not total:
        return ZERO
    precision, recall = total / predicted, total / gold
    return RmsScores(precision, recall, 2 * precision * recall / (precision + recall))
