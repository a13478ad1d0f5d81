"""Cells and tables of an evaluation's figures: a value, what it is over, and the rows it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.scoring.statistics import Interval, compare_paired, find_wilson_interval
from tasks.streambench.publish.curves import CurvePoint
from tasks.streambench.publish.stream_runs import ScoredStep, list_run_names

STEPS = "steps"
NOT_RUN = "not run"


@dataclass(frozen=True)
class StreamCell:
    """One figure."""

    value: int | float | None
    """None if it is not defined; then `why` says the reason."""
    n: int
    """How many the value is over."""
    failed: int
    """How many of them have no answer: they count as wrong."""
    unjudged: int
    """How many of them have no verdict: they count as wrong, too."""
    interval: Interval | None
    """95%; None where none is given."""
    of: str
    """What n counts."""
    why: str = ""
    basis: Derivation | None = None


@dataclass(frozen=True)
class StreamLine:
    """One line of a table. label: as many texts as the table has heads."""

    label: tuple[str, ...]
    cells: tuple[StreamCell, ...]


@dataclass(frozen=True)
class StreamTable:
    """A table of the report.

    number: the paper's, empty where it has none. form: how values are shown: `share` (x100), `count`, or a
    form for each column. heads: names of the label columns.
    """

    number: str
    title: str
    form: tuple[str, ...]
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[StreamLine, ...]
    notes: tuple[str, ...] = ()


def leave_out(why: str, of: str = STEPS) -> StreamCell:
    """Make a cell without a value."""
    return StreamCell(None, 0, 0, 0, None, of, why)


def rate_right(steps: Sequence[ScoredStep], part: str = "") -> StreamCell:
    """Compute the share of right steps, 0 to 1, over one run or several of equal length.

    Failed and unjudged steps count as wrong. The interval is Wilson's for one run; over several runs items
    are drawn whole, since an item's steps are not independent. part: what the steps are of their runs, if not
    all of them.
    """
    if not steps:
        return leave_out("no step")
    scores = [one.score.score for one in steps]
    runs = list_run_names(steps)
    if len(runs) == 1:
        interval = find_wilson_interval(sum(map(int, scores)), len(scores))
    else:
        drawn = compare_paired(scores, [0.0] * len(scores), [one.step.item for one in steps])
        interval = drawn.low, drawn.high
    measure = f"mean over {part}" if part else "mean"
    return count_steps(fmean(scores), steps, interval, derive(measure, runs, "score"))


def count_steps(
    value: float | None,
    steps: Sequence[ScoredStep],
    interval: Interval | None = None,
    basis: Derivation | None = None,
    why: str = "",
) -> StreamCell:
    """Make a cell of a figure over some steps."""
    failed, unjudged = sum(one.failed for one in steps), sum(one.unjudged for one in steps)
    return StreamCell(value, len(steps), failed, unjudged, interval, STEPS, why, basis)


def average_runs(steps: Sequence[ScoredStep], column: str, read: Callable[[ScoredStep], int]) -> StreamCell:
    """Average the sums of a column of `scores` over runs."""
    if not steps:
        return leave_out("no step")
    runs = list_run_names(steps)
    total = sum(map(read, steps))
    measure = "sum" if len(runs) == 1 else "mean of the runs' sums"
    return count_steps(
        total if len(runs) == 1 else total / len(runs), steps, None, derive(measure, runs, column)
    )


def average_steps(steps: Sequence[ScoredStep], column: str, read: Callable[[ScoredStep], int]) -> StreamCell:
    """Average a column of `scores` over steps."""
    if not steps:
        return leave_out("no step")
    mean = fsum(map(read, steps)) / len(steps)
    return count_steps(mean, steps, None, derive("mean", list_run_names(steps), column))


def derive(measure: str, runs: Iterable[str], column: str) -> Derivation:
    """Name the scores of runs as what a figure was computed from."""
    return Derivation(measure, tuple(Selection("scores", {"run": run}) for run in runs), column)


def show_point(point: CurvePoint, column: str, value: float, why: str = "") -> StreamCell:
    """Make a cell of one value of a curve's point."""
    basis = Derivation("mean", (Selection("curves", {"id": point.id}),), column)
    return StreamCell(value, point.seeds, 0, 0, None, "seeds", why, basis)
