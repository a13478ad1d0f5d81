"""Stage: write the report page on correctness (Part I): figure 2, the judges' canaries, and a viewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts, Dropped
from tasks.judging.canaries import CanaryRow
from tasks.judging.trust import HumanAlpha, TrustThresholds
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.baselines import BaselineSimilarity
from tasks.ragcheck.contexts import BY_REFERENCE, Context
from tasks.ragcheck.correlations import MeasureCorrelation
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.grading import TOP_SCORE
from tasks.ragcheck.page_parts import (
    STYLES,
    count_rows,
    list_warnings,
    make_drops_part,
    make_judges_part,
    report_judge,
)
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.ratings import Rating, make_form
from tasks.ragcheck.rule_comparison import FIGURES, RuleDifference
from tasks.ragcheck.scores import JudgeScore
from tasks.ragcheck.tables import (
    draw_means,
    group_correctness,
    list_answer_systems,
    show_tables,
    tabulate_correctness,
    tabulate_measures,
    tabulate_rules,
)
from tasks.ragcheck.view import view_answers
from tasks.reports.calls import derive_shown_calls, read_calls
from tasks.reports.page import ASSESSMENTS, Headline, Page
from tasks.reports.parts import Browse, Charts, Facts, Folded, FormLink, Head, PagePart, PartBlock, TextBlock
from tasks.reports.plurals import count_of
from tasks.reports.report_page import Form, write_page
from tasks.reports.tables import FigureTable
from tasks.settings import read_section

FORM = "to_rate.csv"
"""File name of the form in which people rate answers; the page links to it."""
SUBTITLE = (
    "This page shows how correct a system's answers are. Judges grade each answer against the reference "
    "answer, with two sets of passages (E2 and E3). E2 uses the passages behind the answer. For published "
    "answers, E2 uses the passages that are retrieved with only the question. E3 uses the passages that "
    "are retrieved with the question and the reference answer together. E1 is the ratings by people."
)
MEASURED = (
    'Means and correlations leave out grades of 0 ("not sure"), failed answers and failed grades. The '
    "number of left-out values is beside each "
    "figure. The 95% intervals are bootstrapped over conversations. An answer "
    "outside a conversation counts as a conversation. The intervals of the raters' alpha are "
    "bootstrapped over answers. pearson and spearman "
    "are correlations with the ratings by people (in the row of E1, of the ratings with "
    "themselves). alpha is Krippendorff's ordinal "
    "alpha, among the raters (E1) or between a judge and people."
)
RULES = (
    "Each difference is a mean grade, or a correlation with people, under E3 minus the same figure "
    "under E2. Both figures are computed over the same answers. The p value is from a two-sided paired "
    "bootstrap over whole conversations. p (Holm) is the p value corrected with Holm's method over the "
    "judges and figures of one system and dataset."
)
RATING = (
    "Write a rating from 0 to 5 in the “rating” column, following the judge's rubric, and your name in the "
    "“rater” column. Then set `ratings` of the assessment in params.yaml to the path of the file."
)


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
    """Write the page and the form for raters into the folder `out`; return counts of answers."""
    calls = read_calls([answers_calls, contexts_calls, scores_calls, canaries_calls, baselines_calls])
    thresholds = read_section(settings, "judging.thresholds", TrustThresholds)
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
    scored = Selection("scores", {"score": tuple(range(TOP_SCORE + 1))})
    headlines = [
        count_rows("questions", len(questions), Selection("questions")),
        Headline(
            "answers",
            answered,
            f"of {len(answers)} requested",
            Derivation("answers given", (Selection("answers"),)),
        ),
        count_rows("grades", graded, scored, f"replies without a grade: {len(scores) - graded}"),
        count_rows("people's ratings", len(ratings), Selection("ratings")),
        Headline(
            "model calls",
            len(calls),
            derivation=derive_shown_calls(calls, "answers", "contexts", "scores", "canaries", "baselines"),
        ),
    ]
    rules = sorted(
        rule_comparison,
        key=lambda row: (row.dataset, row.system, entry.judges.index(row.judge), FIGURES.index(row.figure)),
    )
    tables = tabulate_correctness(correlations, rules)
    viewer = view_answers(
        questions,
        answers,
        contexts,
        scores,
        baselines,
        ratings,
        entry.judges,
        answers_calls.with_name("answers.parquet"),
    )
    write_page(
        out,
        Page(
            ASSESSMENTS,
            "ragcheck",
            f"{key}-correctness",
            f"Correctness of responses: {key}",
            SUBTITLE,
            headlines,
            list_warnings(judges),
            systems=list_answer_systems(correlations),
        ),
        [
            _make_figures_part(correlations, rules, entry, tables, rated=bool(ratings)),
            make_judges_part(judges, _show_ratings(ratings_dropped), rated=True),
            make_drops_part([questions_dropped, contexts_dropped, ratings_dropped]),
            Browse("Answers", viewer),
        ],
        calls=calls,
        tables=tables,
        metrics=metrics,
        bars=bars,
        groups=group_correctness(tables["measures"]),
        form=Form(FORM, make_form(questions, answers)),
        assets=[STYLES],
    )
    return Counts(len(answers), len(answers), {})


def _make_figures_part(
    correlations: Sequence[MeasureCorrelation],
    rules: Sequence[RuleDifference],
    entry: Assessment,
    recorded: Mapping[str, FigureTable],
    *,
    rated: bool,
) -> PagePart:
    """Make the part with figure 2: an expanded table per system, and collapsed tables per dataset."""
    measures = {
        f"measures-{number}": tabulate_measures(correlations, system, dataset, entry.judges)
        for number, (dataset, system) in enumerate(
            sorted({(row.dataset, row.system) for row in correlations}), 1
        )
    }
    whole = list(measures)[: len(entry.systems)]
    blocks: list[PartBlock] = [
        TextBlock(MEASURED + _describe_ratings(entry, rated=rated)),
        Charts([chart for key in whole for chart in draw_means(measures[key])]),
        show_tables(measures, recorded, closed=[key for key in measures if key not in whole]),
    ]
    if rules:
        compared = show_tables({"compared": tabulate_rules(rules)}, recorded, folded=False)
        blocks += [Head("E3 minus E2, on the same answers"), TextBlock(RULES), compared]
    return PagePart("figures", "Means, and agreement with people", "Figures", blocks)


def _describe_ratings(entry: Assessment, *, rated: bool) -> str:
    if not rated:
        return " No person has rated these answers yet, so no measure is compared with people."
    if entry.scale is None:
        return ""
    low, high = entry.scale.onto
    return (
        f" People rated from {entry.scale.low:g} to {entry.scale.high:g} ({entry.ratings.name}). The "
        f"ratings are mapped linearly onto {low:g} to {high:g}, which does not change a correlation."
    )


def _show_ratings(dropped: Path) -> list[PartBlock]:
    """Make the link to the form for raters, and the list of unusable lines in the ratings file."""
    unusable = sorted(read_rows(dropped, Dropped), key=_find_line_number)
    lines = Facts([(row.reason.replace("_", " "), row.detail) for row in unusable])
    said = f"{count_of(len(unusable), 'line')} of the ratings file could not be used"
    return [*([Folded(said, [lines])] if unusable else []), FormLink(FORM, "Answers to rate (CSV)", RATING)]


def _find_line_number(dropped: Dropped) -> int:
    number = dropped.detail.removeprefix("line ").partition(":")[0]
    return int(number) if number.isdigit() else 0


def _find_alphas(
    correlations: Sequence[MeasureCorrelation], entry: Assessment
) -> dict[str, list[HumanAlpha]]:
    """Map each judge to its agreements with people under rule E3: one per system, over all datasets."""
    alphas: dict[str, list[HumanAlpha]] = {}
    for row in correlations:
        if row.measure == BY_REFERENCE and not row.dataset and not row.note:
            of = row.system if len(entry.systems) > 1 else ""
            alpha = HumanAlpha(row.pairs, row.alpha.value, row.alpha.low, row.alpha.high, of)
            alphas.setdefault(row.judge, []).append(alpha)
    return alphas
