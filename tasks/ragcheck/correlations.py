"""Stage: how good each system is by every measure, and how far each measure agrees with people (figure 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.figures import (
    NOTHING,
    Resampling,
    correlate_with_people,
    estimate_mean,
    measure_agreement,
)
from tasks.ragcheck.rows import (
    MEASURES,
    NOT_SURE,
    RULES,
    BaselineSimilarity,
    JudgeScore,
    MeasureCorrelation,
    Rating,
    ReferenceQuestion,
    SystemAnswer,
)

PEOPLE = "E1"


@dataclass
class Measured:
    """What one measure says of some answers. by_answer: its value; None failed, absent skipped."""

    by_answer: dict[str, float | None]
    reference: str
    """The artifact whose rows these are."""
    rows: list[str] = field(default_factory=list)
    has_zero: bool = False
    """Whether 0 means "not sure"."""
    note: str = ""


def correlations(
    questions: list[ReferenceQuestion],
    answers: list[SystemAnswer],
    scores: list[JudgeScore],
    baselines: list[BaselineSimilarity],
    ratings: list[Rating],
    entry: Assessment,
    params: Resampling,
) -> Drafts[MeasureCorrelation]:
    """Make a line per system, dataset (empty: all of them) and measure.

    An answer that a system did not give, or a judge did not score, is failed; one that no context was found
    for is skipped; a 0 ("not sure") is left out of means and correlations. None of them is a score.
    """
    dataset_of = {question.id: question.dataset for question in questions}
    measures = {
        system: _list_measures(system, answers, scores, baselines, ratings, entry) for system in entry.systems
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
        for dataset, group in groups.items() if len(groups) > 2 else [("", own)]:
            people = measures[system].get((PEOPLE, ""))
            for (measure, judge), measured in measures[system].items():
                rows.append(
                    _make_line(system, dataset, measure, judge, group, measured, people, ratings, params)
                )
    return Drafts(rows)


def average_ratings(ratings: Sequence[Rating]) -> dict[str, float]:
    """Average what people gave an answer; 0 where one of them was not sure."""
    given: defaultdict[str, list[int]] = defaultdict(list)
    for rating in ratings:
        given[rating.answer].append(rating.rating)
    return {
        answer: NOT_SURE if NOT_SURE in values else sum(values) / len(values)
        for answer, values in given.items()
    }


def _list_measures(
    system: str,
    answers: Sequence[SystemAnswer],
    scores: Sequence[JudgeScore],
    baselines: Sequence[BaselineSimilarity],
    ratings: Sequence[Rating],
    entry: Assessment,
) -> Mapping[tuple[str, str], Measured]:
    """List the measures of a system's answers in the order of figure 2: people, baselines, judges."""
    silent: dict[str, float | None] = {
        answer.id: None for answer in answers if answer.system == system and answer.text is None
    }
    found: dict[tuple[str, str], Measured] = {}
    if ratings:
        own = {answer.id for answer in answers if answer.system == system}
        people: dict[str, float | None] = {
            answer: value for answer, value in average_ratings(ratings).items() if answer in own
        }
        names = [rating.id for rating in ratings if rating.answer in own]
        found[PEOPLE, ""] = Measured(people, "ratings", names, has_zero=True)
    for measure in MEASURES:
        lines = [
            baseline for baseline in baselines if baseline.system == system and baseline.measure == measure
        ]
        values = {baseline.answer: baseline.value for baseline in lines if baseline.value is not None}
        note = next((baseline.problem for baseline in lines if baseline.problem), "") if not values else ""
        names = [baseline.id for baseline in lines if baseline.value is not None]
        found[measure, ""] = Measured({**silent, **values}, "baselines", names, note=note)
    for rule in RULES:
        for judge in entry.judges:
            given = [
                score for score in scores if (score.system, score.rule, score.judge) == (system, rule, judge)
            ]
            graded: dict[str, float | None] = {score.answer: score.score for score in given}
            note = "" if given else "no contexts: the system does not retrieve without answering"
            found[rule, judge] = Measured(
                {**silent, **graded}, "scores", [score.id for score in given], has_zero=True, note=note
            )
    return found


def _make_line(
    system: str,
    dataset: str,
    measure: str,
    judge: str,
    group: Sequence[SystemAnswer],
    measured: Measured,
    people: Measured | None,
    ratings: Sequence[Rating],
    how: Resampling,
) -> MeasureCorrelation:
    names = {answer.id for answer in group}
    values = {name: value for name, value in measured.by_answer.items() if name in names}
    sure = {
        name: value
        for name, value in sorted(values.items())
        if value is not None and not (measured.has_zero and value == NOT_SURE)
    }
    failed = sum(value is None for value in values.values())
    rated = people.by_answer if people else {}
    pairs = [
        (person, value)
        for name, value in sure.items()
        if (person := rated.get(name)) is not None and person != NOT_SURE
    ]
    against = correlate_with_people(pairs, how)
    if measure == PEOPLE:
        alpha = measure_agreement(list(_list_items(ratings, names)), how)
    else:  # a baseline is on another scale: it can correlate with people, not agree with them
        alpha = measure_agreement(pairs, how) if judge else NOTHING
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
        mean=estimate_mean(list(sure.values()), how),
        pairs=len(pairs),
        pearson=against["pearson"],
        spearman=against["spearman"],
        alpha=alpha,
        note=measured.note,
        origin=tuple(Origin("row", f"{measured.reference}#{name}") for name in sorted(measured.rows))
        if not dataset
        else (Origin("row", f"correlations#{make_id(system, '', measure, judge)}"),),
    )


def _list_items(ratings: Sequence[Rating], names: set[str]) -> Iterator[list[float | None]]:
    """List the ratings of each answer by rater; "not sure" is no place on the scale, so it is missing."""
    raters = sorted({rating.rater for rating in ratings})
    given = {(rating.answer, rating.rater): rating.rating for rating in ratings if rating.rating != NOT_SURE}
    for name in sorted(names):
        yield [given.get((name, rater)) for rater in raters]
