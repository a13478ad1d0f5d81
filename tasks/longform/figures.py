"""Figures 2 to 4: agents and models against a guess, and queries against the quality of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.classify import CONCLUSIVE, INTERPRETIVE
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.labels import STEPS
from tasks.longform.judge.peers import REVIEWED
from tasks.longform.publish.answer_basis import choose_interactions
from tasks.longform.publish.outcomes import AnswerOutcome, average_scores, count_valid, rate_matches, select
from tasks.longform.publish.tables_peers import Peers, derive_perfect, rate_all_perfect, rate_perfect
from tasks.reports.figure_cells import DRAWS, FigureCell
from tasks.scoring.correlation import correlate, rank
from tasks.scoring.metric import FloatArray, IntArray
from tasks.scoring.statistics import Interval, bootstrap

GUESS = "guess"
LEAST_POINTS = 3


@dataclass(frozen=True)
class FigureBar:
    """The quality of one agent by one model."""

    model: str
    agent: str
    match_rate: FigureCell
    mean_score: FigureCell


@dataclass(frozen=True)
class ModelPanel:
    """One model of Figure 2."""

    model: str
    bars: tuple[FigureBar, ...]
    guess: FigureBar | None
    """The reference line; None if the agent `guess` was not run."""
    never_queried: tuple[FigureBar, ...]
    """The second reference (section 4.3): by agent, the items on which it issued no query; none if it did."""


@dataclass(frozen=True)
class ModelBars:
    """One model of Figure 4: the sequential agent. steps: share of Perfect after revision, `all` of all."""

    model: str
    bar: FigureBar
    guess: FigureBar | None
    steps: dict[str, FigureCell]


@dataclass(frozen=True)
class Point:
    """One interaction of Figure 3. quality: 1 or 0 for a match or none, or the score 1 to 5."""

    interaction: str
    model: str
    agent: str
    valid_queries: int
    quality: float


@dataclass(frozen=True)
class Scatter:
    """Figure 3 of one kind of item. pearson, spearman: None where not defined; `why` says the reason."""

    points: tuple[Point, ...]
    n: int
    failed: int
    """Interactions without an answer or a verdict: no points."""
    pearson: float | None
    spearman: float | None
    why: str
    basis: Derivation | None = None
    """The verdicts of all its interactions."""
    pearson_interval: Interval | None = None
    """95%, of a bootstrap over items, as interactions on one item are not independent; None of too few."""
    spearman_interval: Interval | None = None


@dataclass(frozen=True)
class PointSample:
    """The points of a scatter as numbers; each is a unit."""

    queries: FloatArray
    quality: FloatArray

    @property
    def counts(self) -> IntArray:
        """One of each."""
        return np.ones(len(self.queries), dtype=np.int64)

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute both coefficients."""
        return {
            "pearson": correlate(self.queries, self.quality, weights),
            "spearman": correlate(rank(self.queries, weights), rank(self.quality, weights), weights),
        }


def draw_agents(outcomes: Sequence[AnswerOutcome], entry: AgentEvaluation) -> list[ModelPanel]:
    """Make Figure 2."""
    return [
        ModelPanel(
            model,
            tuple(_make_bar(outcomes, model, agent) for agent in entry.agents if agent != GUESS),
            _make_guess(outcomes, model, entry),
            _list_never_queried(outcomes, model),
        )
        for model in entry.models
    ]


def draw_models(outcomes: Sequence[AnswerOutcome], peers: Peers, entry: AgentEvaluation) -> list[ModelBars]:
    """Make Figure 4; empty if the sequential agent was not run."""
    panels = []
    for model in entry.models if "sequential" in entry.agents else ():
        ids = [o.interaction.id for o in select(outcomes, model=model, agent="sequential")]
        rows = choose_interactions({"model": model, "agent": "sequential"})
        steps = {
            step: rate_perfect(ids, step, peers.revisions, derive_perfect("revisions", rows, step))
            for step in STEPS
        }
        steps["all"] = rate_all_perfect(ids, peers.revisions, derive_perfect("revisions", rows))
        bar = _make_bar(outcomes, model, "sequential")
        panels.append(ModelBars(model, bar, _make_guess(outcomes, model, entry), steps))
    return panels


def _make_guess(outcomes: Sequence[AnswerOutcome], model: str, entry: AgentEvaluation) -> FigureBar | None:
    return _make_bar(outcomes, model, GUESS) if GUESS in entry.agents else None


def _make_bar(outcomes: Sequence[AnswerOutcome], model: str, agent: str, *, idle: bool = False) -> FigureBar:
    """Make a bar. idle: the outcomes are those of its interactions without a query."""
    own = select(outcomes, model=model, agent=agent)
    rows = choose_interactions({"model": model, "agent": agent, **({"count(queries)": 0} if idle else {})})
    return FigureBar(model, agent, rate_matches(own, rows), average_scores(own, rows))


def _list_never_queried(outcomes: Sequence[AnswerOutcome], model: str) -> tuple[FigureBar, ...]:
    idle = [outcome for outcome in select(outcomes, model=model) if not outcome.interaction.queries]
    agents = [agent for agent in REVIEWED if select(idle, agent=agent)]
    return tuple(_make_bar(idle, model, agent, idle=True) for agent in agents)


def draw_queries(outcomes: Sequence[AnswerOutcome]) -> dict[str, Scatter]:
    """Make Figure 3, for conclusive and interpretive items apart; of agents that query."""
    own = [outcome for outcome in outcomes if outcome.interaction.agent in REVIEWED]
    return {
        kind: scatter(select(own, kind=kind), derive_scatter(kind)) for kind in (CONCLUSIVE, INTERPRETIVE)
    }


def derive_scatter(kind: str) -> Derivation:
    """Name the rows of a scatter: the verdicts on the answers of agents that query."""
    rows = Selection(
        "reference_verdicts", {"kind": kind}, {"interaction": choose_interactions({"agent": REVIEWED})}
    )
    return Derivation("correlation of valid queries and quality", (rows,))


def scatter(outcomes: Sequence[AnswerOutcome], basis: Derivation) -> Scatter:
    """Correlate the number of valid queries with quality, over interactions that are scored."""
    scored = [(outcome.interaction, outcome.quality) for outcome in outcomes if outcome.quality is not None]
    points = tuple(
        Point(interaction.id, interaction.model, interaction.agent, count_valid(interaction), quality)
        for interaction, quality in scored
    )
    queries = np.array([point.valid_queries for point in points], dtype=np.float64)
    quality = np.array([point.quality for point in points], dtype=np.float64)
    why = _find_obstacle(queries.tolist(), quality.tolist())
    failed = len(outcomes) - len(points)
    if why:
        return Scatter(points, len(points), failed, None, None, why, basis)
    sample = PointSample(queries, quality)
    found = sample.figures(np.ones((1, len(points))))
    items = sorted({interaction.item for interaction, _ in scored})
    clusters = np.array([items.index(interaction.item) for interaction, _ in scored], dtype=np.int64)
    # Of two items, every draw in which the coefficients are defined is the same.
    several = len(items) >= LEAST_POINTS
    drawn = bootstrap(sample, DRAWS.draws, DRAWS.seed, clusters) if several else {}
    return Scatter(
        points,
        len(points),
        failed,
        float(found["pearson"][0]),
        float(found["spearman"][0]),
        "",
        basis,
        drawn.get("pearson"),
        drawn.get("spearman"),
    )


def _find_obstacle(queries: Sequence[float], quality: Sequence[float]) -> str:
    """Say why there is no correlation; empty if there is one."""
    if len(queries) < LEAST_POINTS:
        return f"{len(queries)} points, and {LEAST_POINTS} are wanted"
    if len(set(queries)) == 1:
        return "all have the same number of valid queries"
    return "all have the same quality" if len(set(quality)) == 1 else ""
