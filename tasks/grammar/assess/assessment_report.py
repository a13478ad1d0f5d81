"""Stage: write an assessment's page: rates, module at fault, the paper's tables, every question."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tasks.artifacts.rows import Counts, Dropped
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.assess.assessment_figures import AssessmentFigures
from tasks.grammar.assess.assessment_parts import list_parts
from tasks.grammar.assess.assessment_record import (
    ALL,
    RATES,
    derive_rate,
    describe_fault,
    list_assessment_figures,
    list_charts,
)
from tasks.grammar.assess.baselines import BaselineVerdict
from tasks.grammar.assess.human_labels import make_form
from tasks.grammar.assess.judged import REQUIREMENTS
from tasks.grammar.assess.judgements import Judgement
from tasks.grammar.assess.view import join_questions, view_questions
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.statements import AnswerFacts
from tasks.judging.canaries import CanaryHealth
from tasks.judging.findings import show_rule
from tasks.reports.calls import read_calls
from tasks.reports.figures_file import read_figures
from tasks.reports.page import ASSESSMENTS, Headline, Page, SystemFigure
from tasks.reports.plurals import agree
from tasks.reports.report_page import Form, write_page
from tasks.reports.tables import Cell
from tasks.systems.contract import Document

FORM = "to_label.csv"
"""The CSV form for human labels, linked on the page."""
SUBTITLE = (
    "Each group asks one question in several phrasings. If a system answers only some phrasings of a "
    "question, it has the knowledge, but its retrieval or its model fails on the other phrasings."
)


def assessment_report(
    figures: Path,
    questions: list[AskedQuestion],
    documents: list[Document],
    answers: list[AssessedAnswer],
    judgements: list[Judgement],
    baselines: list[BaselineVerdict],
    human_labels_dropped: list[Dropped],
    answer_facts: list[AnswerFacts],
    answers_calls: Path,
    judgements_calls: Path,
    baselines_calls: Path,
    key: str,
    entry: AssessmentEntry,
    database: DatabaseEntry,
    out: Path,
    metrics: Path,
    bars: Path,
) -> Counts:
    """Write the page's folder.

    `figures` is the path of figures.json; every other argument is the artifact with the argument's name.
    """
    known = read_figures(figures, AssessmentFigures, "grammar.assessment")
    assessed = join_questions(questions, documents, answers, judgements, baselines, entry, answer_facts)
    database_title = database.title or database.name
    page = Page(
        section=ASSESSMENTS,
        flow="grammar",
        name=key,
        title=_make_title(database_title, entry),
        subtitle=SUBTITLE,
        headlines=_make_headlines(known),
        warnings=known.judge.warnings,
        finding=describe_fault(known),
        systems=_list_systems(known, database_title, entry),
    )
    about = [
        ("Database", database_title),
        ("System", f"{entry.system} (systems.{entry.system} in params.yaml)"),
        ("The model alone", entry.llm_only if entry.llm_only != key else "not compared"),
        ("Verdicts", _describe_verdicts(known)),
        ("Canaries (test cases with known verdicts)", _describe_canaries(known.judge.canaries)),
        ("Held-out canaries", _describe_canaries(known.judge.further_canaries)),
        ("Data licence", database.licence),
        ("Attribution", database.attribution),
    ]
    viewer = view_questions(
        assessed, questions, documents, known.fault, entry, answers_calls.with_name("answers.parquet")
    )
    unusable = [(dropped.reason, dropped.detail) for dropped in human_labels_dropped]
    keys = {call for row in assessed for call in row.calls}
    write_page(
        out,
        page,
        list_parts(known, assessed, viewer, FORM, unusable, about),
        calls=read_calls((answers_calls, judgements_calls, baselines_calls), keys),
        figures=list_assessment_figures(known),
        form=Form(FORM, _fill_form(questions, answers)),
        metrics=metrics,
        bars=bars,
        charts=list(list_charts(known)),
    )
    return Counts(len(questions), len(assessed), {})


def _fill_form(questions: Iterable[AskedQuestion], answers: Iterable[AssessedAnswer]) -> str:
    """Return the CSV form for human labels, with every answer that has a response."""
    asked = {question.id: question for question in questions}
    return make_form(
        [
            (answer.id, asked[answer.question].question, asked[answer.question].answer, answer.response)
            for answer in answers
            if answer.response is not None
        ]
    )


def _make_title(database: str, entry: AssessmentEntry) -> str:
    """Return the page's title, with the database, the system and the ablation.

    Two assessments of the same system may differ only in the ablation.
    """
    title = f"{database}: assessment of the system “{entry.system}”"
    if not entry.withheld:
        return title
    return f"{title}, with the documents of {entry.withheld.share:.0%} of the groups withheld"


def _list_rates(figures: AssessmentFigures) -> list[tuple[str, str, float, Cell]]:
    """List the defined headline rates, as (displayed name, paper's symbol, value, table cell)."""
    rates = figures.rates[figures.fault.set][figures.fault.mode][ALL]
    cells = [
        (words, symbol, rates.show(field, rates.n - rates.n_scored))
        for symbol, (words, field) in RATES.items()
    ]
    return [
        (words, symbol, float(cell.value), cell) for words, symbol, cell in cells if cell.value is not None
    ]


def _list_systems(figures: AssessmentFigures, dataset: str, entry: AssessmentEntry) -> list[SystemFigure]:
    fault = figures.fault
    withheld = (
        f", with the documents of {entry.withheld.share:.0%} of the groups withheld" if entry.withheld else ""
    )
    return [
        SystemFigure(
            entry.system,
            f"{dataset}{withheld}",
            words,
            symbol,
            value,
            cell.interval,
            cell.n,
            f"{cell.of}, {fault.set} set, {fault.mode} mode",
            cell.failed,
            derive_rate(ALL, symbol),
        )
        for words, symbol, value, cell in _list_rates(figures)
    ]


def _make_headlines(figures: AssessmentFigures) -> list[Headline]:
    fault, counts = figures.fault, figures.counts
    note = f"{fault.set} set, {fault.mode} mode"

    def show_count(label: str, count: int, note: str = "") -> Headline:
        return Headline(label, count, note, derive_rate(ALL, label))

    return [
        Headline("module at fault", figures.losses.module or "unknown", figures.losses.why),
        Headline(
            f"module at fault, {' versus '.join(figures.criteria)}",
            fault.module or "unknown",
            f"{note}, rule {fault.rule} ({REQUIREMENTS[fault.rule]})",
        ),
        *(
            Headline(
                words,
                value,
                f"{_describe_rows(cell)}{_explain_symbol(words, symbol)}{note}",
                derive_rate(ALL, symbol),
                cell.interval,
                symbol,
            )
            for words, symbol, value, cell in _list_rates(figures)
        ),
        show_count(
            "questions judged", counts.scored, f"of {counts.rows:,} asked; {counts.unscored:,} unscored"
        ),
        show_count("groups", counts.groups),
    ]


def _describe_rows(cell: Cell) -> str:
    """Describe a rate's denominator and interval, or why the rate has no interval."""
    told = (
        cell.why
        if cell.interval is None
        else f"95% interval {cell.interval[0]:.3f} to {cell.interval[1]:.3f}"
    )
    return f"{told}; {cell.n:,} {agree(cell.of, cell.n)}; "


def _explain_symbol(words: str, symbol: str) -> str:
    return f"{symbol} in the GRAMMAR paper; " if symbol != words else ""


def _describe_canaries(canaries: CanaryHealth | None) -> str:
    if canaries is None:
        return "the judge was not tested"
    right = canaries.n_scored - len(canaries.wrong)
    told = f"{right} of {canaries.n} judged correctly, {canaries.n_failed} replies could not be parsed"
    if not canaries.n_ruled:
        return told
    return (
        f"{told}; a rule decided {canaries.n_ruled} of the canaries, and without the rule the judge got "
        f"{canaries.judge_right} right"
    )


def _describe_verdicts(figures: AssessmentFigures) -> str:
    ruled = figures.judge.ruled
    asked = figures.counts.scored - sum(ruled.values())
    by_rule = ", ".join(f"{show_rule(rule)}: {count}" for rule, count in ruled.items())
    rules = f", {sum(ruled.values())} by rules ({by_rule})" if ruled else ""
    return f"{asked} by the judge{rules}, {figures.judge.unscored} unscored"
