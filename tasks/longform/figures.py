"""Compute Figures 2 to 4: agents and models compared with a guess, and quality by number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.peers import REVIEWED
from tasks.longform.labels import INTERPRETIVE, KINDS, STEPS, Verdict
from tasks.longform.outcomes import (
    AnswerOutcome,
    average_scores,
    choose_interactions,
    count_valid,
    rate_matches,
    select,
)
from tasks.longform.tables_peers import Peers, derive_perfect, rate_all_perfect, rate_perfect
from tasks.reports.charts import Axis, Chart, Point, Scale, draw_scatter
from tasks.reports.tables import DRAWS, ROWS, Cell, FigureTable, Line
from tasks.scoring.correlation import correlate, rank
from tasks.scoring.metric import FloatArray, IntArray
from tasks.scoring.statistics import Interval, bootstrap, explain_missing, settle_interval

GUESS = "guess"
ITEMS = "items"
# Two points always have the correlation 1 or -1.
LEAST_POINTS = 3
"""Minimum number of points for a correlation."""
LEAST_AXIS = 4
"""Minimum upper bound of a query-count axis, so that the ticks are whole numbers."""
SHARE, SCORE = (0, 1), (1, 5)
QUALITY = (("match rate (C)", SHARE, "match_rate"), ("mean score (I)", SCORE, "mean_score"))
"""The measures of answer quality: title, scale (lowest and highest value) and the field of `FigureBar`."""


@dataclass(frozen=True)
class FigureBar:
    """The quality of the answers of one agent with one model."""

    model: str
    agent: str
    match_rate: Cell
    mean_score: Cell


@dataclass(frozen=True)
class ModelPanel:
    """The bars of one model in Figure 2."""

    model: str
    bars: tuple[FigureBar, ...]
    guess: FigureBar | None
    """The reference line; None if the agent `guess` was not run."""
    never_queried: tuple[FigureBar, ...]
    """The bars of the second reference line, one per agent (section 4.3 of the paper).

    A bar covers the interactions in which the agent sent no query. An agent without these interactions has no
    bar.
    """


@dataclass(frozen=True)
class ModelBars:
    """The bars of one model in Figure 4, for the agent `sequential`.

    steps: for each step, the share of interactions whose revised verdict is Perfect. The key `all` has the
    share of interactions in which every step is Perfect.
    """

    model: str
    bar: FigureBar
    guess: FigureBar | None
    steps: dict[str, Cell]


@dataclass(frozen=True)
class QueryPoint:
    """One interaction in Figure 3. quality: 1 for a match, 0 for no match, or a score from 1 to 5."""

    interaction: str
    model: str
    agent: str
    valid_queries: int
    quality: float


@dataclass(frozen=True)
class Scatter:
    """Figure 3 for one kind of item.

    pearson, spearman: the coefficients. If a coefficient is None, `why` is the reason.
    """

    points: tuple[QueryPoint, ...]
    n: int
    failed: int
    """Number of interactions that have no point because they have no answer or no verdict."""
    pearson: float | None
    spearman: float | None
    why: str
    basis: Derivation | None = None
    """The derivation of the figure from the verdicts on its interactions."""
    pearson_interval: Interval | None = None
    """The 95% interval of `pearson`; None if there are too few items, or if the interval has zero width.

    The bootstrap samples items, because interactions on the same item are not independent.
    """
    spearman_interval: Interval | None = None
    items: int = 0
    """Number of distinct items among the points; 0 if the coefficients are not defined."""

    @property
    def correlations(self) -> tuple[Cell, Cell]:
        """Both coefficients as table cells: Pearson, then Spearman."""
        both = ((self.pearson, self.pearson_interval), (self.spearman, self.spearman_interval))
        first, second = (
            Cell(
                value,
                self.n,
                self.failed,
                interval,
                ROWS,
                self.why or ("" if interval else explain_missing(self.items, ITEMS)),
                self.basis,
            )
            for value, interval in both
        )
        return first, second


class FigureSeries(BaseModel):
    """Figures 2 to 4; each figure may be empty."""

    model_config = ConfigDict(frozen=True)

    agents: tuple[ModelPanel, ...] = Field(default=(), alias="2")
    scatters: Mapping[str, Scatter] = Field(default={}, alias="3")
    models: tuple[ModelBars, ...] = Field(default=(), alias="4")


@dataclass(frozen=True)
class PointSample:
    """The points of a scatter plot as arrays of shape (points,); the bootstrap weights each point."""

    queries: FloatArray
    quality: FloatArray

    @property
    def counts(self) -> IntArray:
        """Return an array of ones, because each point is one judgement."""
        return np.ones(len(self.queries), dtype=np.int64)

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute the Pearson and Spearman coefficients; each array has one value per row of `weights`."""
        return {
            "pearson": correlate(self.queries, self.quality, weights),
            "spearman": correlate(rank(self.queries, weights), rank(self.quality, weights), weights),
        }


def measure_figures(
    outcomes: Sequence[AnswerOutcome], peers: Peers, entry: AgentEvaluation
) -> dict[str, object]:
    """Compute Figures 2 to 4 in the format of `FigureSeries`, keyed by figure number: `2`, `3` and `4`."""
    return {
        "2": [_measure_agents(outcomes, model, entry) for model in entry.models],
        "3": {kind: _correlate_queries(outcomes, kind) for kind in KINDS},
        "4": [
            _measure_model(outcomes, peers, model, entry)
            for model in entry.models
            if "sequential" in entry.agents
        ],
    }


def _measure_agents(outcomes: Sequence[AnswerOutcome], model: str, entry: AgentEvaluation) -> ModelPanel:
    idle = [outcome for outcome in select(outcomes, model=model) if not outcome.interaction.queries]
    return ModelPanel(
        model,
        tuple(_make_bar(outcomes, model, agent) for agent in entry.agents if agent != GUESS),
        _make_guess(outcomes, model, entry),
        tuple(_make_bar(idle, model, agent, idle=True) for agent in REVIEWED if select(idle, agent=agent)),
    )


def _measure_model(
    outcomes: Sequence[AnswerOutcome], peers: Peers, model: str, entry: AgentEvaluation
) -> ModelBars:
    ids = [outcome.interaction.id for outcome in select(outcomes, model=model, agent="sequential")]
    rows = choose_interactions({"model": model, "agent": "sequential"})
    steps = {
        step: rate_perfect(ids, step, peers.revisions, derive_perfect("revisions", rows, step))
        for step in STEPS
    }
    steps["all"] = rate_all_perfect(ids, peers.revisions, derive_perfect("revisions", rows))
    bar = _make_bar(outcomes, model, "sequential")
    return ModelBars(model, bar, _make_guess(outcomes, model, entry), steps)


def _make_guess(outcomes: Sequence[AnswerOutcome], model: str, entry: AgentEvaluation) -> FigureBar | None:
    return _make_bar(outcomes, model, GUESS) if GUESS in entry.agents else None


def _make_bar(outcomes: Sequence[AnswerOutcome], model: str, agent: str, *, idle: bool = False) -> FigureBar:
    """Build an agent's bar. idle: whether `outcomes` contains only interactions without a query."""
    own = select(outcomes, model=model, agent=agent)
    rows = choose_interactions({"model": model, "agent": agent, **({"count(queries)": 0} if idle else {})})
    return FigureBar(model, agent, rate_matches(own, rows), average_scores(own, rows))


def _correlate_queries(outcomes: Sequence[AnswerOutcome], kind: str) -> Scatter:
    """Correlate the number of valid queries with quality, over scored interactions of agents that query."""
    rows = Selection(
        "reference_verdicts", {"kind": kind}, {"interaction": choose_interactions({"agent": REVIEWED})}
    )
    derivation = Derivation("correlation of valid queries and quality", (rows,))
    asked = [outcome for outcome in select(outcomes, kind=kind) if outcome.interaction.agent in REVIEWED]
    scored = [(outcome.interaction, outcome.quality) for outcome in asked if outcome.quality is not None]
    points = tuple(
        QueryPoint(interaction.id, interaction.model, interaction.agent, count_valid(interaction), quality)
        for interaction, quality in scored
    )
    queries = np.array([point.valid_queries for point in points], dtype=np.float64)
    quality = np.array([point.quality for point in points], dtype=np.float64)
    why = _find_obstacle(queries.tolist(), quality.tolist())
    failed = len(asked) - len(points)
    if why:
        return Scatter(points, len(points), failed, None, None, why, derivation)
    sample = PointSample(queries, quality)
    found = sample.figures(np.ones((1, len(points))))
    items = sorted({interaction.item for interaction, _ in scored})
    clusters = np.array([items.index(interaction.item) for interaction, _ in scored], dtype=np.int64)
    drawn = bootstrap(sample, DRAWS.draws, DRAWS.seed, clusters)
    pearson, _ = settle_interval(drawn["pearson"], len(items), ITEMS)
    spearman, _ = settle_interval(drawn["spearman"], len(items), ITEMS)
    return Scatter(
        points,
        len(points),
        failed,
        float(found["pearson"][0]),
        float(found["spearman"][0]),
        "",
        derivation,
        pearson,
        spearman,
        len(items),
    )


def _find_obstacle(queries: Sequence[float], quality: Sequence[float]) -> str:
    """Return why the correlation is not defined, or an empty string if the correlation is defined."""
    if len(queries) < LEAST_POINTS:
        return f"{len(queries)} points, but a correlation needs at least {LEAST_POINTS}"
    if len(set(queries)) == 1:
        return "all interactions have the same number of valid queries"
    return "all interactions have the same quality" if len(set(quality)) == 1 else ""


def draw_agents(models: Iterable[ModelPanel]) -> list[Scale]:
    """Draw Figure 2: per model, a chart of match rates and a chart of scores, with the reference lines last.

    One reference line shows the agent `guess`. The others show each querying agent's interactions without a
    query (section 4.3 of the paper).
    """
    scales = []
    for model in models:
        bars = [(bar.agent, bar) for bar in model.bars]
        bars += [("baseline: agent “guess”", model.guess)] if model.guess else []
        bars += [(f"baseline: agent “{bar.agent}” without a query", bar) for bar in model.never_queried]
        scales += [
            Scale(f"{model.model}: {title}", [(label, getattr(bar, measure)) for label, bar in bars], *scale)
            for title, scale, measure in QUALITY
        ]
    return scales


def draw_models(models: Sequence[ModelBars]) -> list[Scale]:
    """Draw Figure 4: the quality of the answers, and the share of Perfect verdicts for each step."""
    if not models:
        return []
    bars = [
        (label, bar)
        for row in models
        for label, bar in ((row.model, row.bar), (f"{row.model} · guess", row.guess))
        if bar is not None
    ]
    return [
        *(
            Scale(title, [(label, getattr(bar, measure)) for label, bar in bars], *scale)
            for title, scale, measure in QUALITY
        ),
        *(
            Scale(
                f"all steps {Verdict.PERFECT.shown}" if step == "all" else f"{step} {Verdict.PERFECT.shown}",
                [(row.model, row.steps[step]) for row in models if step in row.steps],
            )
            for step in models[0].steps
        ),
    ]


def draw_queries(scatters: Mapping[str, Scatter]) -> list[Chart]:
    """Draw Figure 3: per kind of item, the interactions as points, and both correlations."""
    charts: list[Chart] = []
    for kind, scatter in scatters.items():
        bottom, top = SCORE if kind == INTERPRETIVE else SHARE
        note = f"n = {scatter.n:,}" + (f", {scatter.failed:,} failed" if scatter.failed else "")
        most = max([LEAST_AXIS, *(point.valid_queries for point in scatter.points)])
        charts += [
            draw_scatter(
                f"{kind} items: quality",
                [Point(point.valid_queries, point.quality) for point in scatter.points],
                Axis("valid queries", 0, most),
                Axis("quality", bottom, top),
                note=note,
            ),
            Scale(
                f"{kind} items: correlation",
                list(zip(("Pearson", "Spearman"), scatter.correlations, strict=True)),
                -1,
                1,
            ),
        ]
    return charts


def tabulate_figures(series: FigureSeries) -> dict[str, FigureTable]:
    """Make a table of each figure, for the page's data file; Figures 2 and 4 have one row per bar."""
    scales = {"figure 2": draw_agents(series.agents), "figure 4": draw_models(series.models)}
    tables = {
        name: FigureTable(
            name,
            name.capitalize(),
            ("panel", "bar"),
            ("value",),
            tuple(Line((scale.title, label), (cell,)) for scale in drawn for label, cell in scale.lines),
        )
        for name, drawn in scales.items()
    }
    lines = tuple(Line((kind,), scatter.correlations) for kind, scatter in series.scatters.items())
    name = "figure 3"
    return {
        **tables,
        name: FigureTable(name, name.capitalize(), ("items",), ("pearson", "spearman"), lines),
    }
