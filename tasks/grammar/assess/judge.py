"""Ask the judge whether a response is Correct or Incorrect, given the question and the true answer."""

from __future__ import annotations

from tasks.judging.grammars import judge_grammar
from tasks.judging.quoting import quote
from tasks.judging.verdicts import parse_label
from tasks.models.ask import Answer, Ask

LABELS = ("Correct", "Incorrect")
TOKENS, WITH_FEEDBACK = 12, 140
"""Maximum tokens of a verdict: by itself, and after a line of feedback."""


async def judge_once(
    query: str, answer: str, response: str, *, ask: Ask, row: str, feedback: bool = False, sample: int = 0
) -> Answer[str]:
    """Ask for one verdict on a response, given the true answer.

    row: id of the row that the call belongs to. feedback: let the judge write a line before its verdict.
    sample: raised to ask the same again. Any other reply is unparsed.
    """
    return await ask(
        "judge",
        {"query": query, "answer": answer, "response": quote(response)},
        role="judge",
        row=row,
        parse=lambda text: parse_label(text, LABELS, shown=(response,)),
        grammar=judge_grammar(LABELS, feedback=feedback),
        sample=sample,
        max_tokens=WITH_FEEDBACK if feedback else TOKENS,
    )
