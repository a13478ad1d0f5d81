"""Stage: the reference answer, from the rows really in the database (section 2.2, conclude)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Origin
from tasks.longform.build.answers import conclude_figures, say_figure
from tasks.longform.build.evidence import FoundFigure, make_claim, read_script
from tasks.longform.build.frames import write_frame
from tasks.longform.build.rounds import ask_in_rounds
from tasks.longform.build.words import find_numbers, names_all
from tasks.longform.rows import Claim, Conclusion, ConfirmedQuestion, ControlledQuestion, SyntheticDatabase
from tasks.models.ask import Ask, Unparsed

HIGHER = re.compile(r"\b(higher|longer|larger|greater|more|better|exceeds?|ahead|above)\b", re.IGNORECASE)
LOWER = re.compile(r"\b(lower|shorter|smaller|less|fewer|worse|below|behind)\b", re.IGNORECASE)
NO_PROSE = re.compile(r"\b(findings?|conclusion|answer):|\bvs\b|\d\s*/\s*\d", re.IGNORECASE)
"""Notes and labels, which are no answer to a reader."""
UNKNOWN = re.compile(r"\b(because|due to|likely|suggest\w*|indicat\w*|average of \w+ and)\b", re.IGNORECASE)


class Conclude(BaseModel):
    """`longform.conclude` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rounds: int = Field(default=2, ge=0)
    """How often the model is asked for the answer in its words; 0 states the rows plainly."""


async def conclude(
    construct: list[SyntheticDatabase],
    confirm: list[ConfirmedQuestion],
    control: list[ControlledQuestion],
    params: Conclude,
    ask: Ask,
) -> Drafts[Conclusion]:
    """Run the queries of every question, and have the answer written from what they found.

    The model's answer is taken if every number in it is one of the rows', every comparison goes the way that
    the rows do, and it ends as they conclude; else the answer is the plain statement of the rows.
    """
    asked = {question.id: question for question in control}
    confirmed = {question.id: question for question in confirm}
    return Drafts(
        await asyncio.gather(
            *(_conclude(made, confirmed[made.id], asked[made.id], params.rounds, ask) for made in construct)
        )
    )


async def _conclude(
    made: SyntheticDatabase,
    question: ConfirmedQuestion,
    controlled: ControlledQuestion,
    rounds: int,
    ask: Ask,
) -> Conclusion:
    figures = read_script(made.script, controlled)
    stated = [say_figure(figure, controlled) for figure in figures]
    verdicts = conclude_figures(figures, controlled)
    claims = tuple(make_claim(said[0], figure) for said, figure in zip(stated, figures, strict=True))
    opening = "" if controlled.quality else verdicts[0][:3].rstrip(",:. ")
    sentences = [verdicts, *stated] if opening else [*stated, verdicts]
    plain = " ".join(wordings[0] for wordings in sentences)
    fields = {
        "question": question.text,
        "findings": [claim.text for claim in claims],
        "conclusion": verdicts[0],
        "count": len(claims) + 1,
        "opening": opening,
    }
    written = await ask_in_rounds(
        ask,
        "conclude",
        fields,
        rounds=rounds,
        row=made.id,
        parse=lambda text: check_prose(text, figures, sentences, claims, controlled, opening),
        grammar=_write_grammar(sentences),
        max_tokens=320,
    )
    origin = (Origin("row", f"construct#{made.id}"), *written.calls)
    if written.text is None:
        return Conclusion(made.id, plain, claims, "plain", origin)
    return Conclusion(made.id, written.text, claims, "model", origin)


def _write_grammar(sentences: Sequence[Sequence[str]]) -> str:
    """Write the GBNF of an answer: one wording of each sentence, in order."""
    parts = [
        [f"{wording} " if place < len(sentences) - 1 else wording for wording in wordings]
        for place, wordings in enumerate(sentences)
    ]
    return write_frame(parts, end="")


def check_prose(
    text: str,
    figures: Sequence[FoundFigure],
    sentences: Sequence[Sequence[str]],
    claims: Sequence[Claim],
    question: ControlledQuestion,
    opening: str,
) -> str:
    """Return a model's answer if the rows bear out all of it that can be told. Raises Unparsed.

    sentences: what the figures come to, each in wordings of ours, which need no check of their direction.
    """
    prose = " ".join(text.split())
    if opening and not prose.startswith(opening):
        raise Unparsed(f"it does not begin with {opening}")
    if found := NO_PROSE.search(prose):
        raise Unparsed(f"it is no plain prose: {found[0].strip()}")
    if missing := [group for group in question.groups if not names_all(prose, [group])]:
        raise Unparsed(f"it leaves out the name {missing[0]}")
    ours = [wording for wordings in sentences for wording in wordings]
    known = {round(number, 2) for wording in ours for number in find_numbers(wording)}
    known |= {round(number, 2) for group in question.groups for number in find_numbers(group)}
    if strange := [number for number in find_numbers(prose) if round(number, 2) not in known]:
        raise Unparsed(f"no finding has the number {strange[0]:g}")
    for claim in claims:
        if lost := [number for number in find_numbers(claim.text) if number not in find_numbers(prose)]:
            raise Unparsed(f"it leaves out the number {lost[0]:g}")
    if found := UNKNOWN.search(prose):
        raise Unparsed(f"it says more than the findings: {found[0]}")
    rest = prose
    for wording in ours:
        rest = rest.replace(wording, "")
    for sentence in re.split(r"(?<=[.;])\s+(?=[A-Z])", rest):
        _check_direction(sentence, figures, question)
    return prose


def _check_direction(sentence: str, figures: Sequence[FoundFigure], question: ControlledQuestion) -> None:
    """Hold a sentence's comparison against the figures that it gives. Raises Unparsed."""
    numbers = set(find_numbers(sentence))
    told = [figure for figure in figures if {round(value, 2) for value in figure.values.values()} & numbers]
    leaders = {figure.ahead for figure in told}
    if len(leaders) != 1 or not leaders.issubset(question.groups) or len(question.groups) > 2:
        return
    up, down = HIGHER.search(sentence), LOWER.search(sentence)
    places = {group: sentence.find(group) for group in question.groups}
    if (up is None) == (down is None) or min(places.values()) < 0:
        return
    first = min(places, key=lambda group: places[group])
    if leaders != {first} if up is not None else leaders == {first}:
        raise Unparsed(f"the comparison goes the other way: {sentence[:120]}")
