"""Compute the similarity of cells: normalised Levenshtein for text, relative distance for numbers.

For texts, sim(a, b) = 1 - d if d < 0.5, else 0, where d is the edit distance divided by the longer length
(Biten et al.). For numbers, sim(t, p) = 1 - d if d < 0.1, else 0, where d = min(1, |t - p| / |t|) (Liu et
al.).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist, cpdist

from tasks.scoring.metric import FloatArray

TEXT_CUT = 0.5
"""Minimum distance at which two texts have similarity 0 (Biten et al.)."""
NUMBER_CUT = 0.1
"""Minimum relative distance at which two numbers have similarity 0 (Liu et al.)."""
CELLS_FOR_ONE_THREAD = 200_000
"""Maximum number of comparisons that run in a single thread."""


def parse_number(text: str) -> float | None:
    """Return a cell's number, with `5%` as 0.05; None if the cell is not a finite number."""
    try:
        number = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def compare_texts(gold: str, prediction: str) -> float:
    """Return the similarity of two texts, from 0 to 1; the similarity of two empty texts is 1."""
    distance = Levenshtein.normalized_distance(gold, prediction)
    return 1 - distance if distance < TEXT_CUT else 0.0


def compare_numbers(gold: float, prediction: float) -> float:
    """Return the similarity of two numbers, from 0 to 1.

    The distance is relative to the gold number, which must not be 0.
    """
    distance = min(1.0, abs((gold - prediction) / gold))
    return 1 - distance if distance < NUMBER_CUT else 0.0


def compare_values(gold: str, prediction: str) -> float:
    """Return the similarity of two cells, from 0 to 1.

    The cells are compared as numbers if both are numbers and gold is not 0, and as texts otherwise.
    """
    target = parse_number(gold)
    if target:
        value = parse_number(prediction)
        if value is not None:
            return compare_numbers(target, value)
    return compare_texts(gold, prediction)


def compare_all_texts(golds: Sequence[str], predictions: Sequence[str]) -> FloatArray:
    """Return the similarities of all gold texts and all predicted texts; shape (golds, predictions)."""
    many = len(golds) * len(predictions) > CELLS_FOR_ONE_THREAD
    distances: FloatArray = cdist(
        golds,
        predictions,
        scorer=Levenshtein.normalized_distance,
        dtype=np.float64,
        workers=-1 if many else 1,
    )
    return cut_distances(distances)


def compare_all(golds: Sequence[str], predictions: Sequence[str]) -> FloatArray:
    """Return `compare_values` for all gold cells and all predicted cells; shape (golds, predictions)."""
    similarities = compare_all_texts(golds, predictions)
    targets = {n: number for n, text in enumerate(golds) if (number := parse_number(text))}
    values = {n: number for n, text in enumerate(predictions) if (number := parse_number(text)) is not None}
    for row, target in targets.items():
        for column, value in values.items():
            similarities[row, column] = compare_numbers(target, value)
    return similarities


def compare_pairs(golds: Sequence[str], predictions: Sequence[str]) -> FloatArray:
    """Return `compare_values` for each pair of cells; shape (pairs,)."""
    distances: FloatArray = cpdist(
        golds, predictions, scorer=Levenshtein.normalized_distance, dtype=np.float64
    )
    similarities = cut_distances(distances)
    known = {text: parse_number(text) for text in {*golds, *predictions}}
    for n, (gold, prediction) in enumerate(zip(golds, predictions, strict=True)):
        target, value = known[gold], known[prediction]
        if target and value is not None:
            similarities[n] = compare_numbers(target, value)
    return similarities


def cut_distances(distances: FloatArray) -> FloatArray:
    """Convert the distances of texts to similarities in place: 1 - d if d < TEXT_CUT, otherwise 0."""
    np.subtract(1.0, distances, out=distances)
    distances[distances <= 1 - TEXT_CUT] = 0.0
    return distances
