"""Define the agents of a conversation (section 3.1): composer (tasks T2, T6) and questioner (T4, T5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from tasks.judging.quoting import quote
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.ragcheck.grading import Grade
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.settings import Settings
from tasks.systems.contract import Turn

COMPOSER, QUESTIONER = "composer", "questioner"
EMPTY_VALUES = frozenset(
    {"", "-", "none", "n/a", "nothing", "(none)", "(blank)", "(empty)", "(nothing)", "なし"}
)
"""Texts that models write for an empty value, in lower case."""
REPEATED = "repeated"
CHARACTERS_PER_WORD = 8
"""Average number of characters per word, to convert word limits to character limits.

Grammars limit characters, because Japanese text has no spaces between words.
"""


class ConversationOptions(Settings):
    """Parameters of the stage `ragcheck.conversations`: turn limit, text lengths, agents' input."""

    turns: int = Field(default=5, ge=1)
    """Maximum number of questions per conversation (n in the paper)."""
    final_at_limit: bool = True
    """Whether the final answer (T6) and its grade (T7) are also generated at the turn limit."""
    reference_hidden: bool = False
    """Whether the reference answer is hidden from the questioner."""
    answer_words: int = Field(default=60, gt=0)
    """Maximum number of words of a composed answer."""
    query_words: int = Field(default=25, gt=0)
    """Maximum number of words of a follow-up question."""
    said_characters: int = Field(default=600, gt=0)
    """Maximum number of characters of a system's answer that the agents see."""
    guard: bool = True
    """Whether system answers are quoted, so that instructions inside them have no effect."""


class Agents:
    """The composer and the questioner of one conversation."""

    def __init__(self, question: ReferenceQuestion, params: ConversationOptions, row: str, ask: Ask) -> None:
        """Set up the agents of a conversation. row: the conversation's id, for errors and recorded calls."""
        self._question, self._params, self._row, self._ask = question, params, row, ask

    async def compose(self, history: Sequence[Turn]) -> Answer[str]:
        """Compose a tentative answer (T2) from the target question and the conversation so far."""
        return await self._write("compose", history, {})

    async def finish(self, history: Sequence[Turn], tentative: str) -> Answer[str]:
        """Rewrite the tentative answer at the reference's level of detail (T6)."""
        fields = {"tentative": self._quote(tentative), "reference": self._question.reference}
        return await self._write("finish", history, fields)

    async def ask_further(self, history: Sequence[Turn], tentative: str, review: Grade) -> Answer[str]:
        """Write the follow-up question (T4 and T5). The value is empty if no further question is needed.

        If every attempt repeats an earlier question, the value is None, and `problem` starts with `REPEATED`.
        """
        words = self._params.query_words
        fields: dict[str, object] = {
            **self._render_history(history),
            "words": words,
            "tentative": self._quote(tentative),
            "review": f"{' '.join(review.feedback.split())} ({review.score} of 5)",
            "reference_hidden": self._params.reference_hidden,
        }
        if not self._params.reference_hidden:
            fields["reference"] = self._question.reference
        earlier = [turn.question for turn in history]
        return await self._ask(
            "ask_further",
            fields,
            role=QUESTIONER,
            row=self._row,
            parse=lambda text: parse_query(text, earlier),
            grammar=make_line_grammar("Query", words, may_be_empty=True),
        )

    async def _write(self, prompt: str, history: Sequence[Turn], fields: Mapping[str, object]) -> Answer[str]:
        words = self._params.answer_words
        return await self._ask(
            prompt,
            {**self._render_history(history), "words": words, **fields},
            role=COMPOSER,
            row=self._row,
            parse=lambda text: parse_field(text, "Answer"),
            grammar=make_line_grammar("Answer", words),
        )

    def _render_history(self, history: Sequence[Turn]) -> dict[str, object]:
        turns = [{"question": turn.question, "answer": self._quote(turn.answer)} for turn in history]
        return {"question": self._question.question, "history": turns}

    def _quote(self, text: str) -> str:
        return quote(text, guard=self._params.guard, limit=self._params.said_characters).text


def make_line_grammar(field: str, words: int, *, may_be_empty: bool = False) -> str:
    """Build a GBNF grammar for one line, `<field>: <text>`.

    The text is at most as long as `words` words of average length.
    """
    text = f'" " [^ \\n\\r] [^\\n\\r]{{0,{words * CHARACTERS_PER_WORD}}}'
    return f'root ::= "{field}:" ' + (f"({text})?" if may_be_empty else text)


def parse_field(text: str, field: str) -> str:
    """Parse a reply `<field>: <text>` and normalise its white space.

    Raises Unparsed if the reply does not start with the field, or the text is empty.
    """
    name, colon, value = text.strip().partition(":")
    if not colon or name.strip(" *").lower() != field.lower():
        raise Unparsed(f"no_{field.lower()}: the reply does not begin with `{field}:`")
    value = " ".join(value.strip().removeprefix("**").split())
    if not value:
        raise Unparsed(f"no_{field.lower()}: there is no text after `{field}:`")
    return value


def parse_query(text: str, earlier: Sequence[str]) -> str:
    """Parse a follow-up question; an empty result means that no further question is needed.

    earlier: the questions already asked. Raises Unparsed for a repeated question (ignoring case and
    punctuation), and for a reply in another format.
    """
    try:
        query = parse_field(text, "Query")
    except Unparsed:
        if text.strip(" *\n").lower() == "query:":
            return ""
        raise
    if query.lower().strip(".。") in EMPTY_VALUES:
        return ""
    if _normalise(query) in {_normalise(question) for question in earlier}:
        raise Unparsed(f"{REPEATED}: this question was already asked: {query}")
    return query


def _normalise(question: str) -> str:
    return "".join(character for character in question.casefold() if character.isalnum())
