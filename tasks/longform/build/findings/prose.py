"""Check the sentences that a model worded itself in the answer to an analysis."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tasks.longform.build.analyses.kinds import CORRELATED, SLOPE, YEARLY
from tasks.longform.build.analyses.outcomes import FALLING, NEGATIVE, POSITIVE, RISING
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.evidence import FoundFigure
from tasks.longform.build.words import find_numbers, names_all
from tasks.models.ask import Unparsed

UP = re.compile(r"\b(positive(ly)?|ris(e|es|en|ing)|increas\w+|grow\w*|upwards?)\b", re.IGNORECASE)
"""Matches words for a positive correlation or a rise."""
DOWN = re.compile(
    r"\b(negative(ly)?|inverse(ly)?|fall\w*|decreas\w+|declin\w+|drop\w*|downwards?)\b", re.IGNORECASE
)
"""Matches words for a negative correlation or a fall."""
RANKS = re.compile(
    r"\b(higher|highest|lower|lowest|more|most|less|least|fewer|fewest|larger|largest|smaller|smallest|greater|"
    r"greatest|above|below|exceeds?|leads?|ahead|behind|common)\b",
    re.IGNORECASE,
)
"""Matches words that rank groups or sides."""
SIGNED: Mapping[str, tuple[str, str]] = {
    CORRELATED: (POSITIVE, NEGATIVE), SLOPE: (RISING, FALLING), YEARLY: (RISING, FALLING),
}  # fmt: skip
"""Map each kind of figure to the outcomes (up, down) that a sentence may state in the model's own words."""


def check_sentence(
    sentence: str, figures: Sequence[FoundFigure], stated: Sequence[str], question: ControlledQuestion
) -> None:
    """Raise Unparsed if the figures do not support a sentence that the model worded itself.

    The sentence may state the direction of a correlation or a trend, with that figure's numbers. Only
    wordings that code composed may rank groups or sides or state their numbers, because this check cannot
    detect a number next to the wrong group.
    """
    bare = sentence
    for group in question.groups:
        bare = bare.replace(group, " ")
    numbers = find_numbers(bare)
    up, down = UP.search(sentence), DOWN.search(sentence)
    if RANKS.search(sentence):
        raise Unparsed(f"it does not state a finding in the given words: {sentence.strip()[:120]}")
    if not numbers and up is None and down is None:
        return
    if up is not None and down is not None:
        raise Unparsed(f"it states both directions in one sentence: {sentence.strip()[:120]}")
    names = [measure.name for measure in question.focus.measures if names_all(sentence, [measure.name])]
    for figure, said in zip(figures, stated, strict=True):
        if figure.design.kind not in SIGNED or (up is None and down is None):
            continue
        about = question.focus.find(figure.design.measure).name
        rising, falling = SIGNED[figure.design.kind]
        fits = about in names and set(numbers) <= set(find_numbers(said))
        if fits and figure.ahead == (rising if up is not None else falling):
            return
    raise Unparsed(f"it does not state a finding in the given words: {sentence.strip()[:120]}")
