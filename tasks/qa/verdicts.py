"""Stage: judge every answer; the artifact has no rows if only rules score the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin
from tasks.judging.quoting import quote
from tasks.judging.verdicts import make_form
from tasks.models.ask import Answer, Ask
from tasks.qa.answers import QaAnswer
from tasks.qa.entries import QaSystem
from tasks.qa.items import QaItem
from tasks.scoring.correctness import Correctness


@dataclass(frozen=True)
class QaVerdict:
    """Row of the stage `verdicts`: the judge's verdict on an answer, with the answer's id.

    label: None if the reply had no verdict; `problem` then has the reason.
    """

    id: str
    item: str
    label: Correctness | None
    problem: str
    origin: tuple[Origin, ...]


async def verdicts(
    items: list[QaItem], answers: list[QaAnswer], entry: QaSystem, ask: Ask
) -> Drafts[QaVerdict]:
    """Ask the judge for a verdict on every answer. Missing answers are not sent to the judge."""
    if not entry.judged:
        return Drafts([])
    asked = {item.id: item for item in items}
    given = [answer for answer in answers if answer.text is not None]
    return Drafts(
        await asyncio.gather(*(_judge(asked[answer.item], answer, entry.judge, ask) for answer in given))
    )


async def _judge(item: QaItem, answer: QaAnswer, role: str, ask: Ask) -> QaVerdict:
    accepted = [accepted.text for accepted in item.accepted]
    verdict = await judge_answer(
        item.question, accepted, answer.text or "", role=role, row=answer.id, ask=ask
    )
    origin = Origin("row", f"answers#{answer.id}"), Origin("call", verdict.call)
    return QaVerdict(answer.id, item.id, verdict.value, verdict.problem, origin)


async def judge_answer(
    question: str, accepted: Sequence[str], response: str, *, role: str, row: str, ask: Ask
) -> Answer[Correctness]:
    """Ask a judge for a verdict on a response, given the accepted answers.

    role: the judge's role. row: the row's id, for error messages. Raises ModelFailed, BudgetSpent,
    CallMissing.
    """
    fields = {"question": question, "accepted": list(accepted), "response": quote(response)}
    form = make_form(tuple(Correctness), fields.values())
    return await ask(
        "judge_answer",
        {**fields, "verdict": form},
        role=role,
        row=row,
        parse=lambda text: Correctness.read(form.parse(text)[0]),
        grammar=form.make_grammar(),
    )
