"""What a metric is: it reads a record, scores an item by a rule, and adds scores up to figures."""

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


@dataclass(frozen=True, slots=True)
class Score:
    """What one item came to under one rule.

    values: its own scores under the figures' names; None where a figure leaves this item out.
    outcome: a word for `--items`, where the metric names outcomes.
    """

    values: Mapping[str, float | None]
    state: State = "scored"
    outcome: str | None = None


FAILED = Score({}, "failed")
SKIPPED = Score({}, "skipped")


class Sample(Protocol):
    """The scored units of one rule, alike ones put together, so that line order cannot matter."""

    @property
    def counts(self) -> IntArray:
        """How many units there are of each kind; shape (kinds,)."""

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute figures for weights of shape (draws, kinds); each (draws,), NaN for a zero denominator.

        A dot in a name nests it in the report. Names and order are the same for all weights.
        """


class Tally(ABC, Generic[ItemT]):
    """Where the scores of one rule are kept, in the order of the items."""

    @abstractmethod
    def add(self, item: ItemT, score: Score) -> None:
        """Keep one item's score."""

    @abstractmethod
    def sample(self) -> Sample:
        """Give the scored units."""

    @abstractmethod
    def item_values(self) -> Iterator[dict[str, Any]]:
        """Give every item's own scores under the figures' names, in order; None where it has none."""


class Metric(ABC, Generic[ItemT]):
    """A metric; subclasses are frozen dataclasses whose fields are the metric's options.

    rules: by name, the default first; none where there is only one.
    own_scale: figures that are no fractions, so that the table prints them as they are.
    """

    name: ClassVar[str]
    rules: ClassVar[tuple[str, ...]] = ()
    own_scale: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def read(self, record: Record) -> ItemT:
        """Make an item of a record. Raises BadItem for a wrong type; a null prediction is no wrong type."""

    @abstractmethod
    def tally(self, rule: str) -> Tally[ItemT]:
        """Make an empty tally for a rule."""

    def score_item(self, item: ItemT, rule: str) -> Score:
        """Score one item by one rule."""
        raise NotImplementedError(f"{self.name} scores streams, not single items")

    def score(
        self, items: Iterable[ItemT], rules: Sequence[str]
    ) -> Iterator[tuple[ItemT, tuple[Score, ...]]]:
        """Score a stream, in its order: each item with its scores, one a rule."""
        for item in items:
            yield item, tuple([self.score_item(item, rule) for rule in rules])


class MeanTally(Tally[Any]):
    """Figures that are means over the scored items (without those where it is None) or counts of them."""

    def __init__(self, names: Sequence[str], counted: Iterable[str] = ()) -> None:
        self.names = tuple(names)
        self.counted = frozenset(counted)
        self.columns = [array("d") for _ in self.names]
        self.scored = array("b")

    def add(self, item: Any, score: Score) -> None:
        """Keep one item's score."""
        self.scored.append(score.state == "scored")
        for name, column in zip(self.names, self.columns, strict=True):
            value = score.values.get(name)
            column.append(NAN if value is None else value)

    def sample(self) -> MeanSample:
        """Give the scored items."""
        rows = np.array(self.columns, dtype=np.float64).T[np.asarray(self.scored, dtype=bool)]
        return MeanSample.gather(self.names, self.counted, rows)

    def item_values(self) -> Iterator[dict[str, Any]]:
        """Give every item's own scores."""
        for values in zip(*self.columns, strict=True):
            yield {
                name: None if value != value else round_whole(value)
                for name, value in zip(self.names, values, strict=True)
            }


@dataclass(frozen=True)
class MeanSample:
    """Distinct rows of scores. rows: shape (kinds, names), NaN where a figure leaves the item out."""

    names: tuple[str, ...]
    counted: frozenset[str]
    rows: FloatArray
    counts: IntArray

    @classmethod
    def gather(cls, names: tuple[str, ...], counted: frozenset[str], rows: FloatArray) -> MeanSample:
        """Put equal rows together."""
        kinds, counts = count_kinds(rows)
        return cls(names, counted, kinds, counts)

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
    """Put equal rows together (NaN equals NaN); the kinds come in sorted order. rows: shape (n, columns)."""
    if not len(rows):
        return rows, np.zeros(0, dtype=np.int64)
    ordered = rows[np.lexsort(rows.T[::-1])]
    before, after = ordered[:-1], ordered[1:]
    same = ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def divide(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide; a zero denominator gives NaN, which a report shows as null."""
    quotient = np.full(np.broadcast(above, below).shape, np.nan)
    np.divide(above, below, out=quotient, where=below != 0)
    return quotient


def round_whole(value: float) -> float | int:
    """Write 1 rather than 1.0."""
    return int(value) if value == int(value) else value
