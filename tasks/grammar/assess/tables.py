"""Build the paper's tables 1 to 4.

Every cell has a rule, a mode, and either a value or the reason for a missing value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tasks.grammar.assess.baselines import CONSISTENCY, BaselineLabel, BaselineVerdict
from tasks.grammar.assess.closed_domain import ClosedDomain
from tasks.grammar.assess.judged import (
    MODES,
    RULES,
    TEMPLATES,
    JudgedRow,
    Mode,
    RateReport,
    measure,
    shows_retrieval,
)
from tasks.lineage.selection import CellValue
from tasks.reports.declared import Measure, Table, Where, by
from tasks.reports.plurals import count_of
from tasks.reports.tables import Cell, FigureTable, Line, leave_empty
from tasks.scoring.correctness import Correctness
from tasks.scoring.label import score_label
from tasks.scoring.running import Bootstrap
from tasks.scoring.statistics import (
    LEAST,
    Interval,
    compare_outcomes,
    explain_missing,
    find_share_interval,
)

JUDGEMENT = "judgement"
"""The value of `rule` for rates that depend only on judgements, not on a context rule."""
WORDINGS = {"ours": "with our prompt", "concise": "with the paper's prompt, which asks for a concise answer"}
Figure = Literal["accuracy", "robustness", "retrieval_db_accuracy"]


def make_cell(
    value: float | None,
    n: int,
    mode: str = "",
    *,
    rule: str = JUDGEMENT,
    interval: Interval | None = None,
    of: str = "rows",
    why: str = "",
) -> Cell:
    """Make a cell with a figure, its rule and its mode."""
    return Cell(value, n, 0, interval, of, why, kind=", ".join(filter(None, (rule, mode))))


@dataclass(frozen=True)
class TriedAnswer:
    """An answer that a reference-free method judged: the method's verdict and the judgement."""

    method: str
    verdict: BaselineLabel | None
    judgement: Correctness | None


def count_agreement(tried: Sequence[TriedAnswer]) -> tuple[int, int, int, int]:
    """Count answers: all, correct per the method, correct per the judge, and correct per both.

    Only answers that both the method and the judge scored are counted.
    """
    pairs = [
        (answer.verdict is BaselineLabel.CORRECT, answer.judgement is Correctness.CORRECT)
        for answer in tried
        if None not in (score_label(answer.verdict), score_label(answer.judgement))
    ]
    said, judged = (sum(column) for column in zip(*pairs, strict=True)) if pairs else (0, 0)
    return len(pairs), said, judged, sum(said and right for said, right in pairs)


def measure_precision(tried: Sequence[TriedAnswer], where: Where) -> Cell:
    """Return the share of the method's accepted answers that are judged correct, with a Wilson interval."""
    n, said, _, both = count_agreement(tried)
    word = BaselineLabel.CORRECT.shown
    return _share(
        both,
        said,
        f"answers that the method judges {word}",
        f"the method judges no answer {word} (answers compared: {n})",
    )


def measure_recall(tried: Sequence[TriedAnswer], where: Where) -> Cell:
    """Return the share of the answers judged correct that the method accepts, with a Wilson interval."""
    n, _, judged, both = count_agreement(tried)
    word = Correctness.CORRECT.shown
    why = f"no answer is judged {word} (answers compared: {n})"
    return _share(both, judged, f"answers judged {word}", why)


def count_left_out(tried: Sequence[TriedAnswer], where: Where) -> Cell:
    """Make a cell with the number of answers that the method or the judge left unscored."""
    return make_cell(len(tried) - count_agreement(tried)[0], len(tried), of="answers")


METHOD_MEASURES = (
    Measure("precision", measure_precision, leave_empty),
    Measure("recall", measure_recall, leave_empty),
    Measure("unscored answers, left out", count_left_out, leave_empty),
)


def compare_baselines(
    baselines: Sequence[BaselineVerdict], judgements: Mapping[str, Correctness | None]
) -> FigureTable:
    """Make Table 1: precision and recall of each reference-free method, with the judgement as reference.

    `judgements` maps answer ids to judgements.
    """
    tried = [TriedAnswer(row.method, row.verdict, judgements.get(row.answer)) for row in baselines]
    methods: dict[CellValue, str] = {
        method: method.replace("_", " ") for method in sorted({row.method for row in tried})
    }
    untried = "No reference-free method ran: the baselines are turned off, or the system gave no answer."
    return Table(
        "1",
        "Reference-free methods compared with the reference-based verdicts",
        ("method",),
        by(lambda answer: answer.method, methods),
        METHOD_MEASURES,
        notes=(_count_samples(baselines) if methods else untried,),
    ).fill(tried)


def _count_samples(baselines: Sequence[BaselineVerdict]) -> str:
    samples = [part for row in baselines if row.method == CONSISTENCY for part in row.parts]
    equal = sum(bool(part.rule) for part in samples)
    return (
        f"Self-consistency: a rule found that {equal} of {len(samples)} samples are equal to the assessed "
        "answer. "
        "The judge compared the other samples with the assessed answer."
    )


def _share(part: int, whole: int, of: str, why: str) -> Cell:
    if not whole:
        return make_cell(None, 0, "open", of=of, why=why)
    interval, why = find_share_interval(part, whole, of)
    return make_cell(part / whole, whole, "open", interval=interval, of=of, why=why)


def count_dataset(counts: Mapping[str, Mapping[str, int]], criteria: Sequence[str]) -> FigureTable:
    """Make Table 2: the sizes of the dataset (`whole`) and of the sample (`asked`).

    `counts` maps `whole` and `asked` to the sizes by column.
    """
    columns = (
        "SQL templates",
        "SQL queries (groups)",
        "text templates",
        *(f"text queries, {criterion}" for criterion in criteria),
        *(f"balanced, {criterion}" for criterion in criteria),
    )
    names = {"whole": "the dataset", "asked": "asked in this assessment"}
    lines = tuple(
        Line(
            (names[row],), tuple(make_cell(counts[row][column], 0, rule="count", of="") for column in columns)
        )
        for row in ("whole", "asked")
    )
    return FigureTable("2", "The dataset", ("",), columns, lines)


def compare_actions(rows: Sequence[JudgedRow], criteria: Sequence[str], intervals: Bootstrap) -> FigureTable:
    """Make Table 3: rates per criterion for three actions on gap groups: keep, remove, or balance.

    The first two actions use the unbalanced set. The third action uses the balanced set. As in the paper, the
    group tags in a column depend only on questions with that column's criterion.
    """
    own = {
        (name, criterion): [row for row in rows if row.criterion == criterion and row.is_in(name)]
        for name in ("unbalanced", "balanced")
        for criterion in criteria
    }
    figures = {(*key, mode): measure(part, mode, intervals) for key, part in own.items() for mode in MODES}
    actions: tuple[tuple[str, str, Figure], ...] = (
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
    return FigureTable(
        "3",
        "Rates per criterion",
        ("handling of database errors", "handling of model errors", "mode"),
        tuple(criteria),
        lines,
        _explain_texts(own, criteria),
    )


def _explain_texts(
    own: Mapping[tuple[str, str], Sequence[JudgedRow]], criteria: Sequence[str]
) -> tuple[str, ...]:
    """Return a note on the criteria for which every group has only one text, so that robustness is always 1.

    Returns () if there is no such criterion.
    """
    single = [
        criterion
        for criterion in criteria
        if (rows := own["unbalanced", criterion]) and len({row.group for row in rows}) == len(rows)
    ]
    if not single:
        return ()
    named = " and ".join(single)
    return (
        f"For each of the criteria ({named}), every group has only one text. Every answer outside gap groups "
        "is correct. The rows “remove gap groups, judgement” are 1 by construction and do not measure the "
        "system.",
    )


def read_cell(figures: RateReport, rows: Sequence[JudgedRow], rule: str, mode: Mode, figure: Figure) -> Cell:
    """Make the cell for one rate. `rule` is `JUDGEMENT` or a context rule."""
    over = figures["over"][figure]
    if rule == JUDGEMENT:
        value, bounds = figures[figure], figures["ci"][figure] if "ci" in figures else None
    else:
        rates = figures["context"][rule]
        value = rates[figure] if rates else None
        intervals = figures["ci"]["context"].get(rule) if "ci" in figures else None
        bounds = intervals[figure] if intervals else None
    if value is None:
        scored = sum(row.scored for row in rows)
        return make_cell(None, over["n"], mode, rule=rule, of=over["of"], why=_explain(rows, scored, rule))
    return make_cell(
        float(value),
        over["n"],
        mode,
        rule=rule,
        interval=(bounds[0], bounds[1]) if bounds else None,
        of=over["of"],
        why="" if bounds else explain_missing(over["clusters"], TEMPLATES),
    )


def _explain(rows: Sequence[JudgedRow], scored: int, rule: str) -> str:
    if not rows:
        return "no question has this criterion"
    if not scored:
        return "no answer is scored"
    if rule != JUDGEMENT and not shows_retrieval(rows):
        return "the system retrieves no documents, or does not return them"
    if rule.startswith("gold") and any(row.true is None for row in rows if row.scored):
        return "the true documents of some questions are not known"
    return "every scored answer is in a gap group"


@dataclass(frozen=True)
class ModelAlone:
    """The name and the groups of an assessment, usually of a model without retrieval.

    If the assessed system may retrieve, its groups have no prompt wording.
    """

    name: str
    groups: Sequence[ClosedDomain]

    @property
    def wording(self) -> str:
        """The prompt wording of the model without retrieval; empty for any other system."""
        return next((group.wording for group in self.groups), "")

    @property
    def known(self) -> dict[str, bool]:
        """Whether the model answered at least one text correctly, by group id.

        Groups without a scored row are left out.
        """
        return {group.id: not group.closed_domain for group in self.groups if group.closed_domain is not None}


def compare_domains(
    rows: Sequence[JudgedRow],
    closed: Sequence[ClosedDomain] | None,
    intervals: Bootstrap,
    why: str,
    own: ModelAlone,
    other: ModelAlone | None,
) -> FigureTable:
    """Make Table 4: rates over all groups, and over the groups that a model without retrieval cannot answer.

    `closed` contains the assessed groups of the model without retrieval. If `closed` is None, `why` states
    the reason. `own` is this assessment, and `other` is the assessment that `llm_only` names. Each
    assessment of a model without retrieval gets a line with the model's prompt wording. If `own` and `other`
    both assess a model without retrieval, a note compares the groups that the models answer.
    """
    kept = {group.id for group in closed or () if group.closed_domain}
    unscored = sum(group.closed_domain is None for group in closed or ())
    columns: tuple[Figure, ...] = ("retrieval_db_accuracy", "accuracy", "robustness")
    lines = []
    for label, part, reason in (
        ("with open-domain queries", rows, ""),
        (
            "without open-domain queries",
            [row for row in rows if row.group in kept],
            why or ("" if kept else "the model alone answers at least one question in every group"),
        ),
    ):
        for mode in MODES:
            figures = measure(part, mode, intervals)
            cells = tuple(
                make_cell(None, 0, mode, why=reason)
                if reason
                else read_cell(figures, part, JUDGEMENT, mode, column)
                for column in columns
            )
            lines.append(Line((label, mode), cells))
    notes = (
        [f"The run of the model alone has no scored answer for {count_of(unscored, 'group')}."]
        if unscored
        else []
    )
    alone = [run for run in (own, other) if run is not None and run.wording]
    lines += [_describe_alone(run) for run in alone]
    if len(alone) == 2:
        notes.append(_compare_wordings(*alone))
    names = ("Acc_retrieval_db (Eq. 1)", "accuracy", "R (Eq. 2)")
    return FigureTable(
        "4", "With and without open-domain queries", ("queries", "mode"), names, tuple(lines), tuple(notes)
    )


def _describe_alone(run: ModelAlone) -> Line:
    """Make the table row for a model without retrieval, over all texts in both sets."""
    known = run.known
    correct, scored = (sum(getattr(group, name) for group in run.groups) for name in ("correct", "scored"))
    inside = sum(group.scored for group in run.groups if known.get(group.id))
    nothing = "the run of the model alone has no scored answer"
    cells = (
        _share(sum(known.values()), len(known), "groups", nothing),
        _rate(correct, scored, nothing),
        _rate(correct, inside, "the model alone answers no question correctly" if scored else nothing),
    )
    return Line((f"the model alone, {WORDINGS[run.wording]} ({run.name})", "open"), cells)


def _rate(part: int, whole: int, why: str) -> Cell:
    """Make a cell for a rate. The cell has no interval, because texts of a group are not independent."""
    return make_cell(part / whole if whole else None, whole, "open", why="" if whole else why)


def _compare_wordings(one: ModelAlone, other: ModelAlone) -> str:
    both = sorted({*one.known} & {*other.known})
    found = compare_outcomes([one.known[group] for group in both], [other.known[group] for group in both])
    few = f"no p-value: fewer than {LEAST} groups"
    told = few if found.p_value is None else f"McNemar's exact test: p = {found.p_value:.3g}"
    return (
        f"Both runs scored {count_of(len(both), 'group')}. Only {one.name} answers {found.only_a} of them, "
        f"and only {other.name} answers {found.only_b} ({told})."
    )
