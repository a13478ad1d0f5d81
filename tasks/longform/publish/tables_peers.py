"""Table 5, the peers' verdicts on every step (section 4.2.2), and the errors of imperfect steps (4.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.labels import ERRORS, STEPS, ErrorType, Verdict
from tasks.longform.judge.peers import (
    REVIEWED,
    Review,
    Verdicts,
    agree,
    decide,
    group_reviews,
    list_verdicts,
    pool,
)
from tasks.longform.publish.answer_basis import choose_interactions, derive_peers
from tasks.longform.publish.outcomes import AnswerOutcome, select
from tasks.reports.figure_cells import (
    FigureCell,
    FigureTable,
    Line,
    count_cell,
    leave_empty,
    rate_cell,
)

Groups = Mapping[tuple[str, str], tuple[Review, ...]]
ALL_STEPS = "all steps"
UNANIMOUS = "share of unanimous steps"
STEPS_TITLE = "Peer review of every step"


@dataclass(frozen=True)
class Peers:
    """The verdicts of an evaluation, by (interaction, step)."""

    reviews: Groups
    meta_reviews: Groups
    revisions: Groups

    @classmethod
    def gather(
        cls, reviews: Iterable[Review], meta_reviews: Iterable[Review], revisions: Iterable[Review]
    ) -> Peers:
        """Group the rows of the three stages."""
        return cls(group_reviews(reviews), group_reviews(meta_reviews), group_reviews(revisions))


def tabulate_peers(outcomes: Sequence[AnswerOutcome], peers: Peers, entry: AgentEvaluation) -> FigureTable:
    """Make Table 5, of each model and each agent that queries."""
    lines = []
    for model in entry.models:
        for agent in (name for name in REVIEWED if name in entry.agents):
            ids = [outcome.interaction.id for outcome in select(outcomes, model=model, agent=agent)]
            rows = choose_interactions({"model": model, "agent": agent})
            lines += [Line((model, agent, step), _describe_step(ids, step, peers, rows)) for step in STEPS]
            lines.append(Line((model, agent, ALL_STEPS), _describe_all(ids, peers, rows)))
    return FigureTable(
        "5",
        STEPS_TITLE,
        ("model", "agent", "step"),
        (
            "reviewers, Perfect",
            "reviewers, share of verdicts",
            "reviewers, agreement",
            "meta-reviewers, Perfect",
            "meta-reviewers, agreement",
            "revised, Perfect",
        ),
        tuple(lines),
        (
            "Perfect: by the majority; a tie is Imperfect. Agreement: share of unanimous steps.",
            "IP: interaction planning, TE: tool employment, IS: information synthesis.",
            "A step with verdicts of fewer than half of its peers is in no rate.",
        ),
    )


def derive_perfect(artifact: str, interactions: Selection, step: str = "") -> Derivation:
    """Derive the share of Perfect from an artifact's verdicts. step: empty for all of them together."""
    share = "share Perfect by the majority" if step else "share whose steps are all Perfect"
    return derive_peers(share, artifact, interactions, step)


def rate_perfect(ids: Iterable[str], step: str, groups: Groups, basis: Derivation) -> FigureCell:
    """Compute the share of interactions whose step is Perfect by the majority of its rows."""
    return rate_cell([_is_perfect(_list_verdicts(groups, row, step)) for row in ids], basis=basis)


def rate_all_perfect(ids: Iterable[str], groups: Groups, basis: Derivation) -> FigureCell:
    """Compute the share of interactions whose steps all are Perfect; with a step undecided, none is told."""
    outcomes = []
    for row in ids:
        steps = [_is_perfect(_list_verdicts(groups, row, step)) for step in STEPS]
        outcomes.append(None if None in steps else all(steps))
    return rate_cell(outcomes, basis=basis)


def _is_perfect(verdicts: Verdicts) -> bool | None:
    decided = decide(verdicts)
    return None if decided is None else decided == Verdict.PERFECT


def _list_verdicts(groups: Groups, interaction: str, step: str) -> Verdicts:
    return list_verdicts(groups.get((interaction, step), ()))


def _describe_step(ids: Sequence[str], step: str, peers: Peers, rows: Selection) -> tuple[FigureCell, ...]:
    verdicts = [_list_verdicts(peers.reviews, row, step) for row in ids]
    metas = [_list_verdicts(peers.meta_reviews, row, step) for row in ids]
    return (
        rate_perfect(ids, step, peers.reviews, derive_perfect("reviews", rows, step)),
        _pool_verdicts(verdicts, derive_peers("share", "reviews", rows, step, Verdict.PERFECT)),
        _rate_agreement(verdicts, "reviewer", derive_peers(UNANIMOUS, "reviews", rows, step)),
        rate_perfect(ids, step, peers.meta_reviews, derive_perfect("meta_reviews", rows, step)),
        _rate_agreement(metas, "meta-reviewer", derive_peers(UNANIMOUS, "meta_reviews", rows, step)),
        rate_perfect(ids, step, peers.revisions, derive_perfect("revisions", rows, step)),
    )


def _describe_all(ids: Sequence[str], peers: Peers, rows: Selection) -> tuple[FigureCell, ...]:
    single = leave_empty("of single steps only")
    return (
        rate_all_perfect(ids, peers.reviews, derive_perfect("reviews", rows)),
        single,
        single,
        rate_all_perfect(ids, peers.meta_reviews, derive_perfect("meta_reviews", rows)),
        single,
        rate_all_perfect(ids, peers.revisions, derive_perfect("revisions", rows)),
    )


def _pool_verdicts(groups: Sequence[Verdicts], basis: Derivation) -> FigureCell:
    """Compute the pooled share. Verdicts on one step are not independent: there is no interval."""
    given = sum(verdict is not None for verdicts in groups for verdict in verdicts)
    return count_cell(pool(groups), given, "verdicts", sum(map(len, groups)) - given, basis)


def _rate_agreement(groups: Sequence[Verdicts], who: str, basis: Derivation) -> FigureCell:
    """Compute the share of unanimous steps among those that two or more peers were to judge."""
    several = [verdicts for verdicts in groups if len(verdicts) > 1]
    if not several:
        return leave_empty(f"one {who}" if any(groups) else "no interactions")
    return rate_cell([agree(verdicts) for verdicts in several], basis=basis)


def count_errors(
    outcomes: Sequence[AnswerOutcome], labels: Iterable[ErrorLabel], entry: AgentEvaluation
) -> FigureTable:
    """Count the labels of imperfect steps, by step and error, of each model and agent."""
    listed = sorted(labels, key=lambda label: label.id)
    columns = [(model, agent) for model in entry.models for agent in REVIEWED if agent in entry.agents]
    places = {o.interaction.id: (o.interaction.model, o.interaction.agent) for o in outcomes}
    lines = []
    for step, errors in ERRORS.items():
        given = [
            [label.label for label in listed if label.step == step and places[label.interaction] == column]
            for column in columns
        ]
        lines += [
            Line(
                (step, error),
                tuple(
                    _count(step, error, labels, choose_interactions({"model": model, "agent": agent}))
                    for (model, agent), labels in zip(columns, given, strict=True)
                ),
            )
            for error in errors
        ]
    return FigureTable(
        "errors",
        "Errors of imperfect steps",
        ("step", "error"),
        tuple(f"{model}, {agent}" for model, agent in columns),
        tuple(lines),
        ("Labels by the reviewers' model; a step has one. Imperfect: by the revised verdict.",),
    )


def _count(
    step: str, error: ErrorType, labels: Sequence[ErrorType | None], interactions: Selection
) -> FigureCell:
    given = [label for label in labels if label is not None]
    failed, of = len(labels) - len(given), "imperfect steps"
    if not given:
        return leave_empty("no label" if failed else "no imperfect step", of, failed)
    rows = Selection("error_types", {"step": step, "label": error}, {"interaction": interactions})
    return count_cell(given.count(error), len(given), of, failed, Derivation("count", (rows,)))
