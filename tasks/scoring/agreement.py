"""Inter-rater agreement: share of unanimous items, Krippendorff's alpha, Cohen's kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tasks.errors import BadInput
from tasks.scoring.items import BadItem, Record, describe_type
from tasks.scoring.metric import SKIPPED, Accumulator, FloatArray, IntArray, ItemValues, Metric, Score, divide

LEVELS = ("nominal", "ordinal", "interval")
"""Levels of measurement, which determine the distance between two ratings."""
SCORED = Score({})

Rating = str | float


@dataclass(frozen=True)
class Agreement(Metric[tuple[Rating | None, ...]]):
    """Inter-rater agreement. A null rating is missing; items with fewer than two ratings are skipped.

    - unanimous: share of items whose ratings are all equal.
    - krippendorff: alpha = 1 - D_o / D_e (Krippendorff, Content Analysis), over the pairable ratings. `level`
      sets the distance between two ratings: nominal (0 or 1), ordinal (squared distance of ranks) or interval
      (squared difference).
    - kappa: unweighted Cohen's kappa of two raters, over the scored items. kappa is null if a scored item has
      more than two ratings, counting null ratings.

    A coefficient is null if its expected disagreement is zero, for example because all ratings are equal.
    """

    name: ClassVar[str] = "agreement"
    columns: ClassVar[tuple[str, ...]] = ("id", "ratings")
    texts: ClassVar[frozenset[str]] = frozenset({"id"})
    own_scale: ClassVar[frozenset[str]] = frozenset({"krippendorff", "kappa"})

    level: str = "nominal"

    def __post_init__(self) -> None:
        """Raise BadInput if the level is unknown."""
        if self.level not in LEVELS:
            raise BadInput(
                f"--level {self.level}", "is not a level of measurement", hint=f"known: {', '.join(LEVELS)}"
            )

    def read(self, record: Record) -> tuple[Rating | None, ...]:
        """Read a list of ratings: numbers and, if the level is nominal, also strings and booleans."""
        ratings = record.get("ratings")
        if not isinstance(ratings, list) or not ratings:
            raise BadItem(
                f"ratings is {describe_type(ratings) if ratings != [] else 'an empty list'}; expected a list"
            )
        return tuple(self.read_rating(rating) for rating in ratings)

    def read_rating(self, rating: object) -> Rating | None:
        """Read one rating. Raises BadItem if the rating is not valid at this level."""
        if isinstance(rating, int | float) and not isinstance(rating, bool):
            return float(rating)
        if rating is None:
            return None
        if self.level != "nominal" or not isinstance(rating, str | bool):
            wanted = (
                "numbers, text or null"
                if self.level == "nominal"
                else f"numbers (--level {self.level}) or null"
            )
            raise BadItem(f"ratings contains {describe_type(rating)}; expected {wanted}")
        # The prefix keeps the string "True" distinct from the boolean true.
        return f"text {rating}" if isinstance(rating, str) else f"bool {rating}"

    def make_accumulator(self, rule: str) -> RatingAccumulator:
        """Return an empty accumulator."""
        return RatingAccumulator(self.level)

    def score_item(self, item: tuple[Rating | None, ...], rule: str) -> Score:
        """Return SCORED if an item has at least two ratings, otherwise SKIPPED."""
        return SKIPPED if len(item) - item.count(None) < 2 else SCORED


@dataclass
class RatingAccumulator(Accumulator[tuple[Rating | None, ...]]):
    """Collects the ratings of items in order; items that are not scored are stored as None."""

    level: str
    items: list[tuple[Rating | None, ...] | None] = field(default_factory=list)

    def add(self, item: tuple[Rating | None, ...], score: Score) -> None:
        """Add the ratings of one item."""
        self.items.append(item if score.state == "scored" else None)

    def sample(self) -> RatingSample:
        """Return the scored items; equal items are merged and counted."""
        kinds = Counter(item for item in self.items if item is not None)
        values = sorted(
            {rating for item in kinds for rating in item if rating is not None}, key=make_sort_key
        )
        places = {value: n for n, value in enumerate(values)}
        ordered = sorted(
            kinds, key=lambda item: [-1 if rating is None else places[rating] for rating in item]
        )
        tables = np.zeros((len(ordered), len(values)))
        for row, item in enumerate(ordered):
            for rating in item:
                if rating is not None:
                    tables[row, places[rating]] += 1
        counts = np.array([kinds[item] for item in ordered], dtype=np.int64)
        codes = [[-1 if rating is None else places[rating] for rating in item] for item in ordered]
        two = bool(codes) and all(len(item) == 2 for item in codes)
        pairs = np.array(codes, dtype=np.int64).reshape(-1, 2) if two else None
        scale = np.array([value for value in values if isinstance(value, float)])
        return RatingSample(self.level, counts, tables, scale, pairs)

    def item_values(self) -> Iterator[ItemValues]:
        """Yield `unanimous` of each item: 1 if all ratings are equal, 0 if not, None if it is not scored."""
        for item in self.items:
            yield {"unanimous": None if item is None else int(len({*item} - {None}) == 1)}


def make_sort_key(rating: Rating) -> tuple[bool, Rating]:
    """Return a sort key that puts numbers before strings."""
    return isinstance(rating, str), rating


@dataclass(frozen=True)
class RatingSample:
    """Distinct items and their frequencies (`counts`).

    `ratings`: number of ratings per distinct item and value, shape (kinds, values). `values`: the numeric
    values, sorted. `pairs`: indexes of the two raters' values, shape (kinds, 2); None unless there are two
    raters.
    """

    level: str
    counts: IntArray
    ratings: FloatArray
    values: FloatArray
    pairs: IntArray | None

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute the figures for each bootstrap draw; `weights` has shape (draws, kinds)."""
        unanimous = (self.ratings > 0).sum(axis=1) == 1
        return {
            "unanimous": divide(weights @ unanimous, weights.sum(axis=1)),
            "krippendorff": self.compute_alpha(weights),
            "kappa": self.compute_kappa(weights),
        }

    def compute_alpha(self, weights: FloatArray) -> FloatArray:
        """Compute alpha, shape (draws,), from observed and expected disagreement of pairable ratings.

        With delta(a, b) = (g_a - g_b)^2, the sum of delta over all ordered pairs of m ratings is
        2 (m sum g^2 - (sum g)^2). The observed disagreement uses this sum for the ratings of each item, and
        the expected disagreement uses this sum for all ratings. At the interval level, g is the value. At the
        ordinal level, g is the value's mid-rank among all ratings. At the nominal level, the sum of delta is
        m^2 minus the sum of the squared counts of the values.
        """
        totals = weights @ self.ratings
        sizes, n = self.ratings.sum(axis=1), totals.sum(axis=1)
        if self.level == "nominal":
            observed = weights @ divide(sizes**2 - (self.ratings**2).sum(axis=1), sizes - 1)
            expected = divide(n**2 - (totals**2).sum(axis=1), n - 1)
        else:
            grades = self.compute_grades(totals)
            squares, sums = grades**2 @ self.ratings.T, grades @ self.ratings.T
            within = divide(2 * (sizes * squares - sums**2), np.broadcast_to(sizes - 1, squares.shape))
            observed = (weights * within).sum(axis=1)
            all_squares, all_sums = (totals * grades**2).sum(axis=1), (totals * grades).sum(axis=1)
            expected = divide(2 * (n * all_squares - all_sums**2), n - 1)
        # With only one value, `expected` may be a rounding error instead of an exact zero.
        several = (totals > 0).sum(axis=1) > 1
        return 1 - divide(observed, np.where(several, expected, 0.0))

    def compute_grades(self, totals: FloatArray) -> FloatArray:
        """Compute each value's position on the scale, shape (draws, values), centred to reduce rounding."""
        if self.level == "interval":
            grades = np.broadcast_to(self.values, totals.shape)
        else:
            grades = np.cumsum(totals, axis=1) - totals / 2
        return grades - divide((grades * totals).sum(axis=1), totals.sum(axis=1))[:, np.newaxis]

    def compute_kappa(self, weights: FloatArray) -> FloatArray:
        """Compute Cohen's kappa = (p_o - p_e) / (1 - p_e), shape (draws,); NaN without two raters."""
        if self.pairs is None:
            return np.full(len(weights), np.nan)
        first, second = self.pairs.T
        values = range(self.ratings.shape[1])
        n = weights.sum(axis=1)
        agreed = divide(weights @ (first == second), n)
        chance = sum(
            (
                divide(weights @ (first == value), n) * divide(weights @ (second == value), n)
                for value in values
            ),
            start=np.zeros(len(weights)),
        )
        # If all ratings have the same value, 1 - chance may be a rounding error instead of an exact zero.
        certain = sum(
            ((weights @ ((first == value) & (second == value)) == n) for value in values),
            start=np.zeros(len(weights), dtype=bool),
        )
        return divide(agreed - chance, np.where(certain, 0.0, 1 - chance))
