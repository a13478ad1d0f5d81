"""Define sentence frames for analysis questions, and the names that each question must contain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tasks.longform.build.analyses.kinds import (
    COMPARISON,
    CORRELATION,
    FIRST_VALUE,
    IMPACT,
    MEDIAN_GAP,
    PATTERN,
    RELATIONSHIP,
    TREND,
    YEARLY,
)
from tasks.longform.build.foci import FocusMeasure
from tasks.longform.build.frames import Asked, read_question
from tasks.longform.build.words import join_words
from tasks.models.frames import Parts

TASK = re.compile(
    r"(analy[sz]e|assess|compare|describe|determine|examine|explain|explore|investigate)\b", re.I
)
"""Matches the start of a question that is worded as a task, like most questions in figure 5 of the paper."""
KEPT: Mapping[str, tuple[str, ...]] = {
    COMPARISON: ("than", "compare", "compared", "higher", "differ", "difference", "differences"),
    CORRELATION: ("correlation", "correlations", "correlate", "correlates", "correlated"),
    RELATIONSHIP: ("relationship", "related", "relate", "relates", "relation"),
    IMPACT: ("impact", "difference", "affect", "affects", "influence", "effect"),
    TREND: (
        "trend",
        "trends",
        "risen",
        "rise",
        "rising",
        "grown",
        "increased",
        "over time",
        "over the years",
    ),
    PATTERN: ("common", "pattern", "patterns", "share", "often", "likely", "typical"),
}
"""Kind of analysis -> words. A definite question must contain at least one word of its kind."""


def read_task(text: str, least: int, most: int) -> str:
    """Parse a reply: one question of `least` to `most` words, or one task that ends with a full stop.

    Raises Unparsed for any other reply.
    """
    task = " ".join(text.strip().strip('"').split())
    if TASK.match(task) and task.endswith(".") and not re.search(r"[.?!] [A-Z]", task):
        return f"{read_question(f'{task[:-1]}?', least, most)[:-1]}."
    return read_question(task, least, most)


def list_musts(design: str, asked: Asked) -> list[tuple[str, ...]]:
    """List the names that a full question must contain, each as a tuple of alternative texts."""
    musts: list[tuple[str, ...]] = [(asked.rows,), *((group,) for group in asked.groups)]
    musts += [_inflect(name) for name in _list_names(design, asked)]
    return [*musts, (asked.quality.words,) if asked.quality else KEPT[design]]


def list_short_musts(design: str, asked: Asked) -> list[tuple[str, ...]]:
    """List the names that a condensed question must contain, each as a tuple of alternative texts.

    An interpretive question may need fewer names.
    """
    if asked.quality is None:
        return list_musts(design, asked)
    musts: list[tuple[str, ...]] = [(asked.rows,), *((group,) for group in asked.groups[:FIRST_VALUE])]
    if design in (CORRELATION, RELATIONSHIP):
        musts += [_inflect(name) for name in _list_names(design, asked)[:2]]
    if design in (TREND, PATTERN):
        musts.append(_inflect(_list_names(design, asked)[-1]))
    return [*musts, (asked.quality.words,)]


def _list_names(design: str, asked: Asked) -> list[str]:
    """List the names of the question's columns; for a trend, the time column comes last."""
    names = [measure.name for measure in asked.focus.measures]
    counted = design == TREND and asked.figures[0].kind == YEARLY
    return [f"number of {asked.rows}", *names] if counted else names


def _inflect(name: str) -> tuple[str, ...]:
    return (name, f"{name}s")


def find_time(asked: Asked) -> FocusMeasure:
    """Return the time column of a trend."""
    return asked.focus.find(asked.figures[0].over)


def _say_trended(asked: Asked) -> str:
    """Name the amounts of a trend: `average price and average size of houses`."""
    if asked.figures[0].kind == YEARLY:
        return f"number of {asked.rows}"
    return f"{_say_averages(asked)} of {asked.rows}"


def _say_averages(asked: Asked) -> str:
    kinds = {"median": "median", MEDIAN_GAP: "median"}
    time = asked.figures[0].over
    told = [
        f"{kinds.get(figure.kind, 'average')} {asked.focus.find(figure.measure).name}"
        for figure in asked.figures
        if figure.measure != time
    ]
    return join_words(list(dict.fromkeys(told)))


def _say_span(asked: Asked) -> str:
    name = find_time(asked).name
    return "over the years" if name == "year" else f"over the years, going by their {name}"


def _ask_comparison(asked: Asked) -> Parts:
    if asked.quality is None:
        return ((f"Do {asked.one} have a higher {_say_averages(asked)} than {asked.those}",),)
    if asked.quality.measures and not asked.quality.words.endswith("differences"):
        return ((f"Compare {asked.one} with {asked.those} by {_say_averages(asked)}: which of the two",
                 ), (f" {asked.quality.words}",))  # fmt: skip
    return ((f"What {asked.quality.words} are there between {asked.one} and {asked.those}",),
            (f" in their {_say_averages(asked)}",))  # fmt: skip


def _ask_correlation(asked: Asked) -> Parts:
    one, over = (measure.name for measure in asked.focus.measures)
    if asked.quality is None:
        return ((f"Is there a positive correlation between the {one} and the {over} across {asked.rows}",),
                (f", and is their average {one} higher where the {over} is above average",))  # fmt: skip
    return ((f"Across {asked.rows}, is the correlation of the {one} and the {over} {asked.quality.words}",),
            (f", also when those of above-average {over} are set beside the others",))  # fmt: skip


def _ask_relationship(asked: Asked) -> Parts:
    over, *outcomes = (measure.name for measure in asked.focus.measures)
    if asked.quality is None:
        told = join_words([f"average {name}" for name in outcomes])
        return ((f"Across {asked.rows}, is a higher {over} related to a higher {told}",),)
    told = join_words([f"the {name}" for name in outcomes])
    return ((f"Is there a {asked.quality.words} relationship between the {over} and {told}",),
            (f" across {asked.rows}",))  # fmt: skip


def _ask_impact(asked: Asked) -> Parts:
    group, told = asked.focus.group_words, _say_averages(asked)
    if asked.quality is None:
        return ((f"Does the {group} make a difference of more than a tenth to the {told}",),
                (f" of {asked.rows}, for {asked.all}",))  # fmt: skip
    return ((f"What {asked.quality.words} does the {group} have on the {told} of {asked.rows}",),
            (f", for {asked.all}",))  # fmt: skip


def _ask_trend(asked: Asked) -> Parts:
    if asked.quality is None:
        return ((f"Has the {_say_trended(asked)} risen {_say_span(asked)}",),
                (", and is it higher in the later half of them than in the earlier one",))  # fmt: skip
    return ((f"What {asked.quality.words} are there in the {_say_trended(asked)} {_say_span(asked)}",),)


def _ask_pattern(asked: Asked) -> Parts:
    first, second = asked.groups[FIRST_VALUE:]
    part = asked.focus.measures[0].name
    if asked.quality is None:
        return ((f"Do {asked.one} more often have {first} as their {part}",),
                (f", and {asked.those} more often {second}",))  # fmt: skip
    return ((f"What {asked.quality.words} are there in the {part} of {asked.one} and of {asked.those}",),
            (f", such as how common {first} and {second} are",))  # fmt: skip


def _shorten_comparison(asked: Asked) -> Parts:
    if asked.quality is None:
        return _ask_comparison(asked)
    if not asked.quality.words.endswith("differences"):
        return ((f"Compare {asked.one} with {asked.those}: which {asked.quality.words}",),)
    return ((f"What {asked.quality.words} are there between {asked.one} and {asked.those}",),)


def _shorten_correlation(asked: Asked) -> Parts:
    one, over = (measure.name for measure in asked.focus.measures)
    if asked.quality is None:
        return ((f"Is there a positive correlation between the {one} and the {over} across {asked.rows}",),)
    return ((f"Across {asked.rows}, is the correlation of the {one} and the {over} {asked.quality.words}",),)


def _shorten_relationship(asked: Asked) -> Parts:
    over, outcome = (measure.name for measure in asked.focus.measures[:2])
    if asked.quality is None:
        return _ask_relationship(asked)
    return ((f"Is there a {asked.quality.words} relationship between the {over} and the {outcome}",),
            (f" across {asked.rows}",))  # fmt: skip


def _shorten_impact(asked: Asked) -> Parts:
    if asked.quality is None:
        return _ask_impact(asked)
    return ((f"What {asked.quality.words} does the {asked.focus.group_words} have on {asked.rows}",),
            (f", for {asked.all}",))  # fmt: skip


def _shorten_trend(asked: Asked) -> Parts:
    if asked.quality is None:
        return ((f"Has the {_say_trended(asked)} risen {_say_span(asked)}",),)
    return ((f"What {asked.quality.words} do {asked.rows} show {_say_span(asked)}",),)


def _shorten_pattern(asked: Asked) -> Parts:
    if asked.quality is None:
        return _ask_pattern(asked)
    part = asked.focus.measures[0].name
    return ((f"What {asked.quality.words} are there in the {part} of {asked.one} and of {asked.those}",),)


AT_LENGTH: Mapping[str, Callable[[Asked], Parts]] = {
    COMPARISON: _ask_comparison, CORRELATION: _ask_correlation, RELATIONSHIP: _ask_relationship,
    IMPACT: _ask_impact, TREND: _ask_trend, PATTERN: _ask_pattern,
}  # fmt: skip
"""Map each kind to the function that composes the frame of the full question."""
SHORTENED: Mapping[str, Callable[[Asked], Parts]] = {
    COMPARISON: _shorten_comparison, CORRELATION: _shorten_correlation,
    RELATIONSHIP: _shorten_relationship, IMPACT: _shorten_impact, TREND: _shorten_trend,
    PATTERN: _shorten_pattern,
}  # fmt: skip
"""Map each kind to the function that composes the frame of the condensed question."""
