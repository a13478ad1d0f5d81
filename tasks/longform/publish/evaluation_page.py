"""Stage: the report page of an evaluation: its tables, figures 2 to 4, and a viewer of every interaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.judged_parts import list_parts, make_form
from tasks.longform.judge.labels import MATCHES, PEER_VERDICTS
from tasks.longform.judge.peers import Review
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.publish.answer_basis import INTERACTIONS
from tasks.longform.publish.figure_series import Scatter
from tasks.longform.publish.figure_tables import (
    Panel,
    draw_agents,
    draw_models,
    read_figures,
    tabulate_figures,
)
from tasks.longform.publish.item_browser import ItemBrowser, JudgedInteractions, show_interactions
from tasks.longform.publish.shown_items import show_items
from tasks.longform.solve.interaction import Interaction
from tasks.reports.calls import ShownCall, derive_shown_calls, read_calls
from tasks.reports.figure_cells import FigureTable
from tasks.reports.folder import BrowsedRows, Form, write_page
from tasks.reports.frame import PAGES_FOLDER, open_templates
from tasks.reports.metrics import choose_column
from tasks.reports.page import ASSESSMENTS, Headline, Page, SystemFigure
from tasks.reports.systems_table import read_systems

PAGES = Path(__file__).parents[1] / "pages"
MEASURES = {"match rate": "match rate (C)", "mean score": "mean score, 1 to 5 (I)"}
"""What DVC shows of Table 2: a name -> its column."""
ASSETS = ("longform.css", "items.js", "longform.js")
FORM = "to_label.csv"
"""The CSV form for people's labels, linked on the page."""
SUBTITLE = (
    "How agents answer questions that need several queries and a synthesis: held against a reference answer, "
    "and each step (planning, queries, synthesis) reviewed by peers without one."
)


CALLED = (
    "interactions", "reference_verdicts", "reviews", "meta_reviews", "revisions", "error_types",
)  # fmt: skip
"""The artifacts whose calls the page shows."""
GIVEN = (
    Selection("reference_verdicts", {"label": MATCHES}),
    Selection("reference_verdicts", {"score": (1, 2, 3, 4, 5)}),
)
REVIEWS = tuple(
    Selection(name, {"verdict": PEER_VERDICTS}) for name in ("reviews", "meta_reviews", "revisions")
)


@dataclass(frozen=True)
class EvaluationContent:
    """What the page shows below its head.

    panels, scatters, models: figures 2, 3 (by kind of item) and 4; tables: by key; about: name and text of
    each fact.
    """

    panels: Sequence[Panel]
    scatters: Mapping[str, Scatter]
    models: Sequence[Panel]
    tables: Mapping[str, FigureTable]
    about: Sequence[tuple[str, str]]


def evaluation_page(
    items: list[LongformItem],
    interactions: list[Interaction],
    reference_verdicts: list[ReferenceVerdict],
    reviews: list[Review],
    meta_reviews: list[Review],
    revisions: list[Review],
    error_types: list[ErrorLabel],
    evaluation_figures: Path,
    control: list[ControlledQuestion],
    construct: list[SyntheticDatabase],
    conclude: list[Conclusion],
    interactions_calls: Path,
    reference_verdicts_calls: Path,
    reviews_calls: Path,
    meta_reviews_calls: Path,
    revisions_calls: Path,
    error_types_calls: Path,
    entry: AgentEvaluation,
    key: str,
    out: Path,
    metrics: Path,
    bars: Path,
) -> Counts:
    """Write the page into the folder `out`; the counts are of interactions.

    Raises BadInput if `evaluation_figures` is not of the form above, or an item's script does not run.
    """
    figures = read_figures(evaluation_figures)
    calls = read_calls(
        [
            interactions_calls,
            reference_verdicts_calls,
            reviews_calls,
            meta_reviews_calls,
            revisions_calls,
            error_types_calls,
        ]
    )
    judged = JudgedInteractions(reference_verdicts, reviews, meta_reviews, revisions, error_types)
    shown = show_items(items, control, construct, conclude)
    rank: dict[str, int] = {agent: place for place, agent in enumerate(entry.agents)}
    ordered = sorted(
        interactions,
        key=lambda row: (shown[row.item].database, row.item, row.model, rank.get(row.agent, len(rank))),
    )
    write_page(
        out,
        Page(
            ASSESSMENTS,
            "longform",
            key,
            f"Long-form questions: {key}",
            SUBTITLE,
            _make_headlines(items, interactions, judged, calls),
            figures.warnings,
            systems=list_systems(figures.tables, entry.set),
        ),
        open_templates("tasks.longform").get_template("longform.html"),
        EvaluationContent(
            draw_agents(figures.figures.agents),
            figures.figures.scatters,
            draw_models(figures.figures.models),
            figures.tables,
            _list_facts(entry, figures.roles),
        ),
        assets=[PAGES_FOLDER / "tables.css", *(PAGES / asset for asset in ASSETS)],
        rows=BrowsedRows(
            "rows",
            ItemBrowser(shown, show_interactions(ordered, judged)),
            interactions_calls.with_name("interactions.parquet"),
        ),
        calls=calls,
        tables={**figures.tables, **tabulate_figures(figures.figures)},
        form=Form(FORM, make_form(list_parts(items, interactions, reference_verdicts, revisions))),
        metrics=metrics,
        bars=bars,
        groups=[
            choose_column(name, figures.tables["2"], column)
            for name, column in MEASURES.items()
            if "2" in figures.tables
        ],
    )
    return Counts(len(interactions), len(interactions), {})


def list_systems(tables: Mapping[str, FigureTable], dataset: str) -> list[SystemFigure]:
    """List how each agent answered, by Table 2."""
    table = tables.get("2")
    if table is None:
        return []
    return [
        *read_systems(
            table, "match rate (C)", dataset=dataset, measure="as the reference says", symbol="match rate"
        ),
        *read_systems(
            table,
            "mean score, 1 to 5 (I)",
            dataset=dataset,
            measure="mark against the reference, 1 to 5",
            symbol="mean score",
            bottom=1,
            top=5,
        ),
    ]


def _make_headlines(
    items: Sequence[LongformItem],
    interactions: Sequence[Interaction],
    judged: JudgedInteractions,
    calls: Mapping[str, ShownCall],
) -> list[Headline]:
    answers = sum(interaction.answer is not None for interaction in interactions)
    verdicts = sum(row.label is not None or row.score is not None for row in judged.verdicts)
    peers = (*judged.reviews, *judged.meta_reviews, *judged.revisions)
    reviewed = sum(review.verdict is not None for review in peers)
    return [
        Headline("items", len(items), "", Derivation("count", (Selection("items"),))),
        Headline(
            "answers",
            answers,
            f"of {len(interactions):,} asked for",
            Derivation("answers given", (INTERACTIONS,)),
        ),
        Headline(
            "verdicts",
            verdicts,
            f"of {len(judged.verdicts):,} against the reference",
            Derivation("count", GIVEN, once=True),
        ),
        Headline(
            "reviews",
            reviewed,
            f"of {len(peers):,}, with meta-reviews and revisions",
            Derivation("count", REVIEWS),
        ),
        Headline(
            "model calls",
            len(calls),
            "beside those that measure the judges",
            derive_shown_calls(calls, *CALLED),
        ),
    ]


def _list_facts(entry: AgentEvaluation, models: Mapping[str, str]) -> list[tuple[str, str]]:
    more = entry.more

    def tell(role: str) -> str:
        return f"{role} ({models[role]})" if role in models else role

    return [
        ("Question set", entry.set),
        ("Agents", ", ".join(entry.agents)),
        ("Models", ", ".join(map(tell, entry.models))),
        ("Judge against the reference", tell(entry.judge)),
        ("Reviewer", tell(entry.reviewer)),
        ("Reviewers of a step", f"{entry.reviewers}, and {entry.meta_reviewers} meta-reviewers"),
        (
            "More peers",
            f"the first {more.items} items: {more.reviewers}, and {more.meta_reviewers} meta-reviewers"
            if more
            else "",
        ),
    ]
