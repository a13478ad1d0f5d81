"""Relative mapping similarity as TANQ's released code computes it (after Liu et al., DePlot)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tasks.scoring.metric import FloatArray
from tasks.scoring.similarity import compare_all_texts, compare_texts, compare_values
from tasks.scoring.tables import Table, spell_cell

KEYS_AT_ONCE = 256
ROUNDING = 1e-9

Datapoints = Mapping[str, str]


class Rms(NamedTuple):
    """Fractions, 0..1."""

    precision: float
    recall: float
    f1: float


ZERO = Rms(0.0, 0.0, 0.0)


def compute_released(gold: Table, prediction: Table) -> Rms:
    """Score the prediction as it stands and transposed; the better F1 counts, on equal F1 the transposed one.

    The reading with more of gold's keys goes first, so that the other can often be ruled out early.
    """
    target = find_datapoints(gold)
    turned, straight = find_datapoints(prediction.transpose()), find_datapoints(prediction)
    if len(target.keys() & turned.keys()) > len(target.keys() & straight.keys()):
        best = score_datapoints(target, turned)
        other = score_datapoints(target, straight, at_least=best.f1)
        return best if best.f1 >= other.f1 else other
    best = score_datapoints(target, straight)
    other = score_datapoints(target, turned, at_least=best.f1)
    return best if best.f1 > other.f1 else other


def find_datapoints(table: Table) -> dict[str, str]:
    """Give {row name + " " + header: cell}; a key keeps its first place and its last cell.

    A title is a datapoint. Cells beyond the shorter of header and row are dropped; a table with a header
    only, or with one column, has none.
    """
    points = {} if table.title is None else {"title": table.title}
    if len(table.rows) < 2:
        return points
    header = [spell_cell(cell) for cell in table.rows[0]]
    for row in table.rows[1:]:
        for name, cell in zip(header[1:], row[1:], strict=False):
            points[f"{spell_cell(row[0])} {name}"] = spell_cell(cell)
    return points


def score_datapoints(target: Datapoints, predicted: Datapoints, at_least: float = 0.0) -> Rms:
    """Score predicted datapoints; where F1 is certain to be under `at_least`, 0 is given for it at once."""
    if not target or not predicted:
        return score_empty(len(target), len(predicted))
    shared = [(key, key) for key in target if key in predicted]
    if len(shared) == min(len(target), len(predicted)):
        pairs = shared  # costs nothing, and every other assignment costs something
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
    """Pair keys at the least sum of distances; None if their similarities cannot sum up to `wanted`."""
    from scipy.optimize import linear_sum_assignment

    costs = compute_costs(keys, predicted, wanted)
    if costs is None:
        return None
    rows, columns = linear_sum_assignment(costs)
    return [(keys[row], predicted[column]) for row, column in zip(rows, columns, strict=True)]


def compute_costs(keys: Sequence[str], predicted: Sequence[str], wanted: float) -> FloatArray | None:
    """Give 1 - key similarity, shape (keys, predicted); None once their sum cannot reach `wanted`.

    No assignment is worth more than every key's best similarity, and 1 for each key not looked at yet.
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


def score_empty(gold: int, predicted: int) -> Rms:
    """Score where a side is empty: both 1, 1, 1; gold 0, 1, 0; prediction 1, 0, 0."""
    if gold == predicted:
        return Rms(1.0, 1.0, 1.0)
    return Rms(0.0, 1.0, 0.0) if not gold else Rms(1.0, 0.0, 0.0)


def score_sum(total: float, gold: int, predicted: int) -> Rms:
    """Give precision = sum / predicted, recall = sum / gold, and F1; a sum of 0 is 0, 0, 0."""
    if not total:
        return ZERO
    precision, recall = total / predicted, total / gold
    return Rms(precision, recall, 2 * precision * recall / (precision + recall))
