"""Stage: questions without superfluous detail, so that they need inference (section 2.1, condense)."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.longform.build.frames import SHORT_DEFINITE, SHORT_OPEN, write_frame
from tasks.longform.build.sentences import read_question
from tasks.longform.build.words import names_all, say_amount
from tasks.longform.rows import CondensedQuestion, ControlledQuestion
from tasks.models.ask import Ask, Unparsed


class Condense(BaseModel):
    """`longform.condense` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: int = Field(default=26, ge=8)
    """Maximum number of words; never more than the controlled question has."""
    rounds: int = Field(default=3, ge=1)


async def condense(
    control: list[ControlledQuestion], params: Condense, ask: Ask
) -> Drafts[CondensedQuestion]:
    """Have every question shortened; entities stay, and what a definite answer needs.

    Drop reason: `uncondensed`.
    """
    outcomes = await asyncio.gather(*(_shorten(question, params, ask) for question in control))
    return Drafts(
        [outcome for outcome in outcomes if isinstance(outcome, CondensedQuestion)],
        [outcome for outcome in outcomes if isinstance(outcome, Dropped)],
    )


def list_kept(question: ControlledQuestion) -> list[str]:
    """List the words that a short question keeps, in order: entities, and the keyword or the measures.

    A question that turns on an abstract word leaves it to the reader which figures tell.
    """
    focus, (first, second) = question.focus, question.groups
    if question.keyword:
        return [focus.table_words, first, second, question.keyword.split()[-1]]
    return [focus.table_words, first, "higher", *(say_amount(name)[0] for name in focus.measures), second]


async def _shorten(question: ControlledQuestion, params: Condense, ask: Ask) -> CondensedQuestion | Dropped:
    kept = list_kept(question)
    most = min(params.words, len(question.text.split()))
    parts = SHORT_OPEN if question.keyword else SHORT_DEFINITE

    def parse(text: str) -> str:
        short = read_question(text, 6, most)
        if missing := [name for name in kept if not names_all(short, [name])]:
            raise Unparsed(f"it does not name {' and '.join(missing)}")
        return short

    problem, calls = "", []
    for number in range(params.rounds):
        answer = await ask(
            "condense",
            {"question": question.text, "words": most, "kept": kept, "problem": problem},
            role="generator",
            row=question.id,
            parse=parse,
            grammar=write_frame(parts, question.focus, question.groups, question.keyword),
            sample=number,
            max_tokens=80,
        )
        calls.append(Origin("call", answer.call))
        if answer.value is not None:
            return CondensedQuestion(
                question.id, answer.value, (Origin("row", f"control#{question.id}"), *calls)
            )
        problem = answer.problem
    return Dropped(question.id, "uncondensed", f"{problem}: {answer.text[:200]}", tuple(calls))
