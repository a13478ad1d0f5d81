"""Define the base class of verdict labels, each with a stored text, a displayed text and a score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class UnknownLabel(ValueError):
    """Raised for a text that is not the stored text of a label."""


class Label(StrEnum):
    """An enumeration of labels. In a subclass, define each member as (wire, shown, score).

    `wire`: the text in judges' replies and in artifacts; a member is equal to this text. `shown`: the text to
    display, by default `wire`. `score`: the label's value in a mean; None leaves the item unscored.
    """

    shown: str
    score: float | None

    def __new__(cls, wire: str, shown: str = "", score: float | None = None) -> Self:
        """Create a member from its stored text, displayed text and score."""
        member = str.__new__(cls, wire)
        member._value_ = wire
        member.shown = shown or wire
        member.score = score
        return member

    @classmethod
    def read(cls, word: str) -> Self:
        """Return the label whose stored text is `word`.

        Raises UnknownLabel, which lists all known labels, if there is no such label.
        """
        return cls(word)

    @classmethod
    def _missing_(cls, value: object) -> Self:
        known = ", ".join(member.value for member in cls)
        raise UnknownLabel(f"{value!r} is not a {cls.__name__} label: expected one of {known}")


@dataclass(frozen=True)
class LabelCounts:
    """Counts of items with and without a scored label. `total`: the sum of the scores."""

    scored: int
    unscored: int
    total: float

    @property
    def mean(self) -> float | None:
        """The mean score; None if no item is scored."""
        return self.total / self.scored if self.scored else None


def score_label(label: Label | None) -> float | None:
    """Return a label's score; None if the item has no label or the label has no score."""
    return None if label is None else label.score


def count_labels(labels: Iterable[Label | None]) -> LabelCounts:
    """Count labels with and without a score; None counts as unscored."""
    counts = Counter(map(score_label, labels))
    unscored = counts.pop(None, 0)
    return LabelCounts(
        counts.total(), unscored, sum(score * n for score, n in counts.items() if score is not None)
    )
