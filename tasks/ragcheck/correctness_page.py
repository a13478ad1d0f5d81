"""Stage: the report page of Part I: figure 2, the judges' canaries, and a browser of all answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts, Dropped
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import HumanAlpha
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.answer_browser import AnswerBrowser, show_answers
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.baselines import MEASURES, BaselineSimilarity
from tasks.ragcheck.contexts import BY_REFERENCE, RULES, Context
from tasks.ragcheck.correlations import PEOPLE, MeasureCorrelation
from tasks.ragcheck.entries import Assessment, RatingScale
from tasks.ragcheck.grading import TOP_SCORE
from tasks.ragcheck.judge_report import JudgeReport, find_thresholds, report_judge
from tasks.ragcheck.page_parts import FORM, DropCount, count_drops, make_page, write_ragcheck_page
from tasks.ragcheck.page_record import group_correctness, list_answer_systems, tabulate_correctness
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.ratings import Rating, make_form
from tasks.ragcheck.rule_comparison import FIGURES, RuleDifference
from tasks.ragcheck.scores import JudgeScore
from tasks.reports.calls import derive_shown_calls, read_calls
from tasks.reports.folder import BrowsedRows, Form
from tasks.reports.page import Headline

SUBTITLE = (
    "How right a system's answers are: judged against the reference answer, with the passages that an answer "
    "was written from (E2) and those that question and reference retrieve together (E3), and held against "
    "people (E1)."
)


@dataclass(frozen=True)
class MeasureLine:
    """A measure's line in figure 2's table. top: the top of its scale."""

    label: str
    top: int
    row: MeasureCorrelation


@dataclass(frozen=True)
class MeasureTable:
    """Figure 2's table for one system and dataset; an empty dataset means all questions."""

    dataset: str
    system: str
    lines: Sequence[MeasureLine]


@dataclass(frozen=True)
class CorrectnessContent:
    """What the page shows below its head.

    rules: E3 less E2, in pairs. rated: whether people's ratings were given, in the file `ratings`, on `scale`
    if that is not the judge's; unusable: reason and detail of each rating dropped.
    """

    tables: Sequence[MeasureTable]
    rules: Sequence[RuleDifference]
    judges: Sequence[JudgeReport]
    rated: bool
    scale: RatingScale | None
    ratings: str
    drops: Sequence[DropCount]
    unusable: Sequence[tuple[str, str]]


def correctness_page(
    questions: list[ReferenceQuestion],
    answers: list[SystemAnswer],
    contexts: list[Context],
    scores: list[JudgeScore],
    canaries: list[CanaryRow],
    baselines: list[BaselineSimilarity],
    ratings: list[Rating],
    correlations: list[MeasureCorrelation],
    rule_comparison: list[RuleDifference],
    questions_dropped: Path,
    contexts_dropped: Path,
    ratings_dropped: Path,
    answers_calls: Path,
    contexts_calls: Path,
    scores_calls: Path,
    canaries_calls: Path,
    baselines_calls: Path,
    entry: Assessment,
    key: str,
    settings: Mapping[str, object],
    out: Path,
    metrics: Path,
    bars: Path,
) -> Counts:
    """Write the page and the form for raters into the folder `out`; the counts are of answers."""
    calls = read_calls([answers_calls, contexts_calls, scores_calls, canaries_calls, baselines_calls])
    thresholds = find_thresholds(settings)
    people = _find_alphas(correlations, entry) if ratings else {}
    judges = [
        report_judge(
            judge,
            [score.score for score in scores if score.judge == judge],
            canaries,
            people.get(judge, ()),
            thresholds,
        )
        for judge in entry.judges
    ]
    answered = sum(answer.text is not None for answer in answers)
    graded = sum(score.score is not None for score in scores)
    headlines = [
        Headline("questions", len(questions), "", _count(Selection("questions"))),
        Headline(
            "answers",
            answered,
            f"of {len(answers)} asked for",
            Derivation("answers given", (Selection("answers"),)),
        ),
        Headline(
            "grades",
            graded,
            f"{len(scores) - graded} replies were none",
            _count(Selection("scores", {"score": tuple(range(TOP_SCORE + 1))})),
        ),
        Headline("people's ratings", len(ratings), "", _count(Selection("ratings"))),
        Headline(
            "model calls",
            len(calls),
            "",
            derive_shown_calls(calls, "answers", "contexts", "scores", "canaries", "baselines"),
        ),
    ]
    content = CorrectnessContent(
        tables=_make_tables(correlations, entry),
        rules=sorted(
            rule_comparison,
            key=lambda row: (
                row.dataset,
                row.system,
                entry.judges.index(row.judge),
                FIGURES.index(row.figure),
            ),
        ),
        judges=judges,
        rated=bool(ratings),
        scale=entry.scale,
        ratings=entry.ratings.name,
        drops=count_drops([questions_dropped, contexts_dropped, ratings_dropped]),
        unusable=[
            (row.reason, row.detail)
            for row in sorted(read_rows(ratings_dropped, Dropped), key=_find_line_number)
        ],
    )
    tables = tabulate_correctness(correlations, content.rules)
    rows = show_answers(questions, answers, contexts, scores, baselines, ratings)
    systems = list_answer_systems(correlations)
    write_ragcheck_page(
        out,
        make_page(
            f"{key}-correctness",
            f"Correctness of responses: {key}",
            SUBTITLE,
            headlines,
            judges,
            systems,
        ),
        "correctness.html",
        content,
        BrowsedRows(
            "rows",
            AnswerBrowser("answers", list(entry.systems), list(entry.judges), rows),
            answers_calls.with_name("answers.parquet"),
        ),
        calls,
        tables,
        metrics,
        bars,
        group_correctness(tables["measures"]),
        Form(FORM, make_form(questions, answers)),
    )
    return Counts(len(answers), len(answers), {})


def _count(rows: Selection) -> Derivation:
    return Derivation("count", (rows,))


def _find_line_number(dropped: Dropped) -> int:
    number = dropped.detail.removeprefix("line ").partition(":")[0]
    return int(number) if number.isdigit() else 0


def _find_alphas(
    correlations: Sequence[MeasureCorrelation], entry: Assessment
) -> dict[str, list[HumanAlpha]]:
    """Map each judge to its agreement with people under rule E3, per system over all datasets."""
    alphas: dict[str, list[HumanAlpha]] = {}
    for row in correlations:
        if row.measure == BY_REFERENCE and not row.dataset and not row.note:
            of = row.system if len(entry.systems) > 1 else ""
            alpha = HumanAlpha(row.pairs, row.alpha.value, row.alpha.low, row.alpha.high, of)
            alphas.setdefault(row.judge, []).append(alpha)
    return alphas


def _make_tables(correlations: Sequence[MeasureCorrelation], entry: Assessment) -> list[MeasureTable]:
    """Make figure 2's table for every system, and for each of its datasets."""
    order = [PEOPLE, *MEASURES, *RULES]

    def rank(row: MeasureCorrelation) -> tuple[int, int]:
        return order.index(row.measure), entry.judges.index(row.judge) if row.judge else 0

    groups: defaultdict[tuple[str, str], list[MeasureCorrelation]] = defaultdict(list)
    for row in correlations:
        groups[row.dataset, row.system].append(row)
    return [
        MeasureTable(dataset, system, [_make_line(row) for row in sorted(rows, key=rank)])
        for (dataset, system), rows in sorted(groups.items(), key=lambda item: item[0])
    ]


def _make_line(row: MeasureCorrelation) -> MeasureLine:
    label = "E1: people" if row.measure == PEOPLE else row.measure.replace("_", " ")
    if row.judge:
        label = f"{row.measure}: {row.judge}"
    return MeasureLine(label, TOP_SCORE if row.measure in (PEOPLE, *RULES) else 1, row)
