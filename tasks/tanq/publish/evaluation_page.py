"""Stage: write an evaluation's report page with tables, and with answers next to predicted tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from tasks.artifacts.rows import Counts
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.calls import ShownCall, derive_shown_calls, read_calls
from tasks.reports.figures_file import read_figures
from tasks.reports.metrics import choose_column
from tasks.reports.page import ASSESSMENTS, Headline, Page, SystemFigure
from tasks.reports.parts import Browse, FormLink, PagePart, TableBlock, TextBlock, make_about_part
from tasks.reports.report_page import Form, write_page
from tasks.reports.tables import FigureTable, read_systems
from tasks.reports.viewer import Filter, Viewer
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.outcomes import MEASURES, RULE_NAMES, RULES, TableOutcome, derive_scores, join_table_outcomes
from tasks.tanq.score.hallucination_labels import make_label_form
from tasks.tanq.score.scores import PredictionScore
from tasks.tanq.solve.prediction import Prediction
from tasks.tanq.view import ASSETS, view_predictions

FORM = "to_label.csv"
"""The CSV form for human labels of other hallucinations, linked on the page."""
SUBTITLE = (
    "This page shows how models answer questions whose answers are tables. Models answer in "
    "three settings: from memory (closed), from a set of texts that contains the evidence for every cell "
    "(oracle), and by searching articles (open)."
)
MATCHED = {
    "released": "Cells of the predicted table and of the answer are matched one to one by row and column.",
    "paper": "Each value of a cell counts separately. Predicted values are matched greedily with values of "
    "the answer, by entity, relation and value.",
}
SCORED = (
    "Predictions without a reply count as failed, and no mean includes them. A reply without a table "
    "counts as an empty table: precision 1, recall 0. For each setting and model, Tables 5 to 10 show the "
    "results of the prompt that is closest to the paper's prompt."
)
TO_LABEL = (
    "In the “label” column, write yes if a reply contains a hallucination of a kind that rules do not "
    "detect, and no otherwise. Write your name in the “rater” column. Then put the file into data/labels, "
    "and set the evaluation's `labels` in params.yaml to the path of the file."
)


@dataclass(frozen=True)
class EvaluationFigures:
    """The fields of `evaluation_figures.json` that the page uses.

    tables: maps keys such as `5-released` to tables.
    """

    tables: Mapping[str, FigureTable]
    warnings: tuple[str, ...] = ()


def evaluation_page(
    items: list[TanqItem],
    predictions: list[Prediction],
    scores: list[PredictionScore],
    human_tables: list[Prediction],
    human_scores: list[PredictionScore],
    evaluation_figures: Path,
    predictions_calls: Path,
    entry: TableEvaluation,
    key: str,
    out: Path,
    metrics: Path,
    bars: Path,
) -> Counts:
    """Write the page into the folder `out`. Returns the number of predictions.

    Raises BadInput if the file `evaluation_figures` is not valid.
    """
    figures = read_figures(evaluation_figures, EvaluationFigures)
    outcomes = join_table_outcomes(items, [*predictions, *human_tables], [*scores, *human_scores])
    calls = read_calls([predictions_calls] if predictions_calls.is_file() else [])
    viewer = Viewer(
        "question",
        "questions",
        "words in a question or in its answer",
        "Choose a question to see its answer, a predicted table, and the evidence for every cell.",
        (Filter("kind", "Kind"), Filter("skill", "Skill"), Filter("failure", "Failure of any system")),
        view_predictions(outcomes),
        predictions_calls.with_name("predictions.parquet"),
    )
    write_page(
        out,
        Page(
            ASSESSMENTS,
            "tanq",
            key,
            f"Questions whose answers are tables: {key}",
            SUBTITLE,
            _make_headlines(outcomes, calls),
            figures.warnings,
            systems=list_systems(figures.tables, entry.set),
        ),
        [
            Browse("Questions", viewer),
            *(make_score_part(figures.tables, rule) for rule in RULES),
            make_failure_part(figures.tables),
            make_about_part(_list_facts(entry)),
        ],
        assets=ASSETS,
        calls=calls,
        tables=figures.tables,
        form=Form(FORM, make_label_form({item.id: item for item in items}, predictions)),
        metrics=metrics,
        bars=bars,
        groups=[
            choose_column(measure, figures.tables["5-released"], f"all: {measure}") for measure in MEASURES
        ],
    )
    return Counts(len(predictions), len(predictions), {})


def make_score_part(tables: Mapping[str, FigureTable], rule: str) -> PagePart:
    """Return the page section with tables of scores for an RMS variant. rule: the suffix of table keys."""
    shown = {key: table for key, table in tables.items() if key.endswith(f"-{rule}")}
    said = (
        f"The tables show mean precision, recall and F1 in percent, with 95% intervals. {MATCHED[rule]} "
        f"{SCORED}"
    )
    return PagePart(
        f"rule-{rule}",
        "Correct cells",
        f"Scores ({rule})",
        [TextBlock(said), TableBlock(shown)] if shown else [],
        f"relative mapping similarity (RMS), {RULE_NAMES[rule]}",
    )


def make_failure_part(tables: Mapping[str, FigureTable]) -> PagePart:
    """Return the page section with the tables of failures and faults."""
    scored = tuple(f"-{rule}" for rule in RULES)
    shown = {key: table for key, table in tables.items() if not key.endswith(scored)}
    return PagePart(
        "failures",
        "Failures",
        "Failures",
        [
            TextBlock("Shares are in percent, with 95% intervals."),
            TableBlock(shown),
            FormLink(FORM, "Replies to label (CSV)", TO_LABEL),
        ],
    )


def list_systems(tables: Mapping[str, FigureTable], dataset: str) -> list[SystemFigure]:
    """List each system's F1 over all questions, for both RMS variants.

    tables: the evaluation's tables; only those in the layout of TANQ's Table 5 are used. dataset: the name of
    the question set.
    """
    return [
        figure
        for rule in RULES
        if f"5-{rule}" in tables
        for figure in read_systems(
            tables[f"5-{rule}"],
            "all: f1",
            dataset=dataset,
            measure="accuracy of table cells",
            symbol=f"RMS F1, {RULE_NAMES[rule]}",
        )
    ]


def _make_headlines(outcomes: Sequence[TableOutcome], calls: Mapping[str, ShownCall]) -> list[Headline]:
    replied = [outcome for outcome in outcomes if not outcome.prediction.failed]
    with_table = sum(outcome.prediction.table is not None for outcome in replied)
    best = _find_best(outcomes)
    made = (
        ("predictions", "human_tables")
        if any(outcome.system.is_people for outcome in outcomes)
        else ("predictions",)
    )
    answered = tuple(Selection(name, {"failed": ""}) for name in made)
    return [
        Headline(
            "questions",
            len({outcome.item.id for outcome in outcomes}),
            "",
            Derivation("distinct", tuple(map(Selection, made)), "item"),
        ),
        Headline("replies", len(replied), f"of {len(outcomes):,} requested", Derivation("count", answered)),
        Headline("tables", with_table, "replies with a parsable table", Derivation("tables read", answered)),
        *(
            [
                Headline(
                    "best F1 of a system",
                    best[1],
                    f"{RULE_NAMES['released']}: {best[0]}",
                    derive_scores(best[2], "mean", "released_f1"),
                )
            ]
            if best
            else []
        ),
        Headline("model calls", len(calls), "", derive_shown_calls(calls, "predictions")),
    ]


def _find_best(outcomes: Sequence[TableOutcome]) -> tuple[str, float, list[TableOutcome]] | None:
    """Return the systems with the highest mean F1 in the released variant; None if there are no scores.

    Human-written tables are excluded. The result has the names of all systems with the highest mean, the mean
    (0 to 1), and the outcomes of the first of these systems.
    """
    own: dict[str, list[TableOutcome]] = {}
    for outcome in outcomes:
        if outcome.score.released_f1 is not None and not outcome.system.is_people:
            own.setdefault(outcome.system.name, []).append(outcome)
    means = {
        name: fmean(outcome.score.released_f1 or 0 for outcome in scored) for name, scored in own.items()
    }
    best = max(means, key=lambda name: means[name], default=None)
    if best is None:
        return None
    tied = [name for name, mean in means.items() if mean == means[best]]
    return "; ".join(tied) + (" (tied)" if len(tied) > 1 else ""), means[best], own[best]


def _list_facts(entry: TableEvaluation) -> list[tuple[str, str]]:
    return [
        ("Question set", entry.set),
        ("Settings", ", ".join(entry.settings)),
        ("Models", ", ".join(entry.models)),
        ("Examples in a prompt", ", ".join(map(str, entry.shots))),
        ("Instructions", ", ".join(entry.instructions)),
        ("Human answer tables", str(entry.people or "none")),
        ("Human labels for hallucinations", str(entry.labels or "none")),
    ]
