"""The interface of metrics: read a record, score an item by a rule, accumulate scores to figures."""

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
"""An item's own scores, as `--items` writes them: figure -> score, or nested figures."""


@dataclass(frozen=True, slots=True)
class Score:
    """An item's score under one rule.

    values: its scores by the figures' names; None if a figure leaves this item out.
    outcome: a word for `--items`, if the metric defines outcomes.
    """

    values: Mapping[str, float | None]
    state: State = "scored"
    outcome: str | None = None


FAILED = Score({}, "failed")
SKIPPED = Score({}, "skipped")


class Sample(Protocol):
    """The scored units of one rule, equal ones merged into kinds, so that line order cannot matter."""

    @property
    def counts(self) -> IntArray:
        """The number of units of each kind; shape (kinds,)."""

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute figures for weights of shape (draws, kinds); each (draws,), NaN for a zero denominator.

        A dot in a name nests it in the report. Names and their order are the same for all weights.
        """


class Accumulator(ABC, Generic[ItemT]):
    """Collects the scores of one rule, in the order of the items."""

    @abstractmethod
    def add(self, item: ItemT, score: Score) -> None:
        """Add one item's score."""

    @abstractmethod
    def sample(self) -> Sample:
        """Return the scored units."""

    @abstractmethod
    def item_values(self) -> Iterator[ItemValues]:
        """Yield every item's scores by the figures' names, in order; None for a score it does not have."""


class Metric(ABC, Generic[ItemT]):
    """A metric; subclasses are frozen dataclasses whose fields are the metric's options.

    rules: their names, the default first; empty if there is only one.
    own_scale: figures that are not fractions, which the table prints as they are.
    columns: the fields of an item that a CSV or Parquet file must have as columns.
    texts: the fields whose cells in a CSV are text as they stand; other cells that are JSON are read as JSON.
    """

    name: ClassVar[str]
    rules: ClassVar[tuple[str, ...]] = ()
    own_scale: ClassVar[frozenset[str]] = frozenset()
    columns: ClassVar[tuple[str, ...]] = ("id", "gold", "prediction")
    texts: ClassVar[frozenset[str]] = frozenset({"id", "gold", "prediction"})

    @abstractmethod
    def read(self, record: Record) -> ItemT:
        """Read an item from a record. Raises BadItem for a wrong type; predictions may be null."""

    @abstractmethod
    def make_accumulator(self, rule: str) -> Accumulator[ItemT]:
        """Make an empty accumulator for a rule."""

    def score_item(self, item: ItemT, rule: str) -> Score:
        """Score one item by one rule."""
        raise NotImplementedError(f"{self.name} scores streams, not single items")

    def score(
        self, items: Iterable[ItemT], rules: Sequence[str]
    ) -> Iterator[tuple[ItemT, tuple[Score, ...]]]:
        """Score a stream in its order; yield each item with its scores, one per rule."""
        for item in items:
            yield item, tuple([self.score_item(item, rule) for rule in rules])


class MeanAccumulator(Accumulator[Any]):
    """Accumulates figures that are means over the scored items (ignoring None) or, if `counted`, sums."""

    def __init__(self, names: Sequence[str], counted: Iterable[str] = ()) -> None:
        self.names = tuple(names)
        self.counted = frozenset(counted)
        self.columns = [array("d") for _ in self.names]
        self.scored = array("b")

    def add(self, item: Any, score: Score) -> None:
        """Add one item's score."""
        self.scored.append(score.state == "scored")
        for name, column in zip(self.names, self.columns, strict=True):
            value = score.values.get(name)
            column.append(NAN if value is None else value)

    def sample(self) -> MeanSample:
        """Return the scored items."""
        rows = np.array(self.columns, dtype=np.float64).T[np.asarray(self.scored, dtype=bool)]
        return MeanSample.gather(self.names, self.counted, rows)

    def item_values(self) -> Iterator[ItemValues]:
        """Yield every item's scores."""
        for values in zip(*self.columns, strict=True):
            yield {
                name: None if value != value else to_plain_number(value)
                for name, value in zip(self.names, values, strict=True)
            }


@dataclass(frozen=True)
class MeanSample:
    """Distinct rows of scores. rows: shape (kinds, names), NaN if a figure leaves the item out."""

    names: tuple[str, ...]
    counted: frozenset[str]
    rows: FloatArray
    counts: IntArray

    @classmethod
    def gather(cls, names: tuple[str, ...], counted: frozenset[str], rows: FloatArray) -> MeanSample:
        """Merge equal rows."""
        kinds, counts = count_kinds(rows)
        return cls(names, counted, kinds, counts)

    def denominators(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Mark the rows in each mean's denominator; shape (kinds,)."""
        return {
            name: ~np.isnan(self.rows[:, n]) for n, name in enumerate(self.names) if name not in self.counted
        }

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute the means and counts."""
        defined = ~np.isnan(self.rows)
        sums = weights @ np.where(defined, self.rows, 0.0)
        sizes = weights @ defined.astype(np.float64)
        return {
            name: sums[:, n] if name in self.counted else divide(sums[:, n], sizes[:, n])
            for n, name in enumerate(self.names)
        }


def count_kinds(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """Merge equal rows (NaN equals NaN); return the sorted distinct rows and their counts.

    rows: shape (n, columns).
    """
    if not len(rows):
        return rows, np.zeros(0, dtype=np.int64)
    ordered = rows[np.lexsort(rows.T[::-1])]
    before, after = ordered[:-1], ordered[1:]
    same = ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def divide(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide; a zero denominator gives NaN, which reports show as null."""
    quotient = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=quotient, where=below != 0)
    return quotient


def to_plain_number(value: float) -> float | int:
    """Return a whole float as an integer: 1 rather than 1.0."""
    return int(value) if value == int(value) else value
