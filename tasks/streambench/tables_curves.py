"""Declare tables of learning curves: steps to reach an accuracy, regret, and memory size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.declared import Measure, Slice, Table, Where
from tasks.reports.tables import Cell, FigureTable
from tasks.streambench.measures import NOT_RUN, leave_out
from tasks.streambench.score.curves import CurvePoint
from tasks.streambench.scored_steps import ZERO_SHOT, StreamRuns, StreamSystem
from tasks.streambench.tables import BY_MODEL

# Accuracies for which the table shows the number of steps.
LEVELS = (0.25, 0.5, 0.75, 0.9)
SLACK = 1e-9
"""Tolerance for rounding errors in comparisons of means."""
Points = Sequence[CurvePoint]


def tabulate_curves(runs: StreamRuns, curves: Iterable[CurvePoint]) -> dict[str, FigureTable]:
    """Return the tables from the curves, by key."""
    points = sorted(curves, key=lambda point: point.position)
    return {
        "times": declare_times(runs, points).fill(points),
        "regrets": declare_regrets(runs, points).fill(points),
    }


def slice_points(runs: StreamRuns) -> Sequence[Slice[CurvePoint]]:
    """Return a row for the curve of each system."""
    return [Slice((system.models, system.title), _is_of(system)) for system in runs.systems]


def _is_of(system: StreamSystem) -> Callable[[CurvePoint], bool]:
    label, agents = system.choice.label, system.agents
    return lambda point: point.method == label and point.agents == agents


def declare_times(runs: StreamRuns, points: Points) -> Table[CurvePoint]:
    """Declare the table of steps needed to reach fixed accuracies and Zero-Shot's final accuracy."""
    ends = {point.agents: point.accuracy for point in points if point.method == ZERO_SHOT}

    def fill_end(curve: Points, where: Where) -> Cell:
        if curve and curve[0].method == ZERO_SHOT:
            return leave_out("the method with which the others are compared")
        if curve and len(curve[0].agents) > 1:
            return leave_out("defined only for methods with one model")
        return show_time(curve, ends.get(curve[0].agents) if curve else None)

    levels = tuple(_measure_time(level) for level in LEVELS)
    end = Measure[CurvePoint]("final accuracy of Zero-Shot", fill_end, leave_out, "count")
    note = (
        "The table shows the first step from which the running share of correct steps, averaged over seeds, "
        "stays at or above the given accuracy."
    )
    title = "Steps to reach a given accuracy"
    return Table("", title, BY_MODEL, slice_points(runs), (*levels, end), notes=(note,))


def _measure_time(level: float) -> Measure[CurvePoint]:
    return Measure(f"{level:.0%}", lambda curve, where: show_time(curve, level), leave_out, "count")


def show_time(curve: Points, level: float | None) -> Cell:
    """Return a cell with the first step from which a curve stays at or above a level."""
    if not curve or level is None:
        return leave_out(NOT_RUN)
    point = find_time(curve, level)
    rows = (Selection("curves", {"method": curve[0].method}),)
    derivation = Derivation("steps to an accuracy", rows, "accuracy")
    if point is None:
        why = f"not reached: {100 * curve[-1].accuracy:.1f}% at the end"
        return Cell(None, curve[-1].seeds, 0, None, "seeds", why, derivation)
    return Cell(point.position, point.seeds, 0, None, "seeds", "", derivation)


def find_time(curve: Points, level: float) -> CurvePoint | None:
    """Return the first point from which the cumulative accuracy stays at or above a level."""
    reached = None
    for point in reversed(curve):
        if point.accuracy < level - SLACK:
            break
        reached = point
    return reached


def declare_regrets(runs: StreamRuns, points: Points) -> Table[CurvePoint]:
    """Declare the table of regret and memory size in the middle and at the end of the stream."""
    note = (
        "Regret is the number of correct steps by which a method trails the best run with the same seed, "
        "averaged over seeds. The best run is the run with the highest final accuracy, so another method "
        "can be ahead of it before the end. “Memory” is the number of entries that a method has stored."
    )
    measures = (
        _measure_point("regret halfway", "regret", at_half=True),
        _measure_point("regret at the end", "regret"),
        _measure_point("memory halfway", "memory_size", at_half=True),
        _measure_point("memory at the end", "memory_size"),
    )
    title = "Regret compared with the best method, and memory"
    rows = [row for row in slice_points(runs) if row.choose(points)]
    return Table("", title, BY_MODEL, rows, measures, notes=(note,))


def _measure_point(name: str, column: str, *, at_half: bool = False) -> Measure[CurvePoint]:
    def fill(curve: Points, where: Where) -> Cell:
        point = curve[max(len(curve) // 2 - 1, 0)] if at_half else curve[-1]
        derivation = Derivation("mean", (Selection("curves", {"id": point.id}),), column)
        value = point.regret if column == "regret" else point.memory_size
        return Cell(value, point.seeds, 0, None, "seeds", basis=derivation)

    return Measure(name, fill, leave_out, "mean")
