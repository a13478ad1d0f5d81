"""The judge: query, true answer and response in, Correct or Incorrect out; anything else is no verdict."""

from __future__ import annotations

from tasks.judging.grammars import judge_grammar
from tasks.judging.quoting import quote
from tasks.judging.verdicts import parse_label
from tasks.models.ask import Answer, Ask

LABELS = ("Correct", "Incorrect")
TOKENS, WITH_FEEDBACK = 12, 140
"""Tokens that a verdict takes at most: alone, and behind a line of feedback."""


async def judge_once(
    query: str, answer: str, response: str, *, ask: Ask, row: str, feedback: bool = False, sample: int = 0
) -> Answer[str]:
    """Ask for one verdict on a response, given the true answer.

    feedback: let the judge say something before its verdict. sample: raised to ask the same thing anew.
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
