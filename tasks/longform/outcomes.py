"""Join interactions with items and verdicts, and compute the counts and means for tables and figures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import CellValue, Selection
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import CONCLUSIVE, INTERPRETIVE, Verdict
from tasks.longform.solve.interaction import UNFIT, Interaction, find_no_answer
from tasks.reports.tables import Cell, mean_cell, rate_cell

MATCH_RATE, MEAN_SCORE = "match rate (C)", "mean score, 1 to 5 (I)"
"""Names of the two measures of quality: for conclusive items (C) and for interpretive items (I)."""
INTERACTIONS = Selection("interactions")
"""All interactions of an evaluation."""
PLANNING = ("agent_plan", "agent_next_query")
QUERYING = ("agent_queries", "agent_next_query")
"""Prompts whose replies contain the plan (PLANNING) or the queries (QUERYING) of an interaction."""


@dataclass(frozen=True)
class AnswerOutcome:
    """One interaction, with the kind of its item (conclusive or interpretive) and its answer's verdict."""

    interaction: Interaction
    kind: str
    verdict: ReferenceVerdict | None

    @property
    def answered(self) -> bool:
        """Whether the interaction has an answer."""
        return not find_no_answer(self.interaction)

    @property
    def quality(self) -> float | None:
        """Return 1 or 0 for a match or no match, or the score from 1 to 5; None if the answer is unscored."""
        verdict = self.verdict
        if verdict is None or not self.answered:
            return None
        return verdict.verdict.score if verdict.verdict else None

    @property
    def plan_words(self) -> int | None:
        """Return the number of words in the plan; None if no reply with a plan could be parsed."""
        lost = not self.interaction.plan.strip() and _has_failed(self.interaction, PLANNING)
        return None if lost else len(self.interaction.plan.split())

    @property
    def n_queries(self) -> int | None:
        """Return the number of queries of the agent; None if no reply with queries could be parsed."""
        lost = not self.interaction.queries and _has_failed(self.interaction, QUERYING)
        return None if lost else len(self.interaction.queries)

    @property
    def n_valid(self) -> int | None:
        """Return the number of valid queries: queries whose results have rows (section 4.1 of the paper).

        The number is None if `n_queries` is None.
        """
        return None if self.n_queries is None else count_valid(self.interaction)

    @property
    def answer_words(self) -> int | None:
        """Return the number of words in the answer; None if there is no answer."""
        return len((self.interaction.answer or "").split()) if self.answered else None


def count_valid(interaction: Interaction) -> int:
    """Count an interaction's queries whose results have rows."""
    return sum(not query.error and query.n_rows > 0 for query in interaction.queries)


def _has_failed(interaction: Interaction, prompts: Iterable[str]) -> bool:
    return any(f"{prompt}: " in interaction.problem for prompt in prompts)


def join_outcomes(
    items: Iterable[LongformItem], interactions: Iterable[Interaction], verdicts: Iterable[ReferenceVerdict]
) -> list[AnswerOutcome]:
    """Join interactions with the kinds of their items and their verdicts, sorted by model, agent and item."""
    kinds = {item.id: item.kind for item in items}
    judged = {verdict.interaction: verdict for verdict in verdicts}
    return [
        AnswerOutcome(interaction, kinds[interaction.item], judged.get(interaction.id))
        for interaction in sorted(interactions, key=lambda row: (row.model, row.agent, row.item))
    ]


def select(
    outcomes: Iterable[AnswerOutcome],
    *,
    model: str = "",
    agent: str = "",
    kind: str = "",
    items: Collection[str] | None = None,
) -> list[AnswerOutcome]:
    """Select outcomes by model, agent, kind of item and item ids; "" or None disables a filter."""
    return [
        outcome
        for outcome in outcomes
        if model in ("", outcome.interaction.model)
        and agent in ("", outcome.interaction.agent)
        and kind in ("", outcome.kind)
        and (items is None or outcome.interaction.item in items)
    ]


def choose_interactions(
    where: Mapping[str, CellValue | tuple[CellValue, ...]], *, kind: str = ""
) -> Selection:
    """Select interactions by their columns and by the kind of their items.

    An empty kind selects all kinds.
    """
    through = {"item": Selection("items", {"kind": kind})} if kind else {}
    return Selection("interactions", where, through)


def derive_peers(
    measure: str, artifact: str, interactions: Selection, step: str = "", hit: CellValue = None
) -> Derivation:
    """Return the derivation of a figure from the peers' verdicts on some interactions.

    artifact: `reviews`, `meta_reviews` or `revisions`. step: empty for all steps. hit: the verdict whose
    share is computed, if `measure` is `share`.
    """
    rows = Selection(artifact, {"step": step} if step else {}, {"interaction": interactions})
    return Derivation(measure, (rows,), "verdict", hit=hit)


def count_outcomes(outcomes: Sequence[AnswerOutcome]) -> dict[str, int]:
    """Count interactions by outcome, all queries, and valid queries.

    Failed interactions have no answer. Answered interactions are scored if they have a verdict, and unscored
    otherwise.
    """
    answered = [outcome for outcome in outcomes if outcome.answered]
    scored = sum(outcome.quality is not None for outcome in answered)
    return {
        "interactions": len(outcomes),
        "answered": len(answered),
        "failed": len(outcomes) - len(answered),
        "scored": scored,
        "unscored": len(answered) - scored,
        "queries": sum(len(outcome.interaction.queries) for outcome in outcomes),
        "valid_queries": sum(count_valid(outcome.interaction) for outcome in outcomes),
    }


def rate_matches(outcomes: Iterable[AnswerOutcome], rows: Selection) -> Cell:
    """Compute the match rate over conclusive items, 0 to 1.

    rows: selects the interactions of `outcomes`, for the derivation of the match rate.
    """
    qualities = [outcome.quality for outcome in select(outcomes, kind=CONCLUSIVE)]
    matches = [None if quality is None else quality == 1 for quality in qualities]
    judged = Selection("reference_verdicts", {"kind": CONCLUSIVE}, {"interaction": rows})
    return rate_cell(matches, derivation=Derivation("share", (judged,), "label", hit=Verdict.MATCH))


def average_scores(outcomes: Iterable[AnswerOutcome], rows: Selection) -> Cell:
    """Compute the mean score over interpretive items, 1 to 5.

    rows: selects the interactions of `outcomes`, for the derivation of the mean score.
    """
    scores = [outcome.quality for outcome in select(outcomes, kind=INTERPRETIVE)]
    judged = Selection("reference_verdicts", {"kind": INTERPRETIVE}, {"interaction": rows})
    return mean_cell(scores, interval=True, derivation=Derivation("mean", (judged,), "score"))


def list_fitting(outcomes: Iterable[AnswerOutcome], items: Iterable[str], models: Sequence[str]) -> set[str]:
    """List the ids of the items whose database records fit into every model's prompt.

    An item's records fit in the prompt if the agent `none` answered, or if it failed for a reason other than
    the prompt's length. An item is left out if `none` did not run on it with every model.
    """
    fits = {
        (outcome.interaction.model, outcome.interaction.item)
        for outcome in select(outcomes, agent="none")
        if outcome.answered or UNFIT not in outcome.interaction.problem
    }
    return {item for item in items if all((model, item) in fits for model in models)}


def count_tokens(outcomes: Iterable[AnswerOutcome], calls: Path) -> Mapping[str, int] | None:
    """Sum prompt and completion tokens by interaction, over all attempts; None if the file does not exist.

    calls: the Parquet file of model calls. An interaction without calls is not in the result. A call that
    several interactions share counts in full for each interaction.
    """
    if not calls.is_file():
        return None
    columns = ["id", "row", "prompt_tokens", "completion_tokens"]
    by_row: dict[str, set[str]] = {}
    sizes: dict[str, int] = {}
    for call in pq.read_table(calls, columns=columns).to_pylist():
        by_row.setdefault(call["row"], set()).add(call["id"])
        sizes[call["id"]] = call["prompt_tokens"] + call["completion_tokens"]
    tokens = {}
    for outcome in outcomes:
        made = {origin.reference for origin in outcome.interaction.origin if origin.kind == "call"}
        made = (made & sizes.keys()) | by_row.get(outcome.interaction.id, set())
        if made:
            tokens[outcome.interaction.id] = sum(sizes[call] for call in made)
    return tokens
