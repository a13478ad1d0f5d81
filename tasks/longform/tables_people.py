"""Make Table 4: human labels for answers and steps, and the judges' agreement with people.

Section 4.4 of the paper describes this comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.artifacts.rows import Dropped
from tasks.judging.human_labels import HumanLabel
from tasks.judging.trust import HumanAgreement, measure_agreement
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.human_labels import PersonLabel
from tasks.longform.judge.peers import REVIEWED, list_verdicts
from tasks.longform.labels import ANSWER, INTERPRETIVE, KINDS, STEPS, Verdict
from tasks.longform.outcomes import AnswerOutcome, select
from tasks.longform.tables_peers import ALL, Peers
from tasks.reports.tables import (
    DRAWS,
    ROWS,
    Cell,
    FigureTable,
    Line,
    leave_empty,
    mean_cell,
    rate_cell,
)
from tasks.scoring.metric import FloatArray, IntArray, divide
from tasks.scoring.statistics import (
    Interval,
    bootstrap,
    explain_missing,
    find_share_interval,
    settle_interval,
)

TITLE = "Agreement with human labels"
COLUMNS = ("people, mean", "judge, mean", "agreement", "Cohen's kappa", "alpha among people")
LEVELS: Mapping[Verdict, str] = {
    Verdict.ONE: "low",
    Verdict.TWO: "low",
    Verdict.THREE: "low",
    Verdict.FOUR: "medium",
    Verdict.FIVE: "high",
}
"""Map scores to levels.

Agreement is computed on levels, because raters hardly distinguish scores 1 to 3 (footnote 3 of the paper).
"""
NOBODY = (
    "Not shown: no person has labelled these answers. To compare the verdicts with human labels, "
    "set the evaluation's `labels` in params.yaml to the path of a file in data/labels."
)


@dataclass(frozen=True)
class PeopleAgreement:
    """The agreement of each judge with people on labelled items.

    Both fields are None if the evaluation names no label file. `judge` is also None if only steps are
    labelled, and `reviewer` is None if no step is labelled.
    """

    judge: HumanAgreement | None
    reviewer: HumanAgreement | None


def compare_with_people(
    outcomes: Sequence[AnswerOutcome],
    peers: Peers,
    labels: Sequence[PersonLabel],
    unusable: Sequence[Dropped],
    entry: AgentEvaluation,
) -> FigureTable:
    """Make Table 4, for each model and agent with at least one labelled interaction.

    The judge's verdict on a step is the revised verdict. unusable: lines of the label file that were dropped.
    """
    if entry.labels is None:
        return FigureTable("4", TITLE, (), (), (), (NOBODY,))
    lost = _describe_unusable(unusable)
    if not labels:
        return FigureTable(
            "4",
            TITLE,
            (),
            (),
            (),
            ("Not shown: the label file has no label for an answer or a step of this run.", *lost),
        )
    lines = []
    for model in entry.models:
        for agent in entry.agents:
            own = select(outcomes, model=model, agent=agent)
            known = {outcome.interaction.id for outcome in own}
            if not any(label.interaction in known for label in labels):
                continue
            for part in (ANSWER, *(STEPS if agent in REVIEWED else ())):
                for kind in (*KINDS, *(() if part == ANSWER else (ALL,))):
                    chosen = select(own, kind="" if kind == ALL else kind)
                    cells = _compare(chosen, part, kind, peers, labels)
                    lines.append(Line((model, agent, part, kind), cells))
    raters = len({label.rater for label in labels})
    notes = (
        f"Labels are from {raters} {'rater' if raters == 1 else 'raters'}. The mean of people is the mean "
        "over raters of each rater's "
        f"mean: a share of {Verdict.MATCH.shown} or of {Verdict.PERFECT.shown}, or a "
        "score from 1 to 5. The judge's mean is over the same interactions. Intervals are from a "
        "bootstrap that resamples interactions with all their labels. Intervals of shares are Wilson "
        "intervals.",
        "Agreement and kappa compare the judge's verdict with the label that most people gave. For steps, "
        "the judge's verdict is the revised verdict. Scores are grouped into low (1 to 3), medium "
        "(4) and high (5). Agreement and kappa leave out interactions without a verdict, and interactions "
        "on which people are evenly split. Alpha is Krippendorff's nominal alpha.",
        *lost,
    )
    return FigureTable("4", TITLE, ("model", "agent", "judged", "items"), COLUMNS, tuple(lines), notes)


def measure_people(
    outcomes: Sequence[AnswerOutcome], peers: Peers, labels: Sequence[PersonLabel], entry: AgentEvaluation
) -> PeopleAgreement:
    """Measure each judge's agreement with people over all models, agents and items, for page warnings."""
    if entry.labels is None:
        return PeopleAgreement(None, None)
    answers = [label for label in labels if label.part == ANSWER]
    steps = [label for label in labels if label.part != ANSWER]
    verdicts = {
        f"{outcome.interaction.id} {part}": _level_known(_find_verdict(outcome, part, peers))
        for outcome in outcomes
        for part in (ANSWER, *STEPS)
    }
    judge, reviewer = (
        measure_agreement(
            verdicts,
            [HumanLabel(f"{row.interaction} {row.part}", _level(row.label), row.rater) for row in labels],
        )
        for labels in (answers, steps)
    )
    return PeopleAgreement(judge if answers or not steps else None, reviewer if steps else None)


def _compare(
    outcomes: Sequence[AnswerOutcome], part: str, kind: str, peers: Peers, labels: Sequence[PersonLabel]
) -> tuple[Cell, ...]:
    by_id = {outcome.interaction.id: outcome for outcome in outcomes}
    own = [label for label in labels if label.part == part and label.interaction in by_id]
    if not own:
        return (leave_empty("no person labelled these answers", "labels"),) * len(COLUMNS)
    given = {row: _find_verdict(by_id[row], part, peers) for row in sorted({x.interaction for x in own})}
    chosen = {"interaction": tuple(sorted(by_id))}
    labelled = Selection("human_labels", {"part": part, **chosen})
    judged = (
        Selection("reference_verdicts", chosen)
        if part == ANSWER
        else Selection("revisions", {"step": part, **chosen})
    )
    scored = part == ANSWER and kind == INTERPRETIVE
    derivation = Derivation("mean over the interactions that people labelled", (judged, labelled))
    found = measure_agreement(
        {row: _level_known(verdict) for row, verdict in given.items()},
        [HumanLabel(label.interaction, _level(label.label), label.rater) for label in own],
    )
    return (
        _average_raters(own, Derivation("mean of the raters' means", (labelled,), "label")),
        _average_verdicts(list(given.values()), scored=scored, derivation=derivation),
        _show_agreement(found, Derivation("agreement of judge and people", (judged, labelled))),
        _show_undefined(
            found.kappa,
            found.n,
            found.kappa_interval,
            "all labels are equal, so the agreement by chance is 1",
            Derivation("Cohen's kappa of judge and people", (judged, labelled)),
        ),
        _show_undefined(
            found.raters_alpha,
            found.n_rated,
            found.raters_alpha_interval,
            "only one rater, or only one label",
            Derivation("Krippendorff's alpha", (labelled,)),
        ),
    )


def _level(verdict: Verdict) -> str:
    return LEVELS.get(verdict, verdict)


def _level_known(verdict: Verdict | None) -> str | None:
    return None if verdict is None else _level(verdict)


def _find_verdict(outcome: AnswerOutcome, part: str, peers: Peers) -> Verdict | None:
    """Find the judge's verdict on the answer or on a step; None if there is no verdict."""
    if part != ANSWER:
        given = list_verdicts(peers.revisions.get((outcome.interaction.id, part), ()))
        return given[0] if given else None
    verdict = outcome.verdict
    if verdict is None or outcome.quality is None:
        return None
    return verdict.verdict


def _average_verdicts(verdicts: Sequence[Verdict | None], *, scored: bool, derivation: Derivation) -> Cell:
    scores = [None if verdict is None else verdict.score for verdict in verdicts]
    if scored:
        return mean_cell(scores, interval=True, derivation=derivation)
    return rate_cell([None if score is None else score == 1 for score in scores], derivation=derivation)


@dataclass(frozen=True)
class RaterSample:
    """Labels as an array of shape (interactions, raters); NaN if a rater gave no label.

    The bootstrap weights each interaction.
    """

    values: FloatArray

    @property
    def counts(self) -> IntArray:
        """Return an array of ones, because the bootstrap counts each interaction once."""
        return np.ones(len(self.values), dtype=np.int64)

    def figures(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Compute the mean of the raters' means, over the raters with at least one label."""
        given = ~np.isnan(self.values)
        own = divide(weights @ np.where(given, self.values, 0.0), weights @ given.astype(np.float64))
        told = ~np.isnan(own)
        return {"mean": divide(np.where(told, own, 0.0).sum(axis=1), told.sum(axis=1).astype(np.float64))}


def _average_raters(labels: Sequence[PersonLabel], derivation: Derivation) -> Cell:
    """Compute the mean of the raters' means.

    Labels on one interaction are not independent, so the bootstrap resamples whole interactions.
    """
    rows = sorted({label.interaction for label in labels})
    raters = sorted({label.rater for label in labels})
    values = np.full((len(rows), len(raters)), np.nan)
    scored = [label for label in labels if label.label.score is not None]
    for label in scored:
        values[rows.index(label.interaction), raters.index(label.rater)] = label.label.score
    sample = RaterSample(values)
    mean = float(sample.figures(np.ones((1, len(rows))))["mean"][0])
    drawn, why = settle_interval(bootstrap(sample, DRAWS.draws, DRAWS.seed)["mean"], len(rows), ROWS)
    return Cell(mean, len(scored), len(labels) - len(scored), drawn, "labels", why, derivation)


def _show_agreement(found: HumanAgreement, derivation: Derivation) -> Cell:
    failed = found.n_unsettled + found.n_unscored
    if found.agreement is None:
        return leave_empty("no interaction has both a verdict and a majority label", ROWS, failed)
    interval, why = find_share_interval(round(found.agreement * found.n), found.n, ROWS)
    return Cell(found.agreement, found.n, failed, interval, ROWS, why, derivation)


def _show_undefined(
    value: float | None, n: int, interval: Interval | None, why: str, derivation: Derivation
) -> Cell:
    missing = "" if interval else explain_missing(n, ROWS)
    why = f"not defined: {why}" if value is None else missing
    return Cell(value, n, 0, interval, ROWS, why, derivation)


def _describe_unusable(unusable: Sequence[Dropped]) -> tuple[str, ...]:
    if not unusable:
        return ()
    reasons = Counter(dropped.reason for dropped in unusable)
    listed = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    first = min(unusable, key=lambda dropped: dropped.id).detail
    return (f"Some lines of the label file could not be used: {listed} (such as {first}).",)
