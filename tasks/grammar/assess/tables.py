"""The paper's tables 1 to 4 as cells, each with its rule, its mode and its number, or why it has no value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.grammar.assess.judged import MODES, RULES, JudgedRow, Mode, measure, shows_retrieval
from tasks.grammar.assessment_rows import Baseline, ClosedDomain
from tasks.scoring.running import Bootstrap
from tasks.scoring.statistics import find_wilson_interval

JUDGEMENT = "judgement"


@dataclass(frozen=True)
class Cell:
    """A figure. n: rows (or what `of` says) that it is over. why: why there is no value."""

    value: float | int | None
    n: int = 0
    rule: str = ""
    mode: str = ""
    interval: tuple[float, float] | None = None
    of: str = "rows"
    why: str = ""


@dataclass(frozen=True)
class Line:
    """A row of a table: what it is called, and a cell a column."""

    label: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """One table. notes: what must be read beside it."""

    number: int
    title: str
    heads: tuple[str, ...]
    """Of the labels."""
    columns: tuple[str, ...]
    lines: tuple[Line, ...] = field(default_factory=tuple)
    notes: tuple[str, ...] = ()


def compare_baselines(baselines: Sequence[Baseline], judgements: Mapping[str, str | None]) -> Table:
    """Table 1: each reference-free method's precision and recall against the judgement.

    judgements: answer's id -> label. Precision: of the answers that the method calls correct, those that the
    judge does; recall: of those that the judge calls Correct, those that the method does. Intervals are
    Wilson's. An answer that either leaves unscored is left out, and counted.
    """
    lines = []
    for method in sorted({baseline.method for baseline in baselines}):
        own = [baseline for baseline in baselines if baseline.method == method]
        pairs = [
            (baseline.verdict == "correct", judgement == "Correct")
            for baseline in own
            if baseline.verdict is not None and (judgement := judgements.get(baseline.answer)) is not None
        ]
        both = sum(said and right for said, right in pairs)
        said, right = (sum(column) for column in zip(*pairs, strict=True)) if pairs else (0, 0)
        left_out = len(own) - len(pairs)
        lines.append(
            Line(
                (method.replace("_", " "),),
                (
                    _share(
                        both, said, "answers that it calls correct", f"it calls none of {len(pairs)} correct"
                    ),
                    _share(both, right, "answers judged Correct", f"none of {len(pairs)} is judged Correct"),
                    Cell(left_out, len(own), JUDGEMENT, of="answers tried"),
                ),
            )
        )
    untried = "No answer was tried: the assessment leaves the baselines out, or none was given."
    note = () if lines else (untried,)
    return Table(
        1,
        "Reference-free methods against the judgement",
        ("method",),
        ("precision", "recall", "left out, unscored"),
        tuple(lines),
        note,
    )


def _share(part: int, whole: int, of: str, why: str) -> Cell:
    if not whole:
        return Cell(None, 0, JUDGEMENT, "open", of=of, why=why)
    return Cell(part / whole, whole, JUDGEMENT, "open", find_wilson_interval(part, whole), of)


def count_dataset(counts: Mapping[str, Mapping[str, int]], criteria: Sequence[str]) -> Table:
    """Table 2: how much there is. counts: `whole` (the dataset), `asked` (the sample) -> what -> number."""
    columns = (
        "SQL templates",
        "SQL queries (groups)",
        "text templates",
        *(f"text queries, {criterion}" for criterion in criteria),
        *(f"balanced, {criterion}" for criterion in criteria),
    )
    names = {"whole": "the dataset", "asked": "asked in this assessment"}
    lines = tuple(
        Line((names[row],), tuple(Cell(counts[row][column], rule="count", of="") for column in columns))
        for row in ("whole", "asked")
    )
    return Table(2, "The dataset", ("",), columns, lines)


def compare_actions(rows: Sequence[JudgedRow], criteria: Sequence[str], intervals: Bootstrap) -> Table:
    """Table 3: rates per criterion, with gap groups left in, removed, or balanced; each criterion by itself.

    The first two are on the unbalanced set, the third on the balanced one. A group is tagged by the rows of
    the column's criterion alone, as in the paper.
    """
    own = {
        (name, criterion): [row for row in rows if row.criterion == criterion and row.is_in(name)]
        for name in ("unbalanced", "balanced")
        for criterion in criteria
    }
    figures = {(*key, mode): measure(part, mode, intervals) for key, part in own.items() for mode in MODES}
    actions = (
        ("no action", "unbalanced", "accuracy"),
        ("remove gap groups", "unbalanced", "robustness"),
        ("balance gap groups", "balanced", "accuracy"),
    )
    lines = tuple(
        Line(
            (action, rule if rule == JUDGEMENT else f"context comparison, {rule}", mode),
            tuple(
                read_cell(figures[name, criterion, mode], own[name, criterion], rule, mode, figure)
                for criterion in criteria
            ),
        )
        for action, name, figure in actions
        for rule in (JUDGEMENT, *RULES)
        for mode in MODES
    )
    return Table(
        3,
        "Rates per criterion",
        ("errors of the database", "errors of the model", "mode"),
        tuple(criteria),
        lines,
    )


def read_cell(
    figures: Mapping[str, Any], rows: Sequence[JudgedRow], rule: str, mode: Mode, figure: str
) -> Cell:
    """Take accuracy or robustness by a rule out of the metric's figures."""
    n = sum(row.judgement is not None for row in rows)
    at = figures if rule == JUDGEMENT else figures["context"][rule]
    value = None if at is None else at[figure]
    if value is None:
        return Cell(None, n, rule, mode, why=_explain(rows, n, rule))
    drawn = figures.get("ci", {})
    bounds = drawn if rule == JUDGEMENT else drawn.get("context", {}).get(rule)
    interval = bounds[figure] if bounds else None
    return Cell(value, n, rule, mode, tuple(interval) if interval else None)


def _explain(rows: Sequence[JudgedRow], scored: int, rule: str) -> str:
    if not rows:
        return "no such question was asked"
    if not scored:
        return "no row is scored"
    if rule != JUDGEMENT and not shows_retrieval(rows):
        return "the system retrieves nothing, or does not show it"
    if rule.startswith("gold") and any(row.true is None for row in rows if row.judgement is not None):
        return "the true documents of some row are not known"
    return "every scored row is in a gap group"


def compare_domains(
    rows: Sequence[JudgedRow], closed: Sequence[ClosedDomain] | None, intervals: Bootstrap, why: str = ""
) -> Table:
    """Table 4: rates over all groups, and over those of which a model alone answers nothing.

    closed: the groups of the run of the model alone; None, with `why`, where there is no such run.
    """
    kept = {group.id for group in closed or () if group.closed_domain}
    unscored = sum(group.closed_domain is None for group in closed or ())
    columns = ("retrieval_db_accuracy", "accuracy", "robustness")
    lines = []
    for label, part, reason in (
        ("with open-domain queries", rows, ""),
        (
            "without open-domain queries",
            [row for row in rows if row.group in kept],
            why or ("" if kept else "the model alone answers something of every group"),
        ),
    ):
        for mode in MODES:
            figures = measure(part, mode, intervals)
            cells = tuple(
                Cell(None, 0, JUDGEMENT, mode, why=reason)
                if reason
                else read_cell(figures, part, JUDGEMENT, mode, column)
                for column in columns
            )
            lines.append(Line((label, mode), cells))
    notes = (f"{unscored} groups have no scored row in the run of the model alone.",) if unscored else ()
    names = ("Acc_retrieval_db (Eq. 1)", "accuracy", "R (Eq. 2)")
    return Table(4, "With and without open-domain queries", ("queries", "mode"), names, tuple(lines), notes)
