"""Stage: shorten the questions, so that an answer needs inference ("condense", section 2.1 of the paper)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, split_outcomes
from tasks.longform.build.analyses.frames import SHORTENED, list_short_musts, read_task
from tasks.longform.build.analyses.outcomes import is_analysis
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.designs import TYPICAL, WITHIN
from tasks.longform.build.frames import SHORT, read_question
from tasks.longform.build.words import find_numbers, names_all
from tasks.models.ask import Ask, Unparsed
from tasks.models.frames import read_first, write_frame
from tasks.models.rounds import ask_in_rounds
from tasks.settings import Settings


@dataclass(frozen=True)
class CondensedQuestion:
    """Row of the stage `condense`: a question without superfluous detail. The row has the question's id."""

    id: str
    text: str
    origin: tuple[Origin, ...]


class Condense(Settings):
    """The settings in params.yaml under `longform.condense`."""

    words: int = Field(default=45, ge=8)
    """Maximum number of words in a short question.

    A short question also has at most two words more than the original question.
    """
    rounds: int = Field(default=3, ge=1)
    """Maximum number of attempts per question."""


async def condense(
    control: list[ControlledQuestion], params: Condense, ask: Ask
) -> Drafts[CondensedQuestion]:
    """Have a model shorten every question, keeping entities and all details that a definite answer needs.

    Drop reason: `uncondensed`.
    """
    outcomes = await asyncio.gather(*(_shorten(question, params, ask) for question in control))
    return split_outcomes(outcomes)


def list_kept(question: ControlledQuestion) -> list[tuple[str, ...]]:
    """List the names that a short question must contain, each as a tuple of alternative texts.

    The short form of an open question does not name the figures, so that readers decide which figures matter.
    """
    asked = question.asked
    if is_analysis(question.design):
        return list_short_musts(question.design, asked)
    kept: list[tuple[str, ...]] = [(asked.rows,), *((group,) for group in question.groups)]
    if question.quality is not None:
        return [*kept, (question.quality.words,)]
    kept += [(measure.name, measure.more) for measure in asked.measures]
    if question.design == TYPICAL:
        kept.append(("median",))
    if question.design == WITHIN:
        kept.append((asked.within.partition(" whose ")[2].partition(" is ")[0],))
    return kept


async def _shorten(question: ControlledQuestion, params: Condense, ask: Ask) -> CondensedQuestion | Dropped:
    kept = list_kept(question)
    steered = is_analysis(question.design)
    frame = (SHORTENED if steered else SHORT)[question.design](question.asked)
    most = min(params.words, len(question.text.split()) + 2)

    def parse(text: str) -> str:
        short = (read_task if steered else read_question)(text, 6, most)
        for names in kept:
            if not any(names_all(short, [name]) for name in names):
                raise Unparsed(f"it does not name {' or '.join(names)}")
        thresholds = [figure.threshold for figure in question.figures if figure.over and not steered]
        if lost := [number for number in thresholds if number not in find_numbers(short)]:
            raise Unparsed(f"it does not name {lost[0]:g}")
        return short

    fields = {
        "question": question.text,
        "words": most,
        "kept": [" or ".join(names) for names in kept],
        "meant": read_first(frame),
    }
    written = await ask_in_rounds(
        ask,
        "condense",
        fields,
        rounds=params.rounds,
        row=question.id,
        parse=parse,
        grammar=write_frame(frame),
        max_tokens=100,
    )
    if written.text is None:
        return Dropped(question.id, "uncondensed", written.problem, written.calls)
    origin = (Origin("row", f"control#{question.id}"), *written.calls)
    return CondensedQuestion(question.id, written.text, origin)
