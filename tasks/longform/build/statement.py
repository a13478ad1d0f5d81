"""State the figures of a question's database in sentences, and check a model's answer against them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.longform.build.analyses.outcomes import is_analysis
from tasks.longform.build.answers import WORDS, Choices, conclude_figures, say_figure
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.evidence import FoundFigure, read_script
from tasks.longform.build.findings.prose import check_sentence
from tasks.longform.build.words import find_numbers, names_all
from tasks.models.ask import Unparsed

HIGHER = re.compile(
    r"\b(high|long|larg|great|bett|earli|heavi)(er|est)\b|\b(more|most|best|exceeds?|ahead|above)\b",
    re.IGNORECASE,
)
"""Matches words that say that one value is higher than another."""
LOWER = re.compile(
    r"\b(low|short|small|few|light)(er|est)\b|\b(less|least|worse|worst|below|behind)\b", re.IGNORECASE
)
"""Matches words that say that one value is lower than another."""
NO_PROSE = re.compile(r"\b(findings?|conclusion|answer):|\bvs\b|\d\s*/\s*\d", re.IGNORECASE)
"""Matches notes and labels, which do not belong in an answer's sentences."""
UNKNOWN = re.compile(r"\b(because|due to|likely|suggest\w*|indicat\w*|average of \w+ and)\b", re.IGNORECASE)
"""Matches words for causes, guesses and new computations. The findings support none of them."""
FIRST_WORD = re.compile(r"\w+")
SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z])")


@dataclass(frozen=True)
class Claim:
    """A claim of a reference answer, with the query that supports it."""

    text: str
    sql: str
    columns: tuple[str, ...]
    rows: str
    """The rows of the query's result as JSON: a list of lists."""


@dataclass(frozen=True)
class Statement:
    """The figures of a question, computed from its database, and the sentences that state them.

    stated: the alternative sentences for each figure. verdicts: the alternative sentences for the conclusion.
    claims: one claim per figure.
    """

    question: ControlledQuestion
    figures: Sequence[FoundFigure]
    stated: Sequence[Choices]
    verdicts: Choices
    claims: tuple[Claim, ...]

    @property
    def opening(self) -> str:
        """The first word of a definite answer: `Yes`, `No` or `Unknown`; empty for an open question."""
        return "" if self.question.quality else FIRST_WORD.findall(self.verdicts[0])[0]

    @property
    def sentences(self) -> list[Choices]:
        """The sentences of an answer, in order; each is a list of wordings to choose from."""
        return [self.verdicts, *self.stated] if self.opening else [*self.stated, self.verdicts]

    def check(self, answer: str) -> str:
        """Return a model's answer if the rows support the whole answer; otherwise raise Unparsed.

        The answer must contain one of the wordings of the conclusion. A sentence that the model worded itself
        must state each number next to its group.
        """
        prose = " ".join(answer.split())
        if self.opening and not prose.startswith(self.opening):
            raise Unparsed(f"it does not begin with {self.opening}")
        if found := NO_PROSE.search(prose):
            raise Unparsed(f"it is not plain prose: {found[0].strip()}")
        if missing := [group for group in self.question.groups if not names_all(prose, [group])]:
            raise Unparsed(f"it leaves out the name {missing[0]}")
        if not any(verdict in prose for verdict in self.verdicts):
            raise Unparsed(f"it does not contain these words: {self.verdicts[0]}")
        ours = [*self.verdicts, *(wording for wordings in self.stated for wording in wordings)]
        known = {
            round(number, 6) for wording in [*ours, *self.question.groups] for number in find_numbers(wording)
        }
        if strange := [number for number in find_numbers(prose) if round(number, 6) not in known]:
            raise Unparsed(f"no finding contains the number {strange[0]:g}")
        for wordings in self.stated:
            if lost := [number for number in find_numbers(wordings[0]) if number not in find_numbers(prose)]:
                raise Unparsed(f"it leaves out the number {lost[0]:g}")
        if found := UNKNOWN.search(prose):
            raise Unparsed(f"the findings do not support this: {found[0]}")
        rest = prose
        # The longest wording first, because a wording may contain a shorter wording.
        for wording in sorted(ours, key=len, reverse=True):
            rest = rest.replace(wording, " ")
        plainest = [wordings[0] for wordings in self.stated]
        for sentence in SENTENCE.split(rest):
            if is_analysis(self.question.design):
                check_sentence(sentence, self.figures, plainest, self.question)
            else:
                _check_own(sentence, self.figures, self.question)
        return prose


def state_figures(script: str, question: ControlledQuestion) -> Statement:
    """Run the queries of a question's figures on its database, and state the results in sentences."""
    figures = read_script(script, question)
    stated = [say_figure(figure, question) for figure in figures]
    claims = tuple(_make_claim(said[0], figure) for said, figure in zip(stated, figures, strict=True))
    return Statement(question, figures, stated, conclude_figures(figures, question), claims)


def _make_claim(text: str, figure: FoundFigure) -> Claim:
    """Make the claim that states a figure, with its query and rows."""
    rows = json.dumps([list(row) for row in figure.rows], ensure_ascii=False)
    return Claim(text, figure.sql, figure.columns, rows)


def _check_own(sentence: str, figures: Sequence[FoundFigure], question: ControlledQuestion) -> None:
    """Raise Unparsed if a sentence that the model worded itself does not match the stated figure."""
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
        raise Unparsed(
            f"it does not state each number next to the name of its group: {sentence.strip()[:120]}"
        )
    if up is None and down is None:
        return
    if up is not None and down is not None:
        raise Unparsed(f"it compares in both directions in one sentence: {sentence.strip()[:120]}")
    if all(figure.is_ahead(names[0]) != (up is not None) for figure in told):
        raise Unparsed(f"the comparison is reversed: {sentence.strip()[:120]}")


def _list_named(sentence: str, question: ControlledQuestion) -> list[str]:
    """List the groups that a sentence names, in the order of their first mention."""
    places = {
        group: found.start()
        for group in question.groups
        if (found := re.search(rf"(?<!\w){re.escape(group)}(?!\w)", sentence, re.IGNORECASE))
    }
    return sorted(places, key=lambda group: places[group])


def _fits(figure: FoundFigure, sentence: str, question: ControlledQuestion) -> bool:
    """Return whether a sentence names the statistic and the measure of a figure.

    A sentence without a statistic fits every statistic. A sentence without a measure fits every measure. The
    result is always False for a share, because a model must not reword the sentence on a share.
    """
    if figure.design.kind == "share":
        return False
    kinds = [kind for kind, word in WORDS.items() if names_all(sentence, [word])]
    measures = [measure.column for measure in question.focus.measures if names_all(sentence, [measure.name])]
    return (not kinds or figure.design.kind in kinds) and (not measures or figure.design.measure in measures)


def _pairs(figure: FoundFigure, names: Sequence[str], numbers: Sequence[float]) -> bool:
    """Return whether a sentence's numbers are the values of the named groups, in the order of `names`.

    Counts and thresholds are ignored. The result is False if `names` is empty.
    """
    values = {round(value, 6) for value in figure.values.values()}
    aside = {*figure.counts.values(), *figure.totals.values(), figure.design.threshold} - values
    told = [round(number, 6) for number in numbers if number not in aside]
    return bool(names) and told == [round(figure.values[name], 6) for name in names]
