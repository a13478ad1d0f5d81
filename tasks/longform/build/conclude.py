"""Stage: write the reference answers from the databases' rows ("conclude" in section 2.2 of the paper)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from tasks.artifacts.rows import Drafts, Origin
from tasks.longform.build.confirm import ConfirmedQuestion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.statement import Claim, state_figures
from tasks.models.ask import Ask
from tasks.models.frames import write_frame
from tasks.models.rounds import ask_in_rounds
from tasks.settings import Settings


@dataclass(frozen=True)
class Conclusion:
    """Row of the stage `conclude`: the reference answer. The row has its question's id."""

    id: str
    text: str
    claims: tuple[Claim, ...]
    by: str
    """`model`, or `plain` if the model's sentences did not pass the checks and code wrote the answer."""
    origin: tuple[Origin, ...]


class Conclude(Settings):
    """The settings in params.yaml under `longform.conclude`."""

    rounds: int = Field(default=2, ge=0)
    """Maximum number of attempts at an answer in the model's words; with 0, code writes the answer."""


async def conclude(
    construct: list[SyntheticDatabase],
    confirm: list[ConfirmedQuestion],
    control: list[ControlledQuestion],
    params: Conclude,
    ask: Ask,
) -> Drafts[Conclusion]:
    """Run the queries of every question, and have the model write an answer from the results.

    The model's answer is used if it passes `Statement.check`. Otherwise, code writes a plain answer.
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
    stated = state_figures(made.script, controlled)
    sentences = stated.sentences
    plain = " ".join(wordings[0] for wordings in sentences)
    fields = {
        "question": question.text,
        "findings": [claim.text for claim in stated.claims],
        "conclusion": stated.verdicts[0],
        "count": len(sentences),
        "opening": stated.opening,
    }
    written = await ask_in_rounds(
        ask,
        "conclude",
        fields,
        rounds=rounds,
        row=made.id,
        parse=stated.check,
        grammar=_write_grammar(sentences),
        max_tokens=320,
    )
    origin = (Origin("row", f"construct#{made.id}"), *written.calls)
    if written.text is None:
        return Conclusion(made.id, plain, stated.claims, "plain", origin)
    return Conclusion(made.id, written.text, stated.claims, "model", origin)


def _write_grammar(sentences: Sequence[Sequence[str]]) -> str:
    """Write the GBNF grammar of an answer: one wording of each sentence, in order."""
    parts = [
        [f"{wording} " if place < len(sentences) - 1 else wording for wording in wordings]
        for place, wordings in enumerate(sentences)
    ]
    return write_frame(parts, end="")
