"""Compose frames: alternative phrasings of a question, from which a model chooses.

Without constraints, a small model omits or garbles half of the required names. With constrained decoding, a
model can write only the phrasings of the frame. Other models get a frame's first phrasing as an example, and
the parsers also accept other phrasings. This module also contains `read_question`, the parser of both
question stages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tasks.longform.build.designs import BOTH, LEADER, MOST, OPEN, TYPICAL, WITHIN, FigureDesign
from tasks.longform.build.foci import Focus, FocusMeasure, Quality
from tasks.longform.build.words import join_words
from tasks.models.ask import Unparsed
from tasks.models.frames import Parts


@dataclass(frozen=True)
class Asked:
    """The subject of a question, with the phrases that the question's frame uses."""

    focus: Focus
    groups: Sequence[str]
    quality: Quality | None
    figures: Sequence[FigureDesign]

    @property
    def rows(self) -> str:
        """The noun for the rows, such as `films`."""
        return self.focus.table_words

    @property
    def one(self) -> str:
        """The first group's rows: `films directed by Woody Allen`."""
        return self.focus.say_rows(self.groups[0])

    @property
    def other(self) -> str:
        """The second group's rows: `films directed by John Huston`."""
        return self.focus.say_rows(self.groups[1])

    @property
    def those(self) -> str:
        """The second group's rows, in short: `those directed by John Huston`."""
        return self.focus.say_those(self.groups[1])

    @property
    def all(self) -> str:
        """All groups: `Woody Allen, John Huston and Luc Besson`."""
        return join_words(self.groups)

    @property
    def measures(self) -> list[FocusMeasure]:
        """The measures of the figures, without duplicates."""
        return [self.focus.find(name) for name in dict.fromkeys(figure.measure for figure in self.figures)]

    @property
    def within(self) -> str:
        """The rows that a figure is restricted to: `films whose runtime is above 100 minutes`."""
        design = next(figure for figure in self.figures if figure.over)
        over = self.focus.find(design.over)
        return f"{self.rows} whose {over.name} is above {over.say(design.threshold)}"


def _ask_open(asked: Asked) -> Parts:
    kinds = {"mean": "average", "highest": "highest"}
    figures = [f"{kinds[figure.kind]} {asked.focus.find(figure.measure).name}" for figure in asked.figures]
    quality = asked.quality.words if asked.quality else ""
    return (
        ("How do", "By the records, how do", "Taken as a whole, how do"),
        (f" {asked.one} and {asked.other} compare",),
        (f" in their {join_words(figures)}", f" in {join_words(figures)}"),
        (f", and which of the two {quality}", f", and which of them {quality} by these figures"),
    )


def _ask_both(asked: Asked) -> Parts:
    first, second = (measure.name for measure in asked.measures)
    return (
        ("Do", "On the whole, do", "By the records, do"),
        (f" {asked.one} have",),
        (
            f" both a higher average {first} and a higher average {second}",
            f" a higher average {first} and also a higher average {second}",
        ),
        (f" than {asked.other}", f" than {asked.those}"),
        ("", f", counting only {asked.rows} for which these figures are known"),
    )


def _ask_leader(asked: Asked) -> Parts:
    first, second = (measure.name for measure in asked.measures)
    listed = asked.focus.relation.format(join_words(asked.groups, "or"))
    word = asked.focus.group_words
    return (
        ("Of", "Among"),
        (f" all {asked.rows} {listed}",),
        (
            f", does the same {word} have both the highest average {first} and the highest average {second}",
            f", is the {word} with the highest average {first} also the one with the highest "
            f"average {second}",
        ),
    )


def _ask_within(asked: Asked) -> Parts:
    (measure,) = asked.measures
    return (
        ("Do", "By the records, do"),
        (f" {asked.one} have a higher average {measure.name} than {asked.those}",),
        (", and does that still hold", ", and is it also so"),
        (f" when only {asked.within} are counted", f" if one counts only {asked.within}"),
    )


def _ask_most(asked: Asked) -> Parts:
    (measure,) = asked.measures
    return (
        ("Is", "By the records, is"),
        (f" the {measure.name} of more than half of the {asked.one}",),
        (f" above the average {measure.name}", f" higher than the average {measure.name}"),
        (f" of all {asked.other}", f" of the {asked.other}"),
    )


def _ask_typical(asked: Asked) -> Parts:
    (measure,) = asked.measures
    return (
        ("Do", "By the records, do"),
        (f" {asked.one} have",),
        (
            f" both a higher average {measure.name} and a higher median {measure.name}",
            f" a higher average {measure.name} and also a higher median {measure.name}",
        ),
        (f" than {asked.other}", f" than {asked.those}"),
        ("", ", so that no single one of them decides it"),
    )


def _shorten_open(asked: Asked) -> Parts:
    quality = asked.quality.words if asked.quality else ""
    first, second = (asked.focus.say_those(group) for group in asked.groups)
    return (
        (f"Which {asked.rows} {quality}", f"By the records, which {asked.rows} {quality}"),
        (f": {first} or {second}",),
    )


def _shorten_both(asked: Asked) -> Parts:
    first, second = (measure.more for measure in asked.measures)
    return (
        (f"On average, do {asked.one} both {first} and {second} than {asked.those}",
         f"Do {asked.one}, on average, {first} and also {second} than {asked.those}"),
    )  # fmt: skip


def _shorten_leader(asked: Asked) -> Parts:
    first, second = (measure.name for measure in asked.measures)
    word = asked.focus.group_words
    return (
        (f"Of {asked.all}", f"Among {asked.all}"),
        (f", is the {word} whose {asked.rows} have the highest average {first}",),
        (
            f" also the one with the highest average {second}",
            f" also the one whose average {second} is the highest",
        ),
    )


def _shorten_within(asked: Asked) -> Parts:
    (measure,) = asked.measures
    return (
        (f"On average, do {asked.one} {measure.more} than {asked.those}",),
        (f", both overall and among {asked.within}", f", over all {asked.rows} and also over {asked.within}"),
    )


def _shorten_most(asked: Asked) -> Parts:
    (measure,) = asked.measures
    return ((f"Do most {asked.one} {measure.more} than {asked.other} do on average",),)


def _shorten_typical(asked: Asked) -> Parts:
    (measure,) = asked.measures
    return (
        (f"Do {asked.one} {measure.more} than {asked.those}",),
        (", both on average and by the median", " by the average and by the median alike"),
    )


QUESTIONS: Mapping[str, Callable[[Asked], Parts]] = {
    OPEN: _ask_open, BOTH: _ask_both, LEADER: _ask_leader, WITHIN: _ask_within, MOST: _ask_most,
    TYPICAL: _ask_typical,
}  # fmt: skip
"""Map each design to the function that composes the frame of the full question."""
SHORT: Mapping[str, Callable[[Asked], Parts]] = {
    OPEN: _shorten_open, BOTH: _shorten_both, LEADER: _shorten_leader, WITHIN: _shorten_within,
    MOST: _shorten_most, TYPICAL: _shorten_typical,
}  # fmt: skip
"""Map each design to the function that composes the frame of the condensed question."""


def read_question(text: str, least: int, most: int) -> str:
    """Parse one question of `least` to `most` words. Raises Unparsed for any other reply."""
    question = " ".join(text.strip().strip('"').split())
    if not question.endswith("?") or question.count("?") > 1:
        raise Unparsed("it is not one sentence with one question mark")
    if re.search(r"[<>{}|`]|\b(SELECT|FROM|JOIN)\b", question):
        raise Unparsed("it contains SQL or special characters")
    count = len(question.split())
    if not least <= count <= most:
        raise Unparsed(f"it has {count} words; expected {least} to {most}")
    return question
