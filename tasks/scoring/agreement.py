"""Agreement of raters: share of unanimous items, Krippendorff's alpha, Cohen's kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tasks.errors import BadInput
from tasks.scoring.items import BadItem, Record, name_type
from tasks.scoring.metric import SKIPPED, FloatArray, IntArray, Metric, Score, Tally, divide

LEVELS = ("nominal", "ordinal", "interval")
SCORED = Score({})

Rating = str | float


@dataclass(frozen=True)
class Agreement(Metric[tuple[Rating | None, ...]]):
    """How far raters agree; null is a missing rating, and an item with fewer than two ratings is skipped.

    - unanimous: share of items whose ratings are all equal.
    - krippendorff: alpha = 1 - D_o / D_e (Krippendorff, Content Analysis), over the pairable ratings; `level`
      says how two ratings differ: nominal (0 or 1), ordinal (squared distance of ranks), interval (squared
      difference).
    - kappa: Cohen's, unweighted, over the items that both of two raters rated; null where an item has another
      number of places than two.

    A figure without any disagreement to be expected, as where all ratings are one value, is null.
    """

    name: ClassVar[str] = "agreement"
    own_scale: ClassVar[frozenset[str]] = frozenset({"krippendorff", "kappa"})

    level: str = "nominal"

    def __post_init__(self) -> None:
        """Refuse an unknown level."""
        if self.level not in LEVELS:
            raise BadInput(f"--level {self.level}", "is no level", hint=f"there are {', '.join(LEVELS)}")

    def read(self, record: Record) -> tuple[Rating | None, ...]:
        """Take a list of ratings: numbers, at level nominal also text, true or false."""
        ratings = record.get("ratings")
        if not isinstance(ratings, list) or not ratings:
            raise BadItem(
                f"ratings is {name_type(ratings) if ratings != [] else 'an empty list'}; a list is wanted"
            )
        return tuple(self.read_rating(rating) for rating in ratings)

    def read_rating(self, rating: object) -> Rating | None:
        """Take one rating. Raises BadItem."""
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
            raise BadItem(f"ratings holds {name_type(rating)}; {wanted} are wanted")
        return f"text {rating}" if isinstance(rating, str) else f"bool {rating}"

    def tally(self, rule: str) -> RatingTally:
        """Make an empty tally."""
        return RatingTally(self.level)

    def score_item(self, item: tuple[Rating | None, ...], rule: str) -> Score:
        """Tell whether an item has ratings to compare."""
        return SKIPPED if len(item) - item.count(None) < 2 else SCORED


@dataclass
class RatingTally(Tally[tuple[Rating | None, ...]]):
    """Items by kind."""

    level: str
    items: list[tuple[Rating | None, ...] | None] = field(default_factory=list)

    def add(self, item: tuple[Rating | None, ...], score: Score) -> None:
        """Keep one item's ratings."""
        self.items.append(item if score.state == "scored" else None)

    def sample(self) -> RatingSample:
        """Give the scored items; alike ones are put together."""
        kinds = Counter(item for item in self.items if item is not None)
        values = sorted({rating for item in kinds for rating in item if rating is not None}, key=order_rating)
        places = {value: n for n, value in enumerate(values)}
        ordered = sorted(kinds, key=lambda item: [-1 if each is None else places[each] for each in item])
        tables = np.zeros((len(ordered), len(values)))
        for row, item in enumerate(ordered):
            for rating in item:
                if rating is not None:
                    tables[row, places[rating]] += 1
        counts = np.array([kinds[item] for item in ordered], dtype=np.int64)
        codes = [[-1 if each is None else places[each] for each in item] for item in ordered]
        two = bool(codes) and all(len(item) == 2 for item in codes)
        pairs = np.array(codes, dtype=np.int64).reshape(-1, 2) if two else None
        scale = np.array([each for each in values if isinstance(each, float)])
        return RatingSample(self.level, counts, tables, scale, pairs)

    def item_values(self) -> Iterator[dict[str, Any]]:
        """Tell for each item whether its ratings are unanimous."""
        for item in self.items:
            yield {"unanimous": None if item is None else int(len({*item} - {None}) == 1)}


def order_rating(rating: Rating) -> tuple[bool, Rating]:
    """Order numbers before texts."""
    return isinstance(rating, str), rating


@dataclass(frozen=True)
class RatingSample:
    """Items by kind. ratings: how often each value was given, shape (kinds, values); values are in order.

    pairs: the values' numbers by two raters, or None where there are not two.
    """

    level: str
    counts: IntArray
    ratings: FloatArray
    values: FloatArray
    pairs: IntArray | None

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute the figures for weighted items."""
        unanimous = (self.ratings > 0).sum(axis=1) == 1
        return {
            "unanimous": divide(weights @ unanimous, weights.sum(axis=1)),
            "krippendorff": self.compute_alpha(weights),
            "kappa": self.compute_kappa(weights),
        }

    def compute_alpha(self, weights: FloatArray) -> FloatArray:
        """Give alpha, shape (draws,): observed over expected disagreement of pairable ratings.

        For a unit with m ratings and for all n ratings together, the sum of delta over ordered pairs is
        2 (m sum g^2 - (sum g)^2), where delta(a, b) = (g_a - g_b)^2: g is the value at level interval, and
        its mid-rank among all ratings at level ordinal. At level nominal it is m^2 - sum of squared counts.
        """
        totals = weights @ self.ratings
        sizes, n = self.ratings.sum(axis=1), totals.sum(axis=1)
        if self.level == "nominal":
            observed = weights @ divide(sizes**2 - (self.ratings**2).sum(axis=1), sizes - 1)
            expected = divide(n**2 - (totals**2).sum(axis=1), n - 1)
        else:
            grades = self.grade(totals)
            squares, sums = grades**2 @ self.ratings.T, grades @ self.ratings.T
            within = divide(2 * (sizes * squares - sums**2), np.broadcast_to(sizes - 1, squares.shape))
            observed = (weights * within).sum(axis=1)
            all_squares, all_sums = (totals * grades**2).sum(axis=1), (totals * grades).sum(axis=1)
            expected = divide(2 * (n * all_squares - all_sums**2), n - 1)
        several = (totals > 0).sum(axis=1) > 1
        return 1 - divide(observed, np.where(several, expected, 0.0))

    def grade(self, totals: FloatArray) -> FloatArray:
        """Give each value's place on the scale, shape (draws, values), centred to keep rounding small."""
        if self.level == "interval":
            grades = np.broadcast_to(self.values, totals.shape)
        else:
            grades = np.cumsum(totals, axis=1) - totals / 2
        return grades - divide((grades * totals).sum(axis=1), totals.sum(axis=1))[:, np.newaxis]

    def compute_kappa(self, weights: FloatArray) -> FloatArray:
        """Give Cohen's kappa = (p_o - p_e) / (1 - p_e), shape (draws,); NaN unless there are two raters."""
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
        certain = sum(
            ((weights @ ((first == value) & (second == value)) == n) for value in values),
            start=np.zeros(len(weights), dtype=bool),
        )
        return divide(agreed - chance, np.where(certain, 0.0, 1 - chance))
