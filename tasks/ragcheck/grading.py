"""Have a judge write feedback on a response, and score it from 0 to 5, given contexts and a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from tasks.judging.quoting import clean, quote
from tasks.judging.verdicts import VerdictForm, make_form
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.settings import Settings
from tasks.systems.contract import Passage

TOP_SCORE = 5
NOT_SURE = 0
"""The score for "not sure"."""
FIELD = "Score"
JUDGING = "ragcheck.judging"
"""The section of params.yaml with the JudgingOptions."""
ASCII_PER_TOKEN = 4
ELLIPSIS = " ..."
SCORES = [str(score) for score in range(NOT_SURE, TOP_SCORE + 1)]


@dataclass(frozen=True)
class Grade:
    """A judge's feedback and score, 0 to 5. If the score is None, `problem` has the reason."""

    score: int | None
    feedback: str
    problem: str


class JudgingOptions(Settings):
    """`ragcheck.judging` in params.yaml: the input of the judges in both parts."""

    context_tokens: int = Field(default=600, ge=0)
    """Maximum estimated number of tokens of the contexts in the prompt; the best contexts come first."""
    response_characters: int = Field(default=2000, gt=0)
    """Maximum number of characters of a response that the judge sees."""
    feedback_words: int = Field(default=25, gt=0)
    """Maximum number of words of the judge's feedback."""
    guard: bool = True
    """Whether responses are quoted, so that instructions inside them have no effect."""


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
    """Have a judge grade a response; the value is None if no attempt gave feedback and a score.

    passages: the contexts, best first; the judge sees as many as fit into the token budget. role: the judge's
    role. row: the row's id, for error messages. Raises ModelFailed, BudgetSpent, CallMissing.
    """
    quoted = quote(response, guard=judging.guard, limit=judging.response_characters)
    contexts = truncate_contexts(passages, judging.context_tokens)
    fields: dict[str, object] = {
        "words": judging.feedback_words,
        "passages": contexts,
        "history": question.history,
        "question": question.question,
        "reference": question.reference,
        "response": quoted.text,
    }
    form = make_form(SCORES, fields.values(), field=FIELD, feedback=True)
    return await ask(
        "grade",
        {**fields, "verdict": form},
        role=role,
        row=row,
        parse=lambda text: parse_grade(text, form),
        grammar=form.make_grammar(),
    )


def read_grade(answer: Answer[Grade]) -> Grade:
    """Return the parsed grade; for an unparsed reply, the score is None and the feedback is the raw text."""
    return answer.value or Grade(None, answer.text, answer.problem)


def parse_grade(text: str, form: VerdictForm) -> Grade:
    """Parse a reply in the requested form: feedback, then a line with the score.

    Raises Unparsed for any other reply, including a score without feedback.
    """
    score, feedback = form.parse(text)
    if not feedback:
        raise Unparsed("no_feedback: the reply has a score but no feedback")
    return Grade(int(score), feedback.removeprefix("Feedback:").strip(), "")


def estimate_tokens(text: str) -> float:
    """Estimate the number of tokens in a text: 1/4 per ASCII character, 1 per other character."""
    ascii_characters = sum(character.isascii() for character in text)
    return ascii_characters / ASCII_PER_TOKEN + len(text) - ascii_characters


def truncate_text(text: str, tokens: float) -> str:
    """Truncate a text to an estimated number of tokens, and append an ellipsis; a short text is unchanged.

    The text is cut at the last space that fits. If the part before that space is at most half of what fits,
    the text is cut within a word instead.
    """
    left = tokens
    for place, character in enumerate(text):
        left -= 1 / ASCII_PER_TOKEN if character.isascii() else 1
        if left < 0:
            whole_words = text[:place].rpartition(" ")[0]
            return (whole_words if len(whole_words) > place / 2 else text[:place]).rstrip() + ELLIPSIS
    return text


def truncate_contexts(passages: Sequence[Passage], tokens: int) -> list[str]:
    """Truncate contexts to a token budget, best first.

    Every passage becomes one line, without hidden characters or role markers. The last passage is truncated
    if only part of it fits.
    """
    shown, left = [], float(tokens)
    for passage in passages:
        text = clean(f"{passage.title}: {passage.text}" if passage.title else passage.text)
        size = estimate_tokens(text)
        if size > left:
            if left > estimate_tokens(ELLIPSIS):
                shown.append(truncate_text(text, left))
            break
        shown.append(text)
        left -= size
    return shown
