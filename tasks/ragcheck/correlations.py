"""Stage: compute each measure's mean per system, and its correlation with people's ratings (figure 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.baselines import MEASURES, BaselineSimilarity
from tasks.ragcheck.contexts import BY_QUESTION, BY_REFERENCE, RULES
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.figures import (
    NOTHING,
    Estimate,
    Resampling,
    correlate_with_people,
    estimate_mean,
    measure_agreement,
)
from tasks.ragcheck.grading import NOT_SURE
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.ratings import Rating
from tasks.ragcheck.scores import JudgeScore

PEOPLE = "E1"
"""The measure name for people's ratings (figure 2)."""
NO_CONTEXTS = {
    BY_QUESTION: "not shown: the system does not return the passages behind its answers",
    BY_REFERENCE: "no contexts: the system cannot retrieve without answering",
}


@dataclass(frozen=True)
class MeasureCorrelation:
    """Row of the stage `correlations`: a measure's mean and its correlation with people's ratings (figure 2).

    - dataset: empty if the row covers all datasets
    - judge: empty for measures without a judge
    - n: the number of answers: scored + unsure + failed + skipped
    - mean: the mean over the `scored` answers
    - pairs: the number of answers with a rating and a value of this measure, neither of which is "not sure"
    """

    id: str
    system: str
    dataset: str
    measure: str
    judge: str
    n: int
    scored: int
    unsure: int
    failed: int
    skipped: int
    mean: Estimate
    pairs: int
    pearson: Estimate
    spearman: Estimate
    alpha: Estimate
    """Krippendorff's ordinal alpha among raters (E1) or between judge and people; undefined for baselines."""
    note: str
    origin: tuple[Origin, ...]


@dataclass
class MeasureValues:
    """The values of one measure on one system's answers."""

    by_answer: dict[str, float | None]
    """Answer id -> value; None if the answer or the judge's score is missing. Skipped answers are absent."""
    artifact: str
    """The name of the artifact with the values."""
    rows: list[str] = field(default_factory=list)
    """The ids of the artifact's rows with the values."""
    zero_is_unsure: bool = False
    """Whether 0 means "not sure" instead of a value."""
    note: str = ""
    """The reason why there are no values; otherwise empty."""


def correlations(
    questions: list[ReferenceQuestion],
    answers: list[SystemAnswer],
    scores: list[JudgeScore],
    baselines: list[BaselineSimilarity],
    ratings: list[Rating],
    entry: Assessment,
    params: Resampling,
) -> Drafts[MeasureCorrelation]:
    """Compute a row per system, dataset (empty: all datasets together) and measure.

    An answer counts as failed if the system gave no answer or the judge gave no score. An answer without a
    value for another reason, such as missing contexts or ratings, counts as skipped. An answer with a score
    of 0 ("not sure") counts as unsure. Means and correlations exclude these three kinds of answers. The
    bootstrap resamples whole conversations.
    """
    dataset_of = {question.id: question.dataset for question in questions}
    talk_of = {question.id: question.conversation for question in questions}
    conversation_of = {answer.id: talk_of.get(answer.question, answer.question) for answer in answers}
    measures = {
        system: _collect_values(system, answers, scores, baselines, ratings, entry)
        for system in entry.systems
    }
    rows = []
    for system in entry.systems:
        own = sorted(
            (answer for answer in answers if answer.system == system and answer.question in dataset_of),
            key=lambda answer: answer.id,
        )
        groups: dict[str, list[SystemAnswer]] = {"": own}
        for answer in own:
            groups.setdefault(dataset_of[answer.question], []).append(answer)
        # The figures of a single dataset would repeat the figures of all datasets together.
        for dataset, group in groups.items() if len(groups) > 2 else [("", own)]:
            people = measures[system].get((PEOPLE, ""))
            for (measure, judge), values in measures[system].items():
                rows.append(
                    _make_row(
                        system,
                        dataset,
                        measure,
                        judge,
                        group,
                        values,
                        people,
                        ratings,
                        conversation_of,
                        params,
                    )
                )
    return Drafts(rows)


def average_ratings(ratings: Sequence[Rating]) -> dict[str, float]:
    """Compute the mean of people's ratings per answer, 0 to 5; 0 if any rating is 0 ("not sure")."""
    given: defaultdict[str, list[float]] = defaultdict(list)
    for rating in ratings:
        given[rating.answer].append(rating.rating)
    return {
        answer: NOT_SURE if NOT_SURE in values else sum(values) / len(values)
        for answer, values in given.items()
    }


def _collect_values(
    system: str,
    answers: Sequence[SystemAnswer],
    scores: Sequence[JudgeScore],
    baselines: Sequence[BaselineSimilarity],
    ratings: Sequence[Rating],
    entry: Assessment,
) -> Mapping[tuple[str, str], MeasureValues]:
    """Map (measure, judge) to a system's values, in the order of figure 2: people, baselines, judges."""
    unanswered: dict[str, float | None] = {
        answer.id: None for answer in answers if answer.system == system and answer.text is None
    }
    collected: dict[tuple[str, str], MeasureValues] = {}
    if ratings:
        own = {answer.id for answer in answers if answer.system == system}
        people: dict[str, float | None] = {
            answer: value for answer, value in average_ratings(ratings).items() if answer in own
        }
        ids = [rating.id for rating in ratings if rating.answer in own]
        collected[PEOPLE, ""] = MeasureValues(people, "ratings", ids, zero_is_unsure=True)
    for measure in MEASURES:
        rows = [
            baseline for baseline in baselines if baseline.system == system and baseline.measure == measure
        ]
        values = {baseline.answer: baseline.value for baseline in rows if baseline.value is not None}
        note = next((baseline.problem for baseline in rows if baseline.problem), "") if not values else ""
        ids = [baseline.id for baseline in rows if baseline.value is not None]
        collected[measure, ""] = MeasureValues({**unanswered, **values}, "baselines", ids, note=note)
    for rule in RULES:
        for judge in entry.judges:
            given = [
                score for score in scores if (score.system, score.rule, score.judge) == (system, rule, judge)
            ]
            graded: dict[str, float | None] = {score.answer: score.score for score in given}
            note = "" if given else NO_CONTEXTS[rule]
            collected[rule, judge] = MeasureValues(
                {**unanswered, **graded},
                "scores",
                [score.id for score in given],
                zero_is_unsure=True,
                note=note,
            )
    return collected


def _make_row(
    system: str,
    dataset: str,
    measure: str,
    judge: str,
    group: Sequence[SystemAnswer],
    measured: MeasureValues,
    people: MeasureValues | None,
    ratings: Sequence[Rating],
    conversation_of: Mapping[str, str],
    resampling: Resampling,
) -> MeasureCorrelation:
    names = {answer.id for answer in group}
    values = {name: value for name, value in measured.by_answer.items() if name in names}
    sure = {
        name: value
        for name, value in sorted(values.items())
        if value is not None and not (measured.zero_is_unsure and value == NOT_SURE)
    }
    failed = sum(value is None for value in values.values())
    rated = people.by_answer if people else {}
    paired = [name for name in sure if rated.get(name) not in (None, NOT_SURE)]
    pairs = [(rated[name] or 0.0, sure[name]) for name in paired]
    correlation = correlate_with_people(pairs, resampling, [conversation_of[name] for name in paired])
    if measure == PEOPLE:
        alpha = measure_agreement(list(_list_items(ratings, names)), resampling)
    else:  # a baseline has another scale than people's ratings, so its agreement is undefined
        alpha = measure_agreement(pairs, resampling) if judge else NOTHING
    return MeasureCorrelation(
        id=make_id(system, dataset, measure, judge),
        system=system,
        dataset=dataset,
        measure=measure,
        judge=judge,
        n=len(group),
        scored=len(sure),
        unsure=len(values) - failed - len(sure),
        failed=failed,
        skipped=len(group) - len(values),
        mean=estimate_mean(list(sure.values()), resampling, [conversation_of[name] for name in sure]),
        pairs=len(pairs),
        pearson=correlation["pearson"],
        spearman=correlation["spearman"],
        alpha=alpha,
        note=measured.note,
        origin=tuple(Origin("row", f"{measured.artifact}#{name}") for name in sorted(measured.rows))
        if not dataset
        else (Origin("row", f"correlations#{make_id(system, '', measure, judge)}"),),
    )


def _list_items(ratings: Sequence[Rating], names: set[str]) -> Iterator[list[float | None]]:
    """Yield the ratings of each answer, one per rater; None for a missing or "not sure" rating."""
    raters = sorted({rating.rater for rating in ratings})
    given = {(rating.answer, rating.rater): rating.rating for rating in ratings if rating.rating != NOT_SURE}
    for name in sorted(names):
        yield [given.get((name, rater)) for rater in raters]
