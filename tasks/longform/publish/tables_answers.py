"""Tables 2 and 3: the agents' answers and how they came about, with and without queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.classify import CONCLUSIVE, INTERPRETIVE, KINDS
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.peers import REVIEWED
from tasks.longform.publish.answer_basis import choose_interactions
from tasks.longform.publish.outcomes import AnswerOutcome, average_scores, rate_matches, select
from tasks.reports.figure_cells import (
    FigureCell,
    FigureTable,
    Line,
    leave_empty,
    mean_cell,
)

MEASURES: Mapping[str, Callable[[AnswerOutcome], int | None]] = {
    "plan, words": lambda outcome: outcome.plan_words,
    "queries": lambda outcome: outcome.n_queries,
    "valid queries": lambda outcome: outcome.n_valid,
    "answer, words": lambda outcome: outcome.answer_words,
}
INTERACTIVE = ("plan, words", "queries", "valid queries")
"""The measures of agents that query."""
COMPARED = ("none", "sequential")
INITIALS = {CONCLUSIVE: "C", INTERPRETIVE: "I"}


def compare_agents(
    outcomes: Sequence[AnswerOutcome], entry: AgentEvaluation, tokens: Mapping[str, int] | None
) -> FigureTable:
    """Make Table 2: quality, and measures of the interactions, for C and I apart.

    tokens: by interaction; None leaves the column out.
    """
    names = [*MEASURES, *(["tokens"] if tokens is not None else [])]
    lines = []
    for model in entry.models:
        for agent in entry.agents:
            own, chosen = select(outcomes, model=model, agent=agent), {"model": model, "agent": agent}
            cells = [
                _measure(name, agent, select(own, kind=kind), tokens, choose_interactions(chosen, kind=kind))
                for name in names
                for kind in KINDS
            ]
            rows = choose_interactions(chosen)
            lines.append(Line((model, agent), (rate_matches(own, rows), average_scores(own, rows), *cells)))
    return FigureTable(
        "2",
        "Answers against the reference, and measures of the interactions",
        ("model", "agent"),
        (
            "match rate (C)",
            "mean score, 1 to 5 (I)",
            *(f"{name} ({INITIALS[kind]})" for name in names for kind in KINDS),
        ),
        tuple(lines),
        (
            "C: conclusive, I: interpretive items. All but the match rate are means per item.",
            "A query is valid if it ran and its result has rows.",
            "Interactions without an answer or a verdict, and unreadable replies, are in no mean.",
        ),
    )


def _measure(
    name: str,
    agent: str,
    outcomes: Sequence[AnswerOutcome],
    tokens: Mapping[str, int] | None,
    rows: Selection,
) -> FigureCell:
    if name in INTERACTIVE and agent not in REVIEWED:
        return leave_empty("no plan" if name.startswith("plan") else "no queries")
    if name == "tokens":
        spent = [(tokens or {}).get(outcome.interaction.id) for outcome in outcomes]
        return mean_cell(spent, basis=Derivation("mean tokens of their calls", (rows,)))
    values = [MEASURES[name](outcome) for outcome in outcomes]
    counted = name == "queries" and None not in values
    basis = Derivation("mean", (rows,), "count(queries)") if counted else Derivation(f"mean {name}", (rows,))
    return mean_cell(values, basis=basis)


def compare_queries(
    outcomes: Sequence[AnswerOutcome], entry: AgentEvaluation, fitting: Collection[str], n_items: int
) -> FigureTable:
    """Make Table 3: `none` against `sequential` on the items whose records fit for every model.

    fitting: ids of these items.
    """
    lines = []
    for model in entry.models:
        for agent in COMPARED:
            own = select(outcomes, model=model, agent=agent, items=fitting)
            why = _find_obstacle(agent, entry, fitting)
            rows = choose_interactions({"model": model, "agent": agent, "item": tuple(sorted(fitting))})
            cells = (leave_empty(why),) * 2 if why else (rate_matches(own, rows), average_scores(own, rows))
            lines.append(Line((model, agent), cells))
    size = f"{len(fitting)} of {n_items} items: those whose records fit the prompt of every model."
    return FigureTable(
        "3",
        "With and without queries",
        ("model", "agent"),
        ("match rate (C)", "mean score, 1 to 5 (I)"),
        tuple(lines),
        (size if "none" in entry.agents else "`none` was not run: which records fit is not known.",),
    )


def _find_obstacle(agent: str, entry: AgentEvaluation, fitting: Collection[str]) -> str:
    """Say why there is nothing to compare; empty if there is."""
    if agent not in entry.agents:
        return f"the agent `{agent}` was not run"
    if "none" not in entry.agents:
        return "the agent `none` was not run, and which records fit is not known"
    return "" if fitting else "there is no item whose records fit for every model"
