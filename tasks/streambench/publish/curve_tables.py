"""Tables read off the curves: time to an accuracy, regret against the best method, size of the memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.streambench.publish.curves import CurvePoint
from tasks.streambench.publish.stream_cells import (
    NOT_RUN,
    StreamCell,
    StreamLine,
    StreamTable,
    leave_out,
    show_point,
)
from tasks.streambench.publish.stream_runs import ZERO_SHOT, StreamRuns, StreamSystem

LEVELS = (0.25, 0.5, 0.75, 0.9)
Curves = Mapping[tuple[str, tuple[str, ...]], Sequence[CurvePoint]]
SLACK = 1e-9
"""Below which two means of scores are the same, so that a mean's rounding does not decide."""


def group_curves(points: Iterable[CurvePoint]) -> Curves:
    """Group points by method and models, each in the order of the stream."""
    groups: defaultdict[tuple[str, tuple[str, ...]], list[CurvePoint]] = defaultdict(list)
    for point in sorted(points, key=lambda point: point.position):
        groups[point.method, point.agents].append(point)
    return groups


def find_curve(curves: Curves, system: StreamSystem) -> Sequence[CurvePoint]:
    """Find the curve of a system; empty if there is none."""
    return curves.get((system.choice.label, system.agents), ())


def find_time(curve: Sequence[CurvePoint], level: float) -> CurvePoint | None:
    """Find the first step from which on the accuracy so far never is below a level again."""
    reached = None
    for point in reversed(curve):
        if point.accuracy < level - SLACK:
            break
        reached = point
    return reached


def tabulate_times(runs: StreamRuns, curves: Curves) -> StreamTable:
    """Make the table of the steps that methods need for an accuracy."""
    lines = []
    for system in runs.systems:
        curve = find_curve(curves, system)
        cells = [_show_time(curve, level) for level in LEVELS]
        if system.shared or system.choice.method == ZERO_SHOT:
            cells.append(leave_out("of one model's methods"))
        else:
            cells.append(_show_time(curve, _find_end(runs, curves, system.agents[0])))
        lines.append(StreamLine((system.models, system.title), tuple(cells)))
    return StreamTable(
        "",
        "Steps to a given accuracy",
        ("count",),
        ("model", "method"),
        (*(f"{100 * level:.0f}%" for level in LEVELS), "Zero-Shot's at the end"),
        tuple(lines),
        (
            "The first step from which on the share of right steps so far, averaged over seeds, never falls "
            "below the accuracy again.",
        ),
    )


def tabulate_regrets(runs: StreamRuns, curves: Curves) -> StreamTable:
    """Make the table of regret and memory, at half of the stream and at its end."""
    lines = []
    for system in runs.systems:
        curve = find_curve(curves, system)
        if not curve:
            continue
        half, end = curve[max(len(curve) // 2 - 1, 0)], curve[-1]
        cells = (
            show_point(half, "regret", half.regret),
            show_point(end, "regret", end.regret),
            show_point(half, "memory_size", half.memory_size),
            show_point(end, "memory_size", end.memory_size),
        )
        lines.append(StreamLine((system.models, system.title), cells))
    return StreamTable(
        "",
        "Regret against the best method, and memory",
        ("mean",),
        ("model", "method"),
        ("regret at half", "regret at the end", "memory at half", "memory at the end"),
        tuple(lines),
        (
            "Regret: how many more steps the best run of the same seed had right by then, averaged over "
            "seeds. The best is the one that ends highest; before its end it can lie behind. Memory: "
            "entries.",
        ),
    )


def _find_end(runs: StreamRuns, curves: Curves, model: str) -> float | None:
    for system in runs.select(method=ZERO_SHOT, model=model):
        curve = find_curve(curves, system)
        if curve:
            return curve[-1].accuracy
    return None


def _show_time(curve: Sequence[CurvePoint], level: float | None) -> StreamCell:
    if not curve or level is None:
        return leave_out(NOT_RUN)
    point = find_time(curve, level)
    basis = Derivation(
        "steps to an accuracy", (Selection("curves", {"method": curve[0].method}),), "accuracy"
    )
    if point is None:
        why = f"not reached: {100 * curve[-1].accuracy:.1f}% at the end"
        return StreamCell(None, curve[-1].seeds, 0, 0, None, "seeds", why, basis)
    return StreamCell(point.position, point.seeds, 0, 0, None, "seeds", "", basis)
