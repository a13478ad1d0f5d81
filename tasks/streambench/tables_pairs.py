"""Methods compared in pairs over the same sequence: McNemar's exact test, a paired bootstrap, Holm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tasks.reports.tables import Cell, FigureTable, Line
from tasks.scoring.statistics import Interval, compare_outcomes, compare_paired, correct_holm
from tasks.streambench.measures import derive, leave_out, pair_steps
from tasks.streambench.scored_steps import StreamRuns, StreamSystem, list_run_names

COLUMNS = (
    "difference",
    "only the first right",
    "only the second right",
    "p, McNemar",
    "p, bootstrap",
    "p, Holm",
)
FORMS = ("difference", "count", "count", "p", "p", "p")
SEVERAL = "several seeds"
NOTE = (
    "Failed and unjudged: pairs of which either side is. "
    "Each seed's steps are paired by item. Over one seed McNemar's exact test decides; over several, an "
    "item's steps are not independent, and a paired bootstrap that draws items whole decides. Holm corrects "
    "the one that decides over all pairs of this table. The steps of a stream follow from each other: the "
    "tests take them for independent."
)


@dataclass(frozen=True)
class ComparedSystems:
    """Two systems of one model, compared. tested: the p value that decides; None where nothing is paired."""

    first: StreamSystem
    second: StreamSystem
    cells: tuple[Cell, ...]
    tested: float | None


def tabulate_pairs(runs: StreamRuns) -> dict[str, FigureTable]:
    """Make a table for each model, of its methods and those that it takes turns in."""
    tables = {}
    for model in runs.models:
        systems = runs.select(model=model, ablated=None)
        pairs = [compare_systems(runs, *pair) for pair in combinations(systems, 2)]
        lines = tuple(_make_line(pair) for pair in correct_pairs(pairs))
        title = f"Methods in pairs, {model}"
        tables[f"pairs-{model}"] = FigureTable("", title, ("first", "second"), COLUMNS, lines, (NOTE,), FORMS)
    return tables


def compare_systems(runs: StreamRuns, first: StreamSystem, second: StreamSystem) -> ComparedSystems:
    """Compare two systems over the seeds and items that both have; the corrected p value is yet to come."""
    pairs = pair_steps(runs.systems[first], runs.systems[second])
    if not pairs:
        return ComparedSystems(first, second, tuple(leave_out("no seed in common") for _ in COLUMNS), None)
    a, b = [one for one, _ in pairs], [other for _, other in pairs]
    items = [one.step.item for one in a]
    found = compare_paired([one.score.score for one in a], [one.score.score for one in b], items)
    single = len({one.step.seed for one in a}) == 1
    counted = compare_outcomes([one.step.bit for one in a], [one.step.bit for one in b])
    tested = counted.p_value if single else found.p_value
    names = [*list_run_names(a), *list_run_names(b)]

    def show(value: float, measure: str, interval: Interval | None = None) -> Cell:
        failed = sum(one.failed or other.failed for one, other in pairs)
        unjudged = sum(one.unjudged or other.unjudged for one, other in pairs)
        basis = derive(measure, names, "score")
        return Cell(value, len(pairs), failed, interval, "pairs", "", basis, unjudged)

    cells = (
        show(found.difference, "paired difference", (found.low, found.high)),
        show(counted.only_a, "right in the first alone"),
        show(counted.only_b, "right in the second alone"),
        show(counted.p_value, "McNemar's exact test") if single else leave_out(SEVERAL),
        show(found.p_value, "paired bootstrap"),
        show(tested, "Holm's correction"),
    )
    return ComparedSystems(first, second, cells, tested)


def correct_pairs(pairs: Sequence[ComparedSystems]) -> list[ComparedSystems]:
    """Put Holm's corrected p values into the last cells."""
    tested = [pair.tested for pair in pairs if pair.tested is not None]
    adjusted = iter(correct_holm(tested))
    return [
        pair
        if pair.tested is None
        else replace(pair, cells=(*pair.cells[:-1], replace(pair.cells[-1], value=next(adjusted))))
        for pair in pairs
    ]


def _make_line(pair: ComparedSystems) -> Line:
    return Line((_name(pair.first), _name(pair.second)), pair.cells)


def _name(system: StreamSystem) -> str:
    return f"{system.title} ({system.models})" if system.shared else system.title
