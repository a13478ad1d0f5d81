"""Compute the figures of `benchloom evaluate longform`.

The command judges a user's system in the same way as the agents are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tasks.judging.canaries import CanaryRow
from tasks.judging.health_derivation import derive_health
from tasks.judging.trust import TrustThresholds, find_warnings
from tasks.lineage.bases import select_ids
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.peer_canaries import measure_peers
from tasks.longform.judge.peers import Review, group_reviews
from tasks.longform.labels import STEPS
from tasks.longform.outcomes import (
    INTERACTIONS,
    AnswerOutcome,
    average_scores,
    join_outcomes,
    rate_matches,
)
from tasks.longform.own_entries import SystemLimits
from tasks.longform.own_items import READER
from tasks.longform.publish.cautions import warn_failed
from tasks.longform.solve.interaction import Interaction, find_gap
from tasks.longform.tables_peers import derive_perfect, rate_perfect
from tasks.reports.own_evaluation import Evaluation, Measured, OwnRows, list_unread
from tasks.reports.printed import Printed, PrintedColumn, Rows
from tasks.reports.tables import Cell, mean_cell
from tasks.systems.evaluation import KEY, SYSTEM, EvaluationOptions, ReadSection
from tasks.systems.own_items import ItemDataset

PEERS = ("reviews", "meta_reviews", "revisions")


def measure(rows: OwnRows, options: EvaluationOptions, read: ReadSection) -> Measured:
    """Compute the figures of an evaluation from the rows of its stages, and list its failures."""
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
    figures = {
        "warnings": [*warnings, *warn_failed(outcomes, thresholds.unscored_share)],
        "canaries": asdict(health),
        "counts": count_outcomes(outcomes),
        "answers": measure_answers(outcomes),
        "steps": {step: measure_step(step, whole, reviews) for step in STEPS} if whole else {},
    }
    failures = list_failures(outcomes, reviews, rows)
    return Measured(figures, failures, derive_peers(rows["peer_canaries"]))


def is_reviewed(interaction: Interaction) -> bool:
    """Return whether an interaction has both a plan and an answer; peers review no other interactions."""
    return not find_gap(interaction)


def measure_answers(outcomes: Sequence[AnswerOutcome]) -> dict[str, Cell]:
    """Compute the figures of Table 2: answer quality by kind of item, and mean query and word counts.

    An interaction without queries counts as 0 queries. If no interaction has a query, the system does not
    report queries, so both mean query counts are empty.
    """
    asking = outcomes if any(outcome.interaction.queries for outcome in outcomes) else []
    return {
        "match rate": rate_matches(outcomes, INTERACTIONS),
        "mean score": average_scores(outcomes, INTERACTIONS),
        "queries": mean_cell(
            [outcome.n_queries for outcome in asking],
            derivation=Derivation("mean", (_select_known(asking, "n_queries"),), "count(queries)"),
        ),
        "valid queries": mean_cell(
            [outcome.n_valid for outcome in asking],
            derivation=Derivation("mean of the queries with rows", (_select_known(asking, "n_valid"),)),
        ),
        "answer words": mean_cell(
            [outcome.answer_words for outcome in outcomes],
            derivation=Derivation("mean of the answers' words", (_select_known(outcomes, "answer_words"),)),
        ),
    }


def count_outcomes(outcomes: Sequence[AnswerOutcome]) -> dict[str, Derivation]:
    """Return, for each outcome, a derivation that counts the interactions with this outcome.

    - `items`: all interactions
    - `failed`: interactions without an answer
    - `scored`, `unscored`: interactions with an answer, with and without a verdict
    - `reviewed`: interactions with a plan and an answer
    """
    answered = [outcome for outcome in outcomes if outcome.answered]
    parts = {
        "items": outcomes,
        "failed": [outcome for outcome in outcomes if not outcome.answered],
        "scored": [outcome for outcome in answered if outcome.quality is not None],
        "unscored": [outcome for outcome in answered if outcome.quality is None],
        "reviewed": [outcome for outcome in outcomes if is_reviewed(outcome.interaction)],
    }
    return {name: Derivation("count", (_select_interactions(part),)) for name, part in parts.items()}


def derive_peers(canaries: Sequence[CanaryRow]) -> dict[str, Derivation]:
    """Return the derivations of the judge's and the reviewer's figures on canaries, by JSON pointer."""
    kinds = {row.kind for row in canaries}
    derived: dict[str, Derivation] = {}
    for name, tried in {"judge": kinds - set(STEPS), "reviewer": kinds & set(STEPS)}.items():
        rows = Selection("peer_canaries", {"kind": tuple(sorted(tried)), "further": False})
        derived |= derive_health(f"/canaries/{name}", rows)
    return derived


def _select_interactions(outcomes: Sequence[AnswerOutcome]) -> Selection:
    return select_ids("interactions", [outcome.interaction.id for outcome in outcomes])


def _select_known(outcomes: Sequence[AnswerOutcome], name: str) -> Selection:
    return _select_interactions([outcome for outcome in outcomes if getattr(outcome, name) is not None])


def measure_step(
    step: str, whole: Sequence[Interaction], reviews: Mapping[str, Sequence[Review]]
) -> dict[str, Cell]:
    """Compute the share of interactions in which most peers rated the step Perfect, by artifact in PEERS."""
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
    rows: OwnRows,
) -> list[str]:
    """Return one line, with the reason, for each missing answer or verdict; canaries are included."""
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
    return lines + list_unread(rows["peer_canaries"])


def tell_steps(figures: Mapping[str, Any]) -> Iterator[str]:
    """Explain why no step was reviewed; yield nothing if a step was reviewed."""
    if not figures["steps"]:
        yield "No answer came with a plan, so no steps were reviewed."


JUDGING = ("judge", "reviewer", "reviewers", "meta_reviewers")
EVALUATION = Evaluation(
    ItemDataset(
        LongformItem,
        stages=(
            "longform.system_interactions",
            "longform.reference_verdicts",
            "longform.reviews",
            "longform.meta_reviews",
            "longform.revisions",
            "longform.error_types",
            "longform.peer_canaries",
        ),
        entries={"longform.systems": {"set": KEY, "system": SYSTEM}, "longform.evaluations": {"set": KEY}},
        reader=READER,
        identify=lambda item: (item.id, item.question, item.kind, item.reference, item.script),
        settings=("longform.system_interactions", SystemLimits),
        settled={"longform.evaluations": JUDGING},
    ),
    measure,
    (
        Printed(
            ("measure",),
            (Rows("/answers/*", ("{0}",)), Rows("/steps/*/*", ("{0} Perfect, {1}",))),
            (PrintedColumn("n", "n"), PrintedColumn("without", "failed"), PrintedColumn("figure", digits=2)),
            "{items} items, {scored} scored, {failed} failed, {unscored} unscored",
            names={
                "match rate": "match rate, conclusive (0 to 1)",
                "mean score": "mean score, interpretive (1 to 5)",
                "answer words": "words of the answer",
                "reviews": "reviewers",
                "meta_reviews": "meta-reviewers",
                "revisions": "after revision",
            },
        ),
    ),
    tell_steps,
)
