"""Stage: classify each question, with its answer, as conclusive or interpretive.

Section 2.2 of the paper defines these two kinds of questions.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Dropped, Origin, split_outcomes
from tasks.judging.quoting import quote
from tasks.judging.verdicts import make_form
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.confirm import ConfirmedQuestion
from tasks.longform.labels import CONCLUSIVE, INTERPRETIVE
from tasks.models.ask import Ask

DEFINITE = re.compile(r"(yes|no|unknown)\b", re.IGNORECASE)
"""Matches the start of an answer that makes a question conclusive by rule."""


@dataclass(frozen=True)
class QuestionKind:
    """Row of the stage `classify`: whether the question with this id is conclusive or interpretive."""

    id: str
    kind: str
    by: str
    """`rule` if the answer begins with yes, no or unknown; otherwise `model`."""
    origin: tuple[Origin, ...]


async def classify(
    conclude: list[Conclusion], confirm: list[ConfirmedQuestion], ask: Ask
) -> Drafts[QuestionKind]:
    """Classify every question; an answer that begins with yes, no or unknown is conclusive by rule.

    Drop reason: `no_verdict`.
    """
    texts = {question.id: question.text for question in confirm}
    outcomes = await asyncio.gather(*(_sort(answer, texts[answer.id], ask) for answer in conclude))
    return split_outcomes(outcomes)


async def _sort(answer: Conclusion, text: str, ask: Ask) -> QuestionKind | Dropped:
    rows = (Origin("row", f"conclude#{answer.id}"),)
    if DEFINITE.match(answer.text):
        return QuestionKind(answer.id, CONCLUSIVE, "rule", rows)
    question, said = quote(text), quote(answer.text)
    form = make_form((CONCLUSIVE.title(), INTERPRETIVE.title()), [question, said], field="Kind")
    verdict = await ask(
        "classify",
        {"question": question, "answer": said, "verdict": form},
        role="reader",
        row=answer.id,
        parse=lambda reply: form.parse(reply)[0],
        grammar=form.make_grammar(),
        # A one-word verdict takes 10 to 13 tokens, with its label and code (docs/evidence/longform.md).
        max_tokens=24,
    )
    origin = (*rows, Origin("call", verdict.call))
    if verdict.value is None:
        return Dropped(answer.id, "no_verdict", verdict.problem, origin)
    return QuestionKind(answer.id, verdict.value.lower(), "model", origin)
