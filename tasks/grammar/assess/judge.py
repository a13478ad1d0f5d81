"""Ask the judge whether a response is Correct or Incorrect, given the question and the true answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.judging.quoting import quote
from tasks.judging.verdicts import make_form
from tasks.models.ask import Answer, Ask

CORRECT = "Correct"
LABELS = (CORRECT, "Incorrect")


async def judge_once(
    query: str, answer: str, response: str, *, ask: Ask, row: str, feedback: bool = False, sample: int = 0
) -> Answer[str]:
    """Ask for one verdict on a response, given the true answer.

    row: id of the row that the call belongs to. feedback: let the judge write a line before its verdict.
    sample: raised to ask the same again. Any other reply is unparsed.
    """
    fields = {"query": query, "answer": answer, "response": quote(response)}
    return await ask_label("judge", fields, LABELS, ask=ask, row=row, feedback=feedback, sample=sample)


async def ask_label(
    prompt: str,
    fields: Mapping[str, object],
    labels: Sequence[str],
    *,
    ask: Ask,
    row: str,
    feedback: bool = False,
    sample: int = 0,
) -> Answer[str]:
    """Ask the judge for one of `labels`. fields: all that it is shown; the prompt has `verdict` beside it.

    How long a reply may be is the role's `max_tokens`: a model that reasons needs more than its verdict's.
    """
    form = make_form(labels, fields.values(), feedback=feedback)
    return await ask(
        prompt,
        {**fields, "verdict": form},
        role="judge",
        row=row,
        parse=lambda text: form.parse(text)[0],
        grammar=form.make_grammar(),
        sample=sample,
    )
