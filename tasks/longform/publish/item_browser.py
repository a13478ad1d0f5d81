"""Rows of the viewer on the evaluation's page: every interaction, beside its item and what was judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tasks.artifacts.rows import Origin
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.labels import STEPS
from tasks.longform.judge.peers import Review
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.publish.answer_links import link_sentences
from tasks.longform.publish.shown_items import ShownItem, ShownQuery, show_origin, show_result
from tasks.longform.solve.interaction import Interaction

NO_ANSWER, NO_VERDICT = "no answer", "no verdict"


class ShownReview(NamedTuple):
    """The word of one (meta-)reviewer, or of the revision; a verdict of None has its reason in `problem`."""

    reviewer: int
    verdict: str | None
    rationale: str
    problem: str


class ShownStep(NamedTuple):
    """What peers said of one step. label: the error's; empty where nobody asked for one."""

    step: str
    reviews: list[ShownReview]
    meta_reviews: list[ShownReview]
    revision: list[ShownReview]
    label: str
    label_problem: str


@dataclass(frozen=True)
class ShownInteraction:
    """An interaction.

    item: id; rests_on: the sentences of the answer, each with the numbers of the queries that have what it
    states; verdict: a label, a score, or why there is none; calls: ledger keys.
    """

    id: str
    item: str
    agent: str
    model: str
    plan: str
    steps: list[tuple[str, str]]
    queries: list[ShownQuery]
    answer: str | None
    rests_on: list[tuple[str, list[int]]]
    left_out: list[str]
    problem: str
    verdict: str
    reason: str
    verdict_problem: str
    peers: list[ShownStep]
    calls: list[str]
    origin: list[str]


@dataclass(frozen=True)
class JudgedInteractions:
    """What was said of interactions, as the stages' artifacts have it."""

    verdicts: Sequence[ReferenceVerdict]
    reviews: Sequence[Review]
    meta_reviews: Sequence[Review]
    revisions: Sequence[Review]
    errors: Sequence[ErrorLabel]


@dataclass(frozen=True)
class ItemBrowser:
    """The viewer's data, as pages/longform.js reads it. items: by id."""

    items: Mapping[str, ShownItem]
    rows: list[ShownInteraction]


def show_interactions(
    interactions: Sequence[Interaction], judged: JudgedInteractions
) -> list[ShownInteraction]:
    """Make a row of every interaction, in their order, with all that was said of it."""
    verdicts = {verdict.interaction: verdict for verdict in judged.verdicts}
    passes = [_group(rows) for rows in (judged.reviews, judged.meta_reviews, judged.revisions)]
    errors = {(error.interaction, error.step): error for error in judged.errors}
    origins: defaultdict[str, list[Origin]] = defaultdict(list)
    said: list[ReferenceVerdict | Review | ErrorLabel] = [
        *judged.verdicts,
        *judged.reviews,
        *judged.meta_reviews,
        *judged.revisions,
        *judged.errors,
    ]
    for row in said:
        origins[row.interaction] += row.origin
    return [
        _show_interaction(
            interaction,
            verdicts.get(interaction.id),
            [_show_step(interaction.id, step, passes, errors) for step in STEPS],
            [*interaction.origin, *origins[interaction.id]],
        )
        for interaction in interactions
    ]


def _show_interaction(
    interaction: Interaction,
    verdict: ReferenceVerdict | None,
    peers: Sequence[ShownStep],
    origins: Iterable[Origin],
) -> ShownInteraction:
    calls = [origin.reference for origin in origins if origin.kind == "call" and origin.reference]
    return ShownInteraction(
        id=interaction.id,
        item=interaction.item,
        agent=interaction.agent,
        model=interaction.model,
        plan=interaction.plan,
        steps=[(step.kind, step.text) for step in interaction.steps],
        queries=[
            ShownQuery("", query.sql, show_result(query.columns, query.rows, query.n_rows), query.error)
            for query in interaction.queries
        ],
        answer=interaction.answer,
        rests_on=link_sentences(interaction.answer or "", interaction.queries),
        left_out=list(interaction.left_out),
        problem=interaction.problem,
        verdict=name_verdict(interaction, verdict),
        reason=verdict.reason if verdict else "",
        verdict_problem=verdict.problem if verdict else "",
        peers=[step for step in peers if step.reviews or step.meta_reviews or step.revision or step.label],
        calls=list(dict.fromkeys(calls)),
        origin=show_origin(interaction.origin),
    )


def name_verdict(interaction: Interaction, verdict: ReferenceVerdict | None) -> str:
    """Name a verdict for the filter: its label, its score, or why there is none."""
    if interaction.answer is None:
        return NO_ANSWER
    return verdict.verdict.shown if verdict and verdict.verdict else NO_VERDICT


def _show_step(
    interaction: str,
    step: str,
    passes: Sequence[Mapping[tuple[str, str], list[ShownReview]]],
    errors: Mapping[tuple[str, str], ErrorLabel],
) -> ShownStep:
    reviews, meta_reviews, revision = (groups.get((interaction, step), []) for groups in passes)
    error = errors.get((interaction, step))
    label, problem = (error.label or "no label", error.problem) if error else ("", "")
    return ShownStep(step, reviews, meta_reviews, revision, label, problem)


def _group(reviews: Iterable[Review]) -> Mapping[tuple[str, str], list[ShownReview]]:
    groups: defaultdict[tuple[str, str], list[ShownReview]] = defaultdict(list)
    for review in sorted(reviews, key=lambda review: review.reviewer):
        shown = ShownReview(review.reviewer, review.verdict, review.rationale, review.problem)
        groups[review.interaction, review.step].append(shown)
    return groups
