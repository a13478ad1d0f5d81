"""`benchloom evaluate longform`: a system of the user's on a dataset folder, judged as the agents are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.judging.canaries import CanaryRow
from tasks.judging.health_basis import derive_health
from tasks.judging.trust import TrustThresholds, find_warnings
from tasks.lineage.bases import select_ids
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.labels import STEPS
from tasks.longform.judge.opinions import find_gap
from tasks.longform.judge.peer_canaries import measure_peers
from tasks.longform.judge.peers import Review, group_reviews
from tasks.longform.outcomes import (
    INTERACTIONS,
    AnswerOutcome,
    average_scores,
    count_outcomes,
    join_outcomes,
    rate_matches,
)
from tasks.longform.own_entries import SystemLimits
from tasks.longform.own_items import read_own_items
from tasks.longform.publish.cautions import warn_failed
from tasks.longform.solve.interaction import Interaction
from tasks.longform.tables_peers import derive_perfect, rate_perfect
from tasks.reports.figure_cells import FigureCell, mean_cell, round_figures
from tasks.systems.capabilities import needs_documents
from tasks.systems.entries import SystemEntry
from tasks.systems.evaluation import Evaluated, EvaluationOptions, OwnDataset, ReadSection, refuse_options

STAGES = (
    "system_interactions",
    "reference_verdicts",
    "reviews",
    "meta_reviews",
    "revisions",
    "error_types",
    "peer_canaries",
)
PEERS = ("reviews", "meta_reviews", "revisions")


def read_own(options: EvaluationOptions, entry: SystemEntry, read: ReadSection) -> OwnDataset:
    """Read and check the items. Raises BadInput, one line."""
    refuse_options(options, "a long-form question comes with its database")
    if needs_documents(entry):
        raise BadInput(f"systems.{options.system}", "retrieves from documents, and long-form items have none")
    params = read("longform.system_interactions", SystemLimits)
    found = read_own_items(options.dataset)
    items = found.items[: options.limit]
    settings = entry.model_dump(mode="json"), params.model_dump(mode="json")
    asked = [(item.id, item.question, item.kind, item.reference, item.script) for item in items]
    key = make_id("evaluation", options.system, asked, *settings, options.as_of)
    judged = params.model_dump(include={"judge", "reviewer", "reviewers", "meta_reviewers"})
    return OwnDataset(
        key,
        {
            "longform.systems": {"set": key, "system": options.system},
            "longform.evaluations": {"set": key, **judged},
        },
        {"items": (LongformItem, items)},
        tuple(f"longform.{stage}" for stage in STAGES),
        found.problems,
        (),
        {"items": len(items)},
        kept=("items",),
    )


def evaluate(rows: Mapping[str, Sequence[Any]], options: EvaluationOptions, read: ReadSection) -> Evaluated:
    """Compute the figures from the stages' rows. rows: name of the artifact -> its rows."""
    outcomes = join_outcomes(rows["items"], rows["interactions"], rows["reference_verdicts"])
    health = measure_peers(rows["peer_canaries"])
    thresholds = read("judging.thresholds", TrustThresholds)
    whole = [outcome.interaction for outcome in outcomes if is_reviewed(outcome.interaction)]
    reviews = {name: _keep(rows[name], whole) for name in PEERS}
    answered = [outcome for outcome in outcomes if outcome.answered]
    warnings: Sequence[str] = find_warnings(
        thresholds,
        n=len(answered),
        n_unscored=sum(outcome.quality is None for outcome in answered),
        canaries=health.judge,
    )
    if whole:
        given = [review for name in PEERS for review in reviews[name]]
        missing = sum(review.verdict is None for review in given)
        peers = find_warnings(thresholds, n=len(given), n_unscored=missing, canaries=health.reviewer)
        warnings = [*warnings, *(f"peer review: {warning}" for warning in peers)]
    counted = count_outcomes(outcomes)
    # failed: without an answer; unscored: without a verdict; reviewed: with a plan.
    counts = {name: counted[name] for name in ("failed", "scored", "unscored")}
    figures = {
        "warnings": [*warnings, *warn_failed(outcomes, thresholds.unscored_share)],
        "canaries": asdict(health),
        "counts": {"items": len(outcomes), **counts, "reviewed": len(whole)},
        "answers": measure_answers(outcomes),
        "steps": {step: measure_step(step, whole, reviews) for step in STEPS} if whole else {},
    }
    failures = list_failures(outcomes, reviews, rows)
    return Evaluated(_round(figures), failures, derive_counts(outcomes, rows["peer_canaries"]))


def is_reviewed(interaction: Interaction) -> bool:
    """Tell whether peers were asked about an interaction: it has a plan and an answer."""
    return not find_gap(interaction)


def measure_answers(outcomes: Sequence[AnswerOutcome]) -> dict[str, FigureCell]:
    """Compute quality by kind, and means of queries and answers (Table 2).

    An interaction without a query counts as 0, unless none has any: such a system does not tell its queries.
    """
    asking = outcomes if any(outcome.interaction.queries for outcome in outcomes) else []
    return {
        "match rate": rate_matches(outcomes, INTERACTIONS),
        "mean score": average_scores(outcomes, INTERACTIONS),
        "queries": mean_cell(
            [outcome.n_queries for outcome in asking],
            basis=Derivation("mean", (_select_known(asking, "n_queries"),), "count(queries)"),
        ),
        "valid queries": mean_cell(
            [outcome.n_valid for outcome in asking],
            basis=Derivation("mean of the queries with rows", (_select_known(asking, "n_valid"),)),
        ),
        "answer words": mean_cell(
            [outcome.answer_words for outcome in outcomes],
            basis=Derivation("mean of the answers' words", (_select_known(outcomes, "answer_words"),)),
        ),
    }


def derive_counts(outcomes: Sequence[AnswerOutcome], canaries: Sequence[CanaryRow]) -> dict[str, Derivation]:
    """Name the rows of the counts, by their places in the figures."""
    answered = [outcome for outcome in outcomes if outcome.answered]
    parts = {
        "items": outcomes,
        "failed": [outcome for outcome in outcomes if not outcome.answered],
        "scored": [outcome for outcome in answered if outcome.quality is not None],
        "unscored": [outcome for outcome in answered if outcome.quality is None],
        "reviewed": [outcome for outcome in outcomes if is_reviewed(outcome.interaction)],
    }
    kinds = {row.kind for row in canaries}
    tried = {"judge": kinds - set(STEPS), "reviewer": kinds & set(STEPS)}
    derived = {
        f"/counts/{name}": Derivation("count", (_select_interactions(part),)) for name, part in parts.items()
    }
    derived["/items"] = Derivation("count", (Selection("items"),))
    for name, own in tried.items():
        derived |= derive_health(
            f"/canaries/{name}", Selection("peer_canaries", {"kind": tuple(sorted(own)), "further": False})
        )
    return derived


def _select_interactions(outcomes: Sequence[AnswerOutcome]) -> Selection:
    return select_ids("interactions", [outcome.interaction.id for outcome in outcomes])


def _select_known(outcomes: Sequence[AnswerOutcome], name: str) -> Selection:
    return _select_interactions([outcome for outcome in outcomes if getattr(outcome, name) is not None])


def measure_step(
    step: str, whole: Sequence[Interaction], reviews: Mapping[str, Sequence[Review]]
) -> dict[str, FigureCell]:
    """Compute the share of interactions whose step is Perfect, by the majority of each kind of peers."""
    ids = [interaction.id for interaction in whole]
    return {
        name: rate_perfect(ids, step, group_reviews(reviews[name]), derive_perfect(name, INTERACTIONS, step))
        for name in PEERS
    }


def _keep(reviews: Sequence[Review], whole: Sequence[Interaction]) -> list[Review]:
    ids = {interaction.id for interaction in whole}
    return [review for review in reviews if review.interaction in ids]


def list_failures(
    outcomes: Sequence[AnswerOutcome],
    reviews: Mapping[str, Sequence[Review]],
    rows: Mapping[str, Sequence[Any]],
) -> list[str]:
    """List what has no answer or verdict, one line each, with the reason."""
    lines = []
    for outcome in outcomes:
        item, verdict = outcome.interaction.item, outcome.verdict
        if not outcome.answered:
            lines.append(f"item {item}: no answer: {outcome.interaction.problem or 'the answer is empty'}")
        elif outcome.quality is None:
            lines.append(f"item {item}: unscored: {verdict.problem if verdict else 'not judged'}")
    lines += [
        f"item {review.item}: {name}, {review.step}: no verdict: {review.problem}"
        for name in PEERS
        for review in reviews[name]
        if review.verdict is None
    ]
    unread = [canary for canary in rows["peer_canaries"] if canary.given is None]
    return lines + [f"canary {canary.id}: unscored: {canary.problem}" for canary in unread]


def _round(figures: Mapping[str, object]) -> dict[str, object]:
    rounded = round_figures(figures)
    assert isinstance(rounded, dict)  # noqa: S101 - as it was given
    return rounded
