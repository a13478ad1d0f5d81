"""State the conclusion from the figures of an analysis: yes, no or unknown, or an interpretation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tasks.longform.build.analyses.kinds import (
    COMPARISON,
    CORRELATED,
    CORRELATION,
    HALVES,
    IMPACT,
    PART,
    PATTERN,
    PERIOD_COUNTS,
    PERIODS,
    QUALITIES,
    RELATIONSHIP,
    SLOPE,
    TREND,
    YEARLY,
)
from tasks.longform.build.analyses.outcomes import (
    NEGATIVE,
    POSITIVE,
    WEAK,
    find_yes,
    is_silent,
    measure_gap,
)
from tasks.longform.build.analyses.queries import ABOVE, BELOW, EARLIER, LATER, VALUE
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.evidence import FoundFigure
from tasks.longform.build.findings.answers import SAID
from tasks.longform.build.words import join_words

STRONG = 0.7
"""Minimum absolute correlation that is called strong."""


def conclude_analysis(figures: Sequence[FoundFigure], question: ControlledQuestion) -> tuple[str, ...]:
    """State yes, no or unknown from the figures, or an interpretation if the question is interpretive."""
    if all(is_silent(figure.design, question.groups, figure.counts) for figure in figures):
        return ("Unknown: the records do not tell.", "Unknown, for the records do not say so much.")
    if question.quality is not None:
        return (INTERPRETED[question.design](figures, question),)
    names = [_name(figure, question) for figure in figures]
    agreed = [
        name
        for name, figure in zip(names, figures, strict=True)
        if figure.is_ahead(find_yes(figure.design, question.groups))
    ]
    if len(agreed) == len(names):
        return (f"Yes, by {join_words(names)}.", f"Yes, {join_words(names)} both say so.")
    if not agreed:
        return (f"No, neither by {names[0]} nor by {names[1]}.",)
    against = next(name for name in names if name not in agreed)
    return (f"No: by {agreed[0]} it is so, by {against} it is not.",)


def _name(figure: FoundFigure, question: ControlledQuestion) -> str:
    focus, design = question.focus, figure.design
    name = focus.find(design.measure).name
    if design.kind == PART:
        return f"the shares of {question.groups[int(design.threshold)]}"
    if design.kind in SAID:
        return f"the {SAID[design.kind]} {name}"
    names = {
        CORRELATED: "the correlation",
        HALVES: f"the average {name}",
        SLOPE: f"the change in {name} from year to year",
        YEARLY: "the change from year to year",
        PERIODS: "the two halves of the years",
        PERIOD_COUNTS: "the two halves of the years",
    }
    return names[design.kind]


def _interpret_groups(figures: Sequence[FoundFigure], question: ControlledQuestion) -> str:
    quality, focus = question.quality, question.focus
    rising = dict(zip(quality.measures, quality.rising, strict=True)) if quality else {}
    for_whom: dict[str, list[str]] = {}
    for figure in figures:
        if not figure.ahead:
            continue
        best = min if not rising.get(figure.design.measure, True) else max
        group = best(question.groups, key=lambda name: figure.values.get(name, 0))
        for_whom.setdefault(group, []).append(_name(figure, question))
    if not for_whom:
        return f"So {join_words(question.groups)} are alike in these figures."
    generic = quality is not None and quality.words == QUALITIES[COMPARISON]
    told = [
        f"{focus.say_those(group)} are ahead in {join_words(names)}"
        if generic
        else f"{join_words(names)} {_speak(names)} for {focus.say_those(group)}"
        for group, names in for_whom.items()
    ]
    if len(told) == 1:
        return f"So {told[0]}."
    return f"So it depends on what counts: {join_words(told)}."


def _speak(names: Sequence[str]) -> str:
    return "speak" if len(names) > 1 else "speaks"


def _interpret_impact(figures: Sequence[FoundFigure], question: ControlledQuestion) -> str:
    gaps = [(measure_gap(figure.values), _name(figure, question), figure.ahead) for figure in figures]
    known = [(gap, name, ahead) for gap, name, ahead in gaps if gap is not None and ahead]
    if not known:
        return f"So the figures show no clear impact of the {question.focus.group_words}."
    told = [f"in {name} {ahead} is {gap:.0%} above the lowest" for gap, name, ahead in known]
    return f"So the impact of the {question.focus.group_words} shows in these gaps: {join_words(told)}."


def _interpret_correlation(figures: Sequence[FoundFigure], question: ControlledQuestion) -> str:
    value = figures[0].values.get(VALUE)
    if value is None:
        return "So there is no correlation to speak of."
    size = "strong" if abs(value) >= STRONG else "moderate" if figures[0].ahead != WEAK else "weak"
    agree = {POSITIVE: ABOVE, NEGATIVE: BELOW}.get(figures[0].ahead) == figures[1].ahead
    beside = "and the averages agree" if agree else "and the averages do not bear it out"
    way = "positive" if value > 0 else "negative"
    judged = "how much is noteworthy is for the reader to judge"
    return f"So the correlation is {size} and {way}, {beside}; {judged}."


def _interpret_relationship(figures: Sequence[FoundFigure], question: ControlledQuestion) -> str:
    over = question.focus.find(figures[0].design.over).name
    told = []
    for figure in figures:
        name = question.focus.find(figure.design.measure).name
        if figure.design.kind == CORRELATED:
            words = {POSITIVE: "positively correlated", NEGATIVE: "negatively correlated"}
            told.append(f"the {name} is {words.get(figure.ahead, 'hardly correlated')} with it")
        else:
            words = {ABOVE: "higher", BELOW: "lower"}
            told.append(f"the average {name} is {words.get(figure.ahead, 'the same')}")
    return f"So with a higher {over}, {join_words(told)}."


def _interpret_trend(figures: Sequence[FoundFigure], question: ControlledQuestion) -> str:
    focus = question.focus
    words = {"rising": "rises", "falling": "falls", "flat": "hardly changes", "": "cannot be said to change"}
    sloped = [figure for figure in figures if figure.design.kind in (SLOPE, YEARLY)]
    halves = {EARLIER: "the earlier", LATER: "the later"}.get(figures[-1].ahead)
    counted = f"number of {focus.table_words}"
    names = [
        counted if figure.design.kind == YEARLY else f"average {focus.find(figure.design.measure).name}"
        for figure in sloped
    ]
    told = [f"the {name} {words[figure.ahead]}" for name, figure in zip(names, sloped, strict=True)]
    beside = (
        f"the higher figure is that of {halves} years" if halves else "both halves of the years are alike"
    )
    return f"So over the years {join_words(told)}; {beside}."


def _interpret_pattern(figures: Sequence[FoundFigure], question: ControlledQuestion) -> str:
    focus = question.focus
    told = [
        f"{question.groups[int(figure.design.threshold)]} is more common for {focus.say_those(figure.ahead)}"
        if figure.ahead
        else f"{question.groups[int(figure.design.threshold)]} is as common for both"
        for figure in figures
    ]
    return f"So {join_words(told)}."


INTERPRETED: Mapping[str, Callable[[Sequence[FoundFigure], ControlledQuestion], str]] = {
    COMPARISON: _interpret_groups, IMPACT: _interpret_impact, CORRELATION: _interpret_correlation,
    RELATIONSHIP: _interpret_relationship, TREND: _interpret_trend, PATTERN: _interpret_pattern,
}  # fmt: skip
"""Map each kind to the function that states the interpretation of its figures."""
