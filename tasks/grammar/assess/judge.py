"""Ask the judge whether a response is correct, given the question and the true answer."""

from __future__ import annotations

from tasks.judging.quoting import quote
from tasks.judging.verdicts import make_form
from tasks.models.ask import Answer, Ask
from tasks.scoring.correctness import Correctness


async def judge_once(
    query: str, answer: str, response: str, *, ask: Ask, row: str, feedback: bool = False, sample: int = 0
) -> Answer[Correctness]:
    """Ask for one verdict on a response, given the true answer.

    row: id of the row that the call belongs to. feedback: let the judge write a line before its verdict.
    sample: raised to ask the same again. Any other reply is unparsed. How long a reply may be is the role's
    `max_tokens`: a model that reasons needs more than its verdict's.
    """
    fields = {"query": query, "answer": answer, "response": quote(response)}
    form = make_form(tuple(Correctness), fields.values(), feedback=feedback)
    return await ask(
        "judge",
        {**fields, "verdict": form},
        role="judge",
        row=row,
        parse=lambda text: Correctness.read(form.parse(text)[0]),
        grammar=form.make_grammar(),
        sample=sample,
    )
