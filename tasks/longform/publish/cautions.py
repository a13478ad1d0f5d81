"""Write the warnings at the top of an evaluation's page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tasks.judging.trust import TrustThresholds, find_warnings
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.peer_canaries import PeerHealth
from tasks.longform.judge.peers import REVIEWED, Review
from tasks.longform.outcomes import AnswerOutcome
from tasks.longform.solve.interaction import find_gap
from tasks.longform.tables_peers import warn_changed
from tasks.longform.tables_people import PeopleAgreement
from tasks.reports.tables import FigureTable
from tasks.settings import read_section

WRITER = "generator"
"""The role whose model writes the reference answers."""


def list_cautions(
    outcomes: Sequence[AnswerOutcome],
    reviews: Iterable[Review],
    health: PeerHealth,
    people: PeopleAgreement,
    repeated: FigureTable,
    entry: AgentEvaluation,
    settings: Mapping[str, object],
) -> list[str]:
    """Write the warnings for the top of the page; empty if all measures are within the thresholds.

    reviews: the reviews, meta-reviews and revisions. repeated: the table of repeated judgements. settings:
    the parameters `judging.thresholds.*`, and `roles.*` if the roles are known.
    """
    thresholds = read_section(settings, "judging.thresholds", TrustThresholds)
    answered = [outcome for outcome in outcomes if outcome.answered]
    unscored = sum(outcome.quality is None for outcome in answered)
    judge = find_warnings(
        thresholds, n=len(answered), n_unscored=unscored, canaries=health.judge, human=people.judge
    )
    judge += tuple(filter(None, [warn_changed(repeated, thresholds.judge_repeats, steps=False)]))
    lines = [f"Answer judge (`{entry.judge}`): {warning}" for warning in judge]
    if any(agent in REVIEWED for agent in entry.agents):
        # Steps of an interaction without a plan or an answer were not sent to any reviewer.
        whole = {outcome.interaction.id for outcome in outcomes if not find_gap(outcome.interaction)}
        asked = [review for review in reviews if review.interaction in whole]
        missing = sum(review.verdict is None for review in asked)
        peers = find_warnings(
            thresholds, n=len(asked), n_unscored=missing, canaries=health.reviewer, human=people.reviewer
        )
        peers += tuple(filter(None, [warn_changed(repeated, thresholds.judge_repeats, steps=True)]))
        lines += [f"Step reviewer (`{entry.reviewer}`): {warning}" for warning in peers]
    return [*lines, *warn_failed(outcomes, thresholds.unscored_share), *_warn_one_model(entry, settings)]


def warn_failed(outcomes: Sequence[AnswerOutcome], most: float) -> Iterable[str]:
    """Warn about interactions without an answer, if their share (0 to 1) is above `most`."""
    failed = sum(not outcome.answered for outcome in outcomes)
    if outcomes and failed / len(outcomes) > most:
        share = f"{100 * failed / len(outcomes):.1f}%"
        yield (
            f"{failed} of {len(outcomes)} interactions have no answer ({share}). The means below leave "
            "out these interactions."
        )


def _warn_one_model(entry: AgentEvaluation, settings: Mapping[str, object]) -> Iterable[str]:
    """Warn if one model wrote references, answered questions and judged answers.

    If a role's model is unknown, roles are compared instead of models.
    """
    judges = tuple(dict.fromkeys((entry.judge, entry.reviewer)))
    named = {role: settings.get(f"roles.{role}.model") for role in (WRITER, *entry.models, *judges)}
    known = all(isinstance(model, str) for model in named.values())
    models = {role: str(model) if known else role for role, model in named.items()}
    writer = models[WRITER]
    if writer in {models[role] for role in entry.models} and writer in {models[role] for role in judges}:
        what = "model" if known else "role"
        yield (
            f"One {what}, `{writer}`, wrote the reference answers, answered the questions and judged the "
            f"answers. This {what} may prefer its own wording, and may repeat the errors in the reference "
            "answers."
        )
