"""Ask the judge whether a response is Correct or Incorrect, given the question and the true answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.judging.quoting import quote
from tasks.judging.verdicts import make_form, make_list
from tasks.models.ask import Answer, Ask

CORRECT = "Correct"
LABELS = (CORRECT, "Incorrect")


async def judge_once(
    query: str, answer: str, response: str, *, ask: Ask, row: str, feedback: bool = False, sample: int = 0
) -> Answer[str]:
    """Ask for one verdict on a response, given the true answer.

    row: id of the row that the call belongs to. feedback: let the judge write a line before its verdict.
    sample: raised to ask the same again. Any other reply is unparsed. How long a reply may be is the role's
    `max_tokens`: a model that reasons needs more than its verdict's.
    """
    fields = {"query": query, "answer": answer, "response": quote(response)}
    form = make_form(LABELS, fields.values(), feedback=feedback)
    return await ask(
        "judge",
        {**fields, "verdict": form},
        role="judge",
        row=row,
        parse=lambda text: form.parse(text)[0],
        grammar=form.make_grammar(),
        sample=sample,
    )


async def ask_labels(
    prompt: str,
    fields: Mapping[str, object],
    labels: Sequence[str],
    count: int,
    *,
    ask: Ask,
    row: str,
) -> Answer[tuple[str, ...]]:
    """Ask the judge for one of `labels` on each of `count` things, in one request.

    fields: all that it is shown, texts and lists of texts; the prompt has `verdicts` beside it.
    """
    form = make_list(labels, count, [text for value in fields.values() for text in _list_texts(value)])
    return await ask(
        prompt,
        {**fields, "verdicts": form},
        role="judge",
        row=row,
        parse=form.parse,
        grammar=form.make_grammar(),
    )


def _list_texts(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else [value]
