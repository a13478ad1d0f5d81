"""The judge of both parts: of question, contexts, reference and response it makes feedback and 0..5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from tasks.judging.grammars import judge_grammar
from tasks.judging.quoting import quote
from tasks.judging.verdicts import parse_score
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.ragcheck.rows import NOT_SURE, TOP_SCORE, Grade, ReferenceQuestion
from tasks.ragcheck.truncation import truncate_contexts
from tasks.systems.contract import Passage

FIELD = "Score"
SECTION = "ragcheck.judging."
GRAMMAR = judge_grammar([str(score) for score in range(NOT_SURE, TOP_SCORE + 1)], field=FIELD, feedback=True)


class JudgingOptions(BaseModel):
    """`ragcheck.judging` in params.yaml: what a judge is shown, in both parts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    context_tokens: int = Field(default=600, ge=0)
    """How much of the contexts is shown, best first."""
    response_characters: int = Field(default=2000, gt=0)
    """How much of a response is shown."""
    feedback_words: int = Field(default=25, gt=0)
    guard: bool = True
    """Whether responses are fenced against instructions in them."""

    @classmethod
    def find(cls, settings: Mapping[str, Any]) -> Self:
        """Find the section among a stage's settings."""
        return cls(**{k.removeprefix(SECTION): v for k, v in settings.items() if k.startswith(SECTION)})


async def grade_response(
    question: ReferenceQuestion,
    passages: Sequence[Passage],
    response: str,
    *,
    role: str,
    row: str,
    judging: JudgingOptions,
    ask: Ask,
) -> Answer[Grade]:
    """Have a role grade a response. A reply that is no feedback with a score has no value."""
    quoted = quote(response, guard=judging.guard, limit=judging.response_characters)
    contexts = truncate_contexts(passages, judging.context_tokens)
    return await ask(
        "grade",
        {
            "words": judging.feedback_words,
            "passages": contexts,
            "history": question.history,
            "question": question.question,
            "reference": question.reference,
            "response": quoted.text,
        },
        role=role,
        row=row,
        parse=lambda text: parse_grade(text, shown=[response, quoted.text, *contexts]),
        grammar=GRAMMAR,
    )


def read_grade(answer: Answer[Grade]) -> Grade:
    """Give the grade; without a score, and with the text as it is, where the reply was none."""
    return answer.value or Grade(None, answer.text, answer.problem)


def parse_grade(text: str, *, shown: Sequence[str] = ()) -> Grade:
    """Read feedback and then the score. Raises Unparsed for anything else, a bare number included."""
    score = parse_score(text, NOT_SURE, TOP_SCORE, field=FIELD, shown=shown)
    feedback = text.strip().rpartition("\n")[0].strip()
    if not feedback:
        raise Unparsed("no_feedback: there is a score alone")
    return Grade(score, feedback.removeprefix("Feedback:").strip(), "")
