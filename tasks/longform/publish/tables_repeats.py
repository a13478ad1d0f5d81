"""How far the judges stay with their verdicts when they are asked once more, and a warning if they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.classify import INTERPRETIVE, KINDS
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.judge_repeats import AGAIN, SWAPPED, JudgeRepeat, was_asked
from tasks.longform.judge.labels import ANSWER, STEPS, Verdict
from tasks.reports.figure_cells import (
    ROWS,
    FigureCell,
    FigureTable,
    Line,
    leave_empty,
    mean_cell,
    rate_cell,
)

TITLE = "The judges, asked once more"
WAYS: Mapping[str, str] = {AGAIN: "asked again, the same", SWAPPED: "order swapped, the same"}
TURNS: Mapping[str, str] = {AGAIN: "asked again", SWAPPED: "order swapped"}
STEP_NAMES: Mapping[str, str] = {"IP": "planning", "TE": "queries", "IS": "synthesis"}
DISTANCE = "order swapped, mean difference of scores"
ALL = "all"
NOBODY = "Not shown: no verdict was asked for once more (`longform.judge_repeats.items`)."
NOTES = (
    "The same: the share of verdicts that the judge gives again, of the first items by id, over all agents "
    "and models. Again: the same texts with another seed. Swapped: of match the answer before the reference; "
    "of steps the reviews in reverse, for the first meta-reviewer.",
    "Failed: without a verdict on either side, which is no agreement and no change. Above temperature 0 some "
    "verdicts change by chance, whatever the order.",
)


def tabulate_repeats(items: Iterable[LongformItem], repeats: Sequence[JudgeRepeat]) -> FigureTable:
    """Make the table: match by kind of item, and each step."""
    if not repeats:
        return FigureTable("repeats", TITLE, (), (), (), (NOBODY,))
    kinds = {item.id: item.kind for item in items}
    lines = []
    for part, kind in (*((ANSWER, kind) for kind in KINDS), *((step, ALL) for step in STEPS)):
        own = [row for row in repeats if row.part == part and kind in (ALL, kinds[row.item])]
        scores = part == ANSWER and kind == INTERPRETIVE
        of_kind = {} if kind == ALL else {"item": Selection("items", {"kind": kind})}
        rows = {way: Selection("judge_repeats", {"part": part, "way": way}, of_kind) for way in WAYS}
        rates = (_rate(own, way, part, rows[way]) for way in WAYS)
        lines.append(Line((part, kind), (*rates, _measure(own, scores, rows[SWAPPED]))))
    return FigureTable("repeats", TITLE, ("judged", "items"), (*WAYS.values(), DISTANCE), tuple(lines), NOTES)


def _rate(repeats: Sequence[JudgeRepeat], way: str, part: str, rows: Selection) -> FigureCell:
    if way == AGAIN and part != ANSWER:
        return leave_empty("steps are asked in the other order alone")
    made = [row for row in repeats if row.way == way]
    asked = [row for row in made if was_asked(row)]
    if made and not asked:
        return leave_empty(made[0].problem)
    same = [None if pair is None else pair[0] == pair[1] for pair in map(_pair, asked)]
    return rate_cell(same, basis=Derivation("share of verdicts that stay", (rows,)))


def _measure(repeats: Sequence[JudgeRepeat], scores: bool, rows: Selection) -> FigureCell:
    """Average how far a score is from the one before, over the swapped."""
    if not scores:
        return leave_empty("of scores only")
    pairs = [_pair(row) for row in repeats if row.way == SWAPPED]
    apart = [None if pair is None else _measure_distance(*pair) for pair in pairs]
    return mean_cell(apart, interval=True, basis=Derivation("mean distance of scores", (rows,)))


def _measure_distance(before: Verdict, after: Verdict) -> float | None:
    return None if before.score is None or after.score is None else abs(before.score - after.score)


def _pair(repeat: JudgeRepeat) -> tuple[Verdict, Verdict] | None:
    """Pair the verdicts; None where one of them is missing."""
    return None if repeat.before is None or repeat.verdict is None else (repeat.before, repeat.verdict)


def warn_changed(table: FigureTable, least: float, *, steps: bool) -> str:
    """Name the shares of a table that are below the least; empty if none is. steps: of the reviewer."""
    low = [
        f"{_name(*line.label)}, {TURNS[way]}: {_tell(cell)}"
        for line in table.lines
        if (line.label[0] != ANSWER) == steps
        for way, cell in zip(WAYS, line.cells, strict=False)
        if cell.value is not None and cell.value < least
    ]
    if not low:
        return ""
    return (
        f"Asked once more, it does not stay with its verdicts (wanted {100 * least:.1f}%): {'; '.join(low)}. "
        "What the order or the seed decides is not the answer's."
    )


def _name(part: str, kind: str) -> str:
    """Name a line where the table, with what it says of steps, is not beside it."""
    return f"{kind} answers" if part == ANSWER else f"{part} ({STEP_NAMES[part]})"


def _tell(cell: FigureCell) -> str:
    low, high = cell.interval or (0, 1)
    share = cell.value or 0
    return (
        f"{round(share * cell.n)} of {cell.n} {ROWS} the same ({100 * share:.1f}%, "
        f"95% interval {100 * low:.1f}% to {100 * high:.1f}%)"
    )
