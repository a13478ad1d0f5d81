"""Define the interface of metrics: read a record, score an item by a rule, aggregate scores into figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tasks.scoring.items import Record

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
State = Literal["scored", "failed", "skipped"]
ItemT = TypeVar("ItemT")
NAN = float("nan")
ItemValues = Mapping[str, object]
"""The scores of one item, as in a line of the `--items` file: figure -> score, or nested figures."""


@dataclass(frozen=True, slots=True)
class Score:
    """An item's score under one rule.

    `values`: name of a figure -> the item's score; None if the figure excludes this item. `outcome`: the
    outcome in the `--items` file; None if the metric defines no outcomes.
    """

    values: Mapping[str, float | None]
    state: State = "scored"
    outcome: str | None = None


FAILED = Score({}, "failed")
SKIPPED = Score({}, "skipped")


class Sample(Protocol):
    """The scored items of one rule. Equal items are merged into kinds, so that order has no effect."""

    @property
    def counts(self) -> IntArray:
        """The number of items of each kind; shape (kinds,)."""

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute the figures for each bootstrap draw; `weights` has shape (draws, kinds).

        Each figure has shape (draws,), with NaN for a zero denominator. A dot in a figure's name nests it in
        the report. The names and their order are the same for all weights.
        """


class Accumulator(ABC, Generic[ItemT]):
    """Collects the scores of one rule, in the order of the items."""

    @abstractmethod
    def add(self, item: ItemT, score: Score) -> None:
        """Add the score of one item."""

    @abstractmethod
    def sample(self) -> Sample:
        """Return a sample of the scored items."""

    @abstractmethod
    def item_values(self) -> Iterator[ItemValues]:
        """Yield each item's scores by figure name, in order; None for a missing score."""


class Metric(ABC, Generic[ItemT]):
    """A metric; subclasses are frozen dataclasses whose fields are the metric's options.

    `rules`: the names of the rules, the default first; empty if there is only one rule. `own_scale`: figures
    that are not fractions, and are therefore not printed as percentages. `columns`: the required columns of a
    CSV or Parquet file. `texts`: the fields whose CSV cells are plain text; other cells are parsed as JSON if
    they are valid JSON.
    """

    name: ClassVar[str]
    rules: ClassVar[tuple[str, ...]] = ()
    own_scale: ClassVar[frozenset[str]] = frozenset()
    columns: ClassVar[tuple[str, ...]] = ("id", "gold", "prediction")
    texts: ClassVar[frozenset[str]] = frozenset({"id", "gold", "prediction"})

    @abstractmethod
    def read(self, record: Record) -> ItemT:
        """Convert a record to an item; predictions may be null. Raises BadItem if a type is wrong."""

    @abstractmethod
    def make_accumulator(self, rule: str) -> Accumulator[ItemT]:
        """Return an empty accumulator for a rule."""

    def score_item(self, item: ItemT, rule: str) -> Score:
        """Score one item by one rule."""
        raise NotImplementedError(f"{self.name} scores streams, not single items")

    def score(
        self, items: Iterable[ItemT], rules: Sequence[str]
    ) -> Iterator[tuple[ItemT, tuple[Score, ...]]]:
        """Score a stream in order; yield each item with its scores, one per rule."""
        for item in items:
            yield item, tuple([self.score_item(item, rule) for rule in rules])


class MeanAccumulator(Accumulator[Any]):
    """Collects scores; the figures in `counted` are sums, all others are means that ignore None."""

    def __init__(self, names: Sequence[str], counted: Iterable[str] = ()) -> None:
        self.names = tuple(names)
        self.counted = frozenset(counted)
        self.columns = [array("d") for _ in self.names]
        self.scored = array("b")

    def add(self, item: Any, score: Score) -> None:
        """Add the score of one item."""
        self.scored.append(score.state == "scored")
        for name, column in zip(self.names, self.columns, strict=True):
            value = score.values.get(name)
            column.append(NAN if value is None else value)

    def sample(self) -> MeanSample:
        """Return the scored items; equal items are merged."""
        rows = np.array(self.columns, dtype=np.float64).T[np.asarray(self.scored, dtype=bool)]
        return MeanSample.gather(self.names, self.counted, rows)

    def item_values(self) -> Iterator[ItemValues]:
        """Yield each item's scores."""
        for values in zip(*self.columns, strict=True):
            yield {
                name: None if value != value else to_plain_number(value)
                for name, value in zip(self.names, values, strict=True)
            }


@dataclass(frozen=True)
class MeanSample:
    """Distinct rows of scores. `rows`: shape (kinds, names), with NaN if a figure excludes the item."""

    names: tuple[str, ...]
    counted: frozenset[str]
    rows: FloatArray
    counts: IntArray

    @classmethod
    def gather(cls, names: tuple[str, ...], counted: frozenset[str], rows: FloatArray) -> MeanSample:
        """Return a sample of rows of scores; equal rows are merged and counted."""
        kinds, counts = count_kinds(rows)
        return cls(names, counted, kinds, counts)

    def denominators(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Return, for each mean, which rows are in its denominator; shape (kinds,)."""
        return {
            name: ~np.isnan(self.rows[:, n]) for n, name in enumerate(self.names) if name not in self.counted
        }

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute the means and sums for each bootstrap draw; `weights` has shape (draws, kinds)."""
        defined = ~np.isnan(self.rows)
        sums = weights @ np.where(defined, self.rows, 0.0)
        sizes = weights @ defined.astype(np.float64)
        return {
            name: sums[:, n] if name in self.counted else divide(sums[:, n], sizes[:, n])
            for n, name in enumerate(self.names)
        }


def count_kinds(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """Merge equal rows (NaN equals NaN); return the sorted distinct rows and their counts.

    `rows`: shape (n, columns).
    """
    if not len(rows):
        return rows, np.zeros(0, dtype=np.int64)
    ordered = rows[np.lexsort(rows.T[::-1])]
    before, after = ordered[:-1], ordered[1:]
    same = ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def divide(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide two arrays elementwise; a zero denominator gives NaN, which is null in reports."""
    quotient = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=quotient, where=below != 0)
    return quotient


def to_plain_number(value: float) -> float | int:
    """Convert a whole float to an integer: 1 instead of 1.0."""
    return int(value) if value == int(value) else value
