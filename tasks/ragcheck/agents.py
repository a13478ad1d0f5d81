"""The composer (T2, T6) and the questioner (T4 and T5 in one call) of section 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tasks.judging.quoting import quote
from tasks.models.ask import Answer, Ask, Unparsed
from tasks.ragcheck.rows import Grade, ReferenceQuestion
from tasks.systems.contract import Turn

COMPOSER, QUESTIONER = "composer", "questioner"
EMPTY = frozenset({"", "-", "none", "n/a", "nothing", "(none)", "(blank)", "(empty)", "(nothing)", "なし"})
"""What models write where a line is to be left empty."""
REPEATED = "repeated"
CHARACTERS_PER_WORD = 8
"""A grammar counts characters: Japanese has no blanks to count words by."""


class ConversationOptions(BaseModel):
    """`ragcheck.conversations` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turns: int = Field(default=5, ge=1)
    """The most questions that a system is asked (n)."""
    final_at_limit: bool = True
    """Whether T6 and T7 run at the turn limit too."""
    reference_hidden: bool = False
    """Whether the questioner is not shown the reference."""
    answer_words: int = Field(default=60, gt=0)
    """Of a composed answer."""
    query_words: int = Field(default=25, gt=0)
    """Of a question."""
    said_characters: int = Field(default=600, gt=0)
    """How much of each thing a system said the agents are shown."""
    guard: bool = True
    """Whether what a system said is fenced against instructions in it."""


class Agents:
    """The two agents that speak in one conversation."""

    def __init__(self, question: ReferenceQuestion, params: ConversationOptions, row: str, ask: Ask) -> None:
        """row: the conversation's id."""
        self._question, self._params, self._row, self._ask = question, params, row, ask

    async def compose(self, history: Sequence[Turn]) -> Answer[str]:
        """T2: a tentative answer, from the target question and what the system said."""
        return await self._write("compose", history, {})

    async def finish(self, history: Sequence[Turn], tentative: str) -> Answer[str]:
        """T6: the tentative answer at the reference's grain."""
        fields = {"tentative": self._quote(tentative), "reference": self._question.reference}
        return await self._write("finish", history, fields)

    async def ask_further(self, history: Sequence[Turn], tentative: str, review: Grade) -> Answer[str]:
        """T4 and T5: the next question, or nothing where none is needed."""
        words = self._params.query_words
        fields: dict[str, object] = {
            **self._tell(history),
            "words": words,
            "tentative": self._quote(tentative),
            "review": f"{' '.join(review.feedback.split())} ({review.score} of 5)",
            "reference_hidden": self._params.reference_hidden,
        }
        if not self._params.reference_hidden:
            fields["reference"] = self._question.reference
        asked = [turn.question for turn in history]
        return await self._ask(
            "ask_further",
            fields,
            role=QUESTIONER,
            row=self._row,
            parse=lambda text: parse_query(text, asked),
            grammar=write_grammar("Query", words, may_be_empty=True),
        )

    async def _write(self, prompt: str, history: Sequence[Turn], more: dict[str, Any]) -> Answer[str]:
        words = self._params.answer_words
        return await self._ask(
            prompt,
            {**self._tell(history), "words": words, **more},
            role=COMPOSER,
            row=self._row,
            parse=lambda text: parse_field(text, "Answer"),
            grammar=write_grammar("Answer", words),
        )

    def _tell(self, history: Sequence[Turn]) -> dict[str, Any]:
        told = [{"question": turn.question, "answer": self._quote(turn.answer)} for turn in history]
        return {"question": self._question.question, "history": told}

    def _quote(self, text: str) -> str:
        return quote(text, guard=self._params.guard, limit=self._params.said_characters).text


def write_grammar(field: str, words: int, *, may_be_empty: bool = False) -> str:
    """Write the grammar of one line, `<field>: <text>`, no longer than so many words are wont to be."""
    text = f'" " [^ \\n\\r] [^\\n\\r]{{0,{words * CHARACTERS_PER_WORD}}}'
    return f'root ::= "{field}:" ' + (f"({text})?" if may_be_empty else text)


def parse_field(text: str, field: str) -> str:
    """Read `<field>: <text>`, and nothing before it. Raises Unparsed where there is no text."""
    name, colon, value = text.strip().partition(":")
    if not colon or name.strip(" *").lower() != field.lower():
        raise Unparsed(f"no_{field.lower()}: it does not begin with `{field}:`")
    value = " ".join(value.strip().removeprefix("**").split())
    if not value:
        raise Unparsed(f"no_{field.lower()}: nothing stands after `{field}:`")
    return value


def parse_query(text: str, asked: Sequence[str]) -> str:
    """Read a question, empty where none is needed. Raises Unparsed for one that was asked before."""
    try:
        query = parse_field(text, "Query")
    except Unparsed:
        if text.strip(" *\n").lower() == "query:":
            return ""
        raise
    if query.lower().strip(".。") in EMPTY:
        return ""
    if _level(query) in {_level(earlier) for earlier in asked}:
        raise Unparsed(f"{REPEATED}: it was asked before: {query}")
    return query


def _level(question: str) -> str:
    return "".join(character for character in question.casefold() if character.isalnum())
