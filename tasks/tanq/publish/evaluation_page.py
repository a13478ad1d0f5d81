"""Stage: the report page of an evaluation: its tables, and answers beside predicted tables with evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from tasks.artifacts.rows import Counts
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.calls import ShownCall, derive_shown_calls, read_calls
from tasks.reports.figure_cells import FigureTable
from tasks.reports.folder import BrowsedRows, Form, write_page
from tasks.reports.frame import PAGES_FOLDER, open_templates
from tasks.reports.metrics import choose_column
from tasks.reports.page import ASSESSMENTS, Headline, Page, SystemFigure
from tasks.reports.systems_table import read_systems
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.publish.shown_predictions import ShownPrediction, list_choices, show_predictions
from tasks.tanq.publish.shown_tables import ShownTableItem, show_table_items
from tasks.tanq.publish.table_basis import derive_scores
from tasks.tanq.publish.table_files import read_file_of_tables
from tasks.tanq.publish.table_outcomes import MEASURES, RULES, TableOutcome, is_people, join_table_outcomes
from tasks.tanq.score.hallucination_labels import make_label_form
from tasks.tanq.score.scores import PredictionScore
from tasks.tanq.solve.prediction import Prediction

PAGES = Path(__file__).parents[1] / "pages"
ASSETS = ("tanq.css", "answers.js", "tanq.js")
FORM = "to_label.csv"
"""The CSV form for people's words on other hallucinations, linked on the page."""
SUBTITLE = (
    "How models answer questions whose answers are tables: from memory (closed), from the proofs of every "
    "cell among others (oracle), and by searching articles (open)."
)


@dataclass(frozen=True)
class TablesContent:
    """What the page shows below its head: score tables by rule, then the others; about: name and text."""

    scores: Mapping[str, Mapping[str, FigureTable]]
    tables: Mapping[str, FigureTable]
    about: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class PredictionBrowser:
    """The viewer's data, as pages/tanq.js reads it. systems: in order; predictions: by item."""

    rows: list[ShownTableItem]
    systems: list[str]
    predictions: dict[str, list[ShownPrediction]]


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
    """Write the page into the folder `out`; the counts are of predictions.

    Raises BadInput if `evaluation_figures` is of another form.
    """
    figures = read_file_of_tables(evaluation_figures)
    outcomes = join_table_outcomes(items, [*predictions, *human_tables], [*scores, *human_scores])
    shown = show_predictions(outcomes)
    asked = [item for item in items if item.id in shown]
    calls = read_calls([predictions_calls] if predictions_calls.is_file() else [])
    by_rule = split_tables(figures.tables)
    write_page(
        out,
        Page(
            ASSESSMENTS,
            "tanq",
            key,
            f"Questions answered by tables: {key}",
            SUBTITLE,
            _make_headlines(outcomes, calls),
            figures.warnings,
            systems=list_systems(figures.tables, entry.set),
        ),
        open_templates("tasks.tanq").get_template("tanq.html"),
        TablesContent(by_rule, _list_others(figures.tables, by_rule), _list_facts(entry)),
        assets=[PAGES_FOLDER / "tables.css", *(PAGES / asset for asset in ASSETS)],
        rows=BrowsedRows(
            "rows",
            PredictionBrowser(list(show_table_items(asked).values()), list_choices(shown), shown),
            predictions_calls.with_name("predictions.parquet"),
        ),
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


def list_systems(tables: Mapping[str, FigureTable], dataset: str) -> list[SystemFigure]:
    """List how well each system's tables fit the true ones, by Table 5."""
    return [
        figure
        for rule in RULES
        if f"5-{rule}" in tables
        for figure in read_systems(
            tables[f"5-{rule}"],
            "all: f1",
            dataset=dataset,
            measure="cells of the tables right",
            symbol=f"RMS F1, rule {rule}",
        )
    ]


def split_tables(tables: Mapping[str, FigureTable]) -> dict[str, dict[str, FigureTable]]:
    """Group the tables of scores by their rule, the last part of their keys."""
    groups: dict[str, dict[str, FigureTable]] = {}
    for key, table in tables.items():
        base, bar, rule = key.rpartition("-")
        if bar:
            groups.setdefault(rule, {})[base] = table
    return groups


def _list_others(
    tables: Mapping[str, FigureTable], grouped: Mapping[str, Mapping[str, FigureTable]]
) -> dict[str, FigureTable]:
    known = {f"{base}-{rule}" for rule, group in grouped.items() for base in group}
    return {key: table for key, table in tables.items() if key not in known}


def _make_headlines(outcomes: Sequence[TableOutcome], calls: Mapping[str, ShownCall]) -> list[Headline]:
    replied = [outcome for outcome in outcomes if not outcome.prediction.failed]
    with_table = sum(outcome.prediction.table is not None for outcome in replied)
    best = _find_best(outcomes)
    made = ("predictions", "human_tables") if any(is_people(o.system) for o in outcomes) else ("predictions",)
    answered = tuple(Selection(name, {"failed": ""}) for name in made)
    return [
        Headline(
            "questions",
            len({outcome.item.id for outcome in outcomes}),
            "",
            Derivation("distinct", tuple(map(Selection, made)), "item"),
        ),
        Headline("replies", len(replied), f"of {len(outcomes):,} asked for", Derivation("count", answered)),
        Headline("tables", with_table, "that could be read in them", Derivation("tables read", answered)),
        *(
            [
                Headline(
                    "best F1 of a system",
                    best[1],
                    f"rule released: {best[0]}",
                    derive_scores(best[2], "mean", "released_f1"),
                )
            ]
            if best
            else []
        ),
        Headline("model calls", len(calls), "", derive_shown_calls(calls, "predictions")),
    ]


def _find_best(outcomes: Sequence[TableOutcome]) -> tuple[str, float, list[TableOutcome]] | None:
    """Find the system with the highest mean F1 by the released rule, a fraction of 1, and its outcomes."""
    own: dict[str, list[TableOutcome]] = {}
    for outcome in outcomes:
        if outcome.score.released_f1 is not None and not is_people(outcome.system):
            own.setdefault(" · ".join(filter(None, outcome.system.label)), []).append(outcome)
    means = {name: fmean(one.score.released_f1 or 0 for one in scored) for name, scored in own.items()}
    best = max(means, key=lambda name: means[name], default=None)
    return (best, means[best], own[best]) if best is not None else None


def _list_facts(entry: TableEvaluation) -> list[tuple[str, str]]:
    return [
        ("Question set", entry.set),
        ("Settings", ", ".join(entry.settings)),
        ("Models", ", ".join(entry.models)),
        ("Examples in a prompt", ", ".join(map(str, entry.shots))),
        ("Instructions", ", ".join(entry.instructions)),
        ("People's tables", str(entry.people or "none")),
        ("People's words on hallucinations", str(entry.labels or "none")),
    ]
