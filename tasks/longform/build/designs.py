"""Define the designs of questions: the compared groups and figures. No answer is a single number."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tasks.longform.build.foci import Focus, FocusMeasure, Quality

OPEN, BOTH, LEADER, WITHIN, MOST, TYPICAL = "open", "both", "leader", "within", "most", "typical"


@dataclass(frozen=True)
class FigureDesign:
    """A figure that a question needs: a statistic of a measure for each compared group."""

    kind: str
    """The statistic: `mean`, `median`, `highest`, `share`, or a kind of analysis figure from `kinds`.

    The `share` is the share of the first group's rows that are above the second group's mean.
    """
    measure: str
    """The id of the measure's column."""
    over: str = ""
    """The id of another measure; rows count only if this measure exceeds `threshold`.

    If empty, all rows count. In an analysis, `over` is the column that `measure` is related to.
    """
    threshold: float = 0


@dataclass(frozen=True)
class Chosen:
    """The figures of a question. quality: the abstract word of an open question; None for other designs."""

    figures: tuple[FigureDesign, ...]
    quality: Quality | None = None


@dataclass(frozen=True)
class Design:
    """A design of questions.

    groups: the number of groups that a question names. choose: the function that chooses the figures.
    """

    groups: int
    choose: Callable[[Focus, Counter[str], random.Random], Chosen | None]


def _take(focus: Focus, used: Counter[str], dice: random.Random, count: int) -> list[FocusMeasure]:
    """Return the `count` least used measures; empty if the focus has too few measures.

    Measures that are used equally often are in random order.
    """
    shuffled = dice.sample(focus.measures, len(focus.measures))
    taken = sorted(shuffled, key=lambda measure: used[measure.column])[:count]
    return taken if len(taken) == count else []


def _choose_means(focus: Focus, used: Counter[str], dice: random.Random) -> Chosen | None:
    taken = _take(focus, used, dice, 2)
    return Chosen(tuple(FigureDesign("mean", measure.column) for measure in taken)) if taken else None


def _choose_open(focus: Focus, used: Counter[str], dice: random.Random) -> Chosen | None:
    if not focus.qualities:
        return None
    quality = min(
        dice.sample(focus.qualities, len(focus.qualities)),
        key=lambda chosen: (used[chosen.words], *(used[name] for name in chosen.measures)),
    )
    means = tuple(FigureDesign("mean", name) for name in quality.measures)
    # A quality with three measures needs no further figure. With fewer measures, the highest value of the
    # first measure is added.
    further = () if len(means) > 2 else (FigureDesign("highest", quality.measures[0]),)
    return Chosen((*means, *further), quality)


def _choose_within(focus: Focus, used: Counter[str], dice: random.Random) -> Chosen | None:
    taken = _take(focus, used, dice, 2)
    if not taken:
        return None
    asked, over = taken
    return Chosen((FigureDesign("mean", asked.column), FigureDesign("mean", asked.column, over.column)))


def _choose_most(focus: Focus, used: Counter[str], dice: random.Random) -> Chosen | None:
    (one,) = _take(focus, used, dice, 1)
    return Chosen((FigureDesign("mean", one.column), FigureDesign("share", one.column)))


def _choose_typical(focus: Focus, used: Counter[str], dice: random.Random) -> Chosen | None:
    (one,) = _take(focus, used, dice, 1)
    return Chosen((FigureDesign("mean", one.column), FigureDesign("median", one.column)))


DESIGNS: Mapping[str, Design] = {
    OPEN: Design(2, _choose_open),
    BOTH: Design(2, _choose_means),
    MOST: Design(2, _choose_most),
    LEADER: Design(3, _choose_means),
    WITHIN: Design(2, _choose_within),
    TYPICAL: Design(2, _choose_typical),
}
"""The designs by name.

Questions cycle through the definite designs in this order; `control` inserts open questions.
"""
DEFINITE = tuple(name for name in DESIGNS if name != OPEN)
