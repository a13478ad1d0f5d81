"""Stage: write the report page of an evaluation: tables, Figures 2 to 4, and a viewer of interactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.figures import FigureSeries, draw_agents, draw_models, draw_queries, tabulate_figures
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.judged_parts import list_parts, make_form
from tasks.longform.judge.peers import Review
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import MATCHES, PEER_VERDICTS, Verdict
from tasks.longform.outcomes import INTERACTIONS, MATCH_RATE, MEAN_SCORE
from tasks.longform.solve.interaction import Interaction
from tasks.longform.view import show_items
from tasks.longform.view_interactions import Judged, view_interactions
from tasks.reports.calls import ShownCall, derive_shown_calls, read_calls
from tasks.reports.figures_file import read_figures
from tasks.reports.metrics import choose_column
from tasks.reports.page import ASSESSMENTS, Headline, Page, SystemFigure
from tasks.reports.parts import Browse, Charts, FormLink, PagePart, TableBlock, TextBlock, make_about_part
from tasks.reports.plurals import count_of
from tasks.reports.report_page import Form, write_page
from tasks.reports.tables import FigureTable, read_systems
from tasks.scoring.statistics import LEAST

MEASURES = {"match rate": MATCH_RATE, "mean score": MEAN_SCORE}
"""Map the name of each DVC metric to its column in Table 2."""
FORM = FormLink(
    "to_label.csv",
    "Answers and steps to label (CSV)",
    "In the “label” column, write one of the choices from the “choices” column. Write your name in the "
    "“rater” column. Then put the file into data/labels, and set the evaluation's `labels` in params.yaml to "
    "the path of the file.",
)
"""A link to the CSV form in which people label answers and steps."""
SUBTITLE = (
    "This page shows how agents answer questions that need several queries and a synthesis of their "
    "results. A judge compares each answer with a reference answer. Peer reviewers judge each step "
    "(planning, queries, synthesis) without a reference."
)

CALLED = (
    "interactions", "reference_verdicts", "reviews", "meta_reviews", "revisions", "error_types",
)  # fmt: skip
"""The artifacts whose model calls the page shows."""
GIVEN = (
    Selection("reference_verdicts", {"label": MATCHES}),
    Selection("reference_verdicts", {"score": (1, 2, 3, 4, 5)}),
)
REVIEWS = tuple(
    Selection(name, {"verdict": PEER_VERDICTS}) for name in ("reviews", "meta_reviews", "revisions")
)


@dataclass(frozen=True)
class PageFigures:
    """The fields of the figures artifact that the page shows; other fields are ignored."""

    warnings: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    """Map each role to its model, if the model is known."""
    tables: Mapping[str, FigureTable] = field(default_factory=dict)
    figures: FigureSeries = field(default_factory=FigureSeries)


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
    """Write the page into the folder `out`, and return counts of interactions.

    Raises BadInput if `evaluation_figures` cannot be read as `PageFigures`, or if an item's script does not
    run.
    """
    figures = read_figures(evaluation_figures, PageFigures)
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
    judged = Judged(reference_verdicts, reviews, meta_reviews, revisions, error_types)
    databases = {item.id: item.database for item in items}
    rank: dict[str, int] = {agent: place for place, agent in enumerate(entry.agents)}
    ordered = sorted(
        interactions,
        key=lambda row: (databases[row.item], row.item, row.model, rank.get(row.agent, len(rank))),
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
        [
            *_list_parts(figures),
            Browse(
                "Interactions",
                view_interactions(
                    items,
                    show_items(items, control, construct, conclude),
                    ordered,
                    judged,
                    interactions_calls.with_name("interactions.parquet"),
                ),
            ),
            make_about_part(_list_facts(entry, figures.roles)),
        ],
        calls=calls,
        tables={**figures.tables, **tabulate_figures(figures.figures)},
        form=Form(FORM.file, make_form(list_parts(items, interactions, reference_verdicts, revisions))),
        metrics=metrics,
        bars=bars,
        groups=[
            choose_column(name, figures.tables["2"], column)
            for name, column in MEASURES.items()
            if "2" in figures.tables
        ],
    )
    return Counts(len(interactions), len(interactions), {})


def _list_parts(figures: PageFigures) -> list[PagePart]:
    """List the page parts above the viewer; a part without figures or tables has no blocks."""
    series = figures.figures
    agents, models = draw_agents(series.agents), draw_models(series.models)
    queries = draw_queries(series.scatters)
    quality = (
        "The judge compares answers with the reference answers. The charts show the share of matches for "
        "conclusive questions, and the mean score from 1 to 5 for interpretive "
        f"questions. The bars show 95% intervals. A value from fewer than {LEAST} items has no interval. The "
        "interval of a mean score is bootstrapped from the scores, so it is too narrow if n is small."
    )
    who = (
        "The agent “none” sees all records and runs no query. The agent “sequential” plans, writes all "
        "its queries before it sees a result, and then answers. The agent “iterative” writes one query "
        "per round and sees its result. The charts show two baselines for comparison. The first baseline "
        "is the agent “guess”, which sees only the schema. The second baseline consists of all answers from "
        "agents that could run queries but did not."
    )
    correlated = (
        "The charts cover the agents that run queries. The quality of a conclusive answer is 1 for a match "
        "and 0 for any other verdict. The quality of an interpretive answer is its score. A correlation "
        "(-1 to 1) has a 95% interval from a bootstrap that resamples whole items with all their "
        f"answers. A correlation over fewer than {LEAST} items "
        "has no interval."
    )
    compared = (
        "The charts show how well the answers agree with the reference answers. If the agent “guess” ran, "
        "the charts also show its answers. Further charts show, for each step, the share of "
        f"interactions in which the revised verdict on the step is {Verdict.PERFECT.shown}."
    )
    counted = (
        "The intervals are 95% intervals. n "
        "counts interactions unless a cell says otherwise. A failed interaction lacks "
        "an answer, a verdict or a label. No value includes failed interactions."
    )
    return [
        PagePart(
            "quality",
            "Quality of answers (Figure 2)",
            "Quality",
            [TextBlock(quality), TextBlock(who), Charts(agents)] if agents else [],
        ),
        PagePart(
            "queries",
            "Valid queries and quality (Figure 3)",
            "Queries",
            [TextBlock(correlated), Charts(queries)] if queries else [],
        ),
        PagePart(
            "models",
            "Models with the agent “sequential” (Figure 4)",
            "Models",
            [TextBlock(compared), Charts(models)] if models else [],
        ),
        PagePart(
            "tables",
            "Tables",
            "Tables",
            [TextBlock(counted), TableBlock(figures.tables), FORM] if figures.tables else [],
        ),
    ]


def list_systems(tables: Mapping[str, FigureTable], dataset: str) -> list[SystemFigure]:
    """List the match rate and the mean score of each agent and model from Table 2."""
    table = tables.get("2")
    if table is None:
        return []
    return [
        *read_systems(
            table,
            MATCH_RATE,
            dataset=dataset,
            measure="share of answers that match the reference answer",
            symbol="match rate",
        ),
        *read_systems(
            table,
            MEAN_SCORE,
            dataset=dataset,
            measure="score against the reference answer, 1 to 5",
            symbol="mean score",
            bottom=1,
            top=5,
        ),
    ]


def _make_headlines(
    items: Sequence[LongformItem],
    interactions: Sequence[Interaction],
    judged: Judged,
    calls: Mapping[str, ShownCall],
) -> list[Headline]:
    answers = sum(interaction.answer is not None for interaction in interactions)
    verdicts = sum(row.verdict is not None for row in judged.verdicts)
    peers = (*judged.reviews, *judged.meta_reviews, *judged.revisions)
    reviewed = sum(review.verdict is not None for review in peers)
    return [
        Headline("items", len(items), "", Derivation("count", (Selection("items"),))),
        Headline(
            "answers",
            answers,
            f"of {len(interactions):,} requested",
            Derivation("answers given", (INTERACTIONS,)),
        ),
        Headline(
            "verdicts",
            verdicts,
            f"of {len(judged.verdicts):,} comparisons with a reference answer",
            Derivation("count", GIVEN, once=True),
        ),
        Headline(
            "reviews",
            reviewed,
            f"of {len(peers):,} requested, including meta-reviews and revisions",
            Derivation("count", REVIEWS),
        ),
        Headline(
            "model calls",
            len(calls),
            "excluding the calls that test the judges",
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
        ("Answer judge", tell(entry.judge)),
        ("Reviewer", tell(entry.reviewer)),
        (
            "Peer reviewers of a step",
            f"reviewers: {entry.reviewers}; meta-reviewers: {entry.meta_reviewers}",
        ),
        (
            "Additional peer reviewers",
            f"reviewers: {more.reviewers}; meta-reviewers: {more.meta_reviewers}; "
            f"for the first {count_of(more.items, 'item')}"
            if more
            else "",
        ),
    ]
