"""Hold the answer in a model's words against the figures: what cannot be told to be right is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tasks.longform.build.answers import WORDS, Choices
from tasks.longform.build.evidence import FoundFigure
from tasks.longform.build.words import find_numbers, names_all
from tasks.longform.rows import ControlledQuestion
from tasks.models.ask import Unparsed

HIGHER = re.compile(
    r"\b(high|long|larg|great|bett|earli|heavi)(er|est)\b|\b(more|most|best|exceeds?|ahead|above)\b",
    re.IGNORECASE,
)
LOWER = re.compile(
    r"\b(low|short|small|few|light)(er|est)\b|\b(less|least|worse|worst|below|behind)\b", re.IGNORECASE
)
NO_PROSE = re.compile(r"\b(findings?|conclusion|answer):|\bvs\b|\d\s*/\s*\d", re.IGNORECASE)
"""Notes and labels, which are no answer to a reader."""
UNKNOWN = re.compile(r"\b(because|due to|likely|suggest\w*|indicat\w*|average of \w+ and)\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z])")


def check_prose(
    text: str,
    figures: Sequence[FoundFigure],
    stated: Sequence[Choices],
    verdicts: Choices,
    question: ControlledQuestion,
    opening: str,
) -> str:
    """Return a model's answer if the rows bear it out, all of it. Raises Unparsed.

    stated, verdicts: wordings of ours of each figure and of what they come to. The verdict must be one of
    these; a sentence of the model's own must give each number beside the group that it is of.
    """
    prose = " ".join(text.split())
    if opening and not prose.startswith(opening):
        raise Unparsed(f"it does not begin with {opening}")
    if found := NO_PROSE.search(prose):
        raise Unparsed(f"it is no plain prose: {found[0].strip()}")
    if missing := [group for group in question.groups if not names_all(prose, [group])]:
        raise Unparsed(f"it leaves out the name {missing[0]}")
    if not any(verdict in prose for verdict in verdicts):
        raise Unparsed(f"it does not say in these words: {verdicts[0]}")
    ours = [*verdicts, *(wording for wordings in stated for wording in wordings)]
    known = {round(number, 6) for wording in [*ours, *question.groups] for number in find_numbers(wording)}
    if strange := [number for number in find_numbers(prose) if round(number, 6) not in known]:
        raise Unparsed(f"no finding has the number {strange[0]:g}")
    for wordings in stated:
        if lost := [number for number in find_numbers(wordings[0]) if number not in find_numbers(prose)]:
            raise Unparsed(f"it leaves out the number {lost[0]:g}")
    if found := UNKNOWN.search(prose):
        raise Unparsed(f"it says more than the findings: {found[0]}")
    rest = prose
    for wording in sorted(ours, key=len, reverse=True):
        rest = rest.replace(wording, " ")
    for sentence in SENTENCE.split(rest):
        _check_own(sentence, figures, question)
    return prose


def _check_own(sentence: str, figures: Sequence[FoundFigure], question: ControlledQuestion) -> None:
    """Hold a sentence of the model's own against the one figure that it must be about. Raises Unparsed."""
    names = _list_named(sentence, question)
    up, down = HIGHER.search(sentence), LOWER.search(sentence)
    bare = sentence
    for name in question.groups:
        bare = bare.replace(name, " ")
    numbers = find_numbers(bare)
    if not numbers and not (names and (up or down)):
        return
    fitting = [figure for figure in figures if _fits(figure, sentence, question)]
    told = [figure for figure in fitting if _pairs(figure, names, numbers)]
    if not told:
        raise Unparsed(f"it does not give each number beside what it is of: {sentence.strip()[:120]}")
    if up is None and down is None:
        return
    if up is not None and down is not None:
        raise Unparsed(f"it compares two ways in one sentence: {sentence.strip()[:120]}")
    if all(figure.is_ahead(names[0]) != (up is not None) for figure in told):
        raise Unparsed(f"the comparison goes the other way: {sentence.strip()[:120]}")


def _list_named(sentence: str, question: ControlledQuestion) -> list[str]:
    """List the groups that a sentence names, in the order in which it first does."""
    places = {
        group: found.start()
        for group in question.groups
        if (found := re.search(rf"(?<!\w){re.escape(group)}(?!\w)", sentence, re.IGNORECASE))
    }
    return sorted(places, key=lambda group: places[group])


def _fits(figure: FoundFigure, sentence: str, question: ControlledQuestion) -> bool:
    """Tell whether a sentence may be about a figure: a share is told in our words alone."""
    if figure.design.kind == "share":
        return False
    kinds = [kind for kind, word in WORDS.items() if names_all(sentence, [word])]
    measures = [one.column for one in question.focus.measures if names_all(sentence, [one.name])]
    return (not kinds or figure.design.kind in kinds) and (not measures or figure.design.measure in measures)


def _pairs(figure: FoundFigure, names: Sequence[str], numbers: Sequence[float]) -> bool:
    """Tell whether numbers are a figure's values in the order of the groups named, its counts left aside."""
    values = {round(value, 6) for value in figure.values.values()}
    aside = {*figure.counts.values(), *figure.totals.values(), figure.design.threshold} - values
    told = [round(number, 6) for number in numbers if number not in aside]
    return bool(names) and told == [round(figure.values[name], 6) for name in names]
