"""Call an OpenAI-compatible endpoint as a system; prompts contain no retrieved passages.

The reference RAG also uses this module's prompt folder, answer parser and conversion of turns to messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tasks.models.ask import Ask, Unparsed
from tasks.systems.contract import Passage, Response, Turn
from tasks.systems.entries import OpenAiEntry

PROMPTS = Path(__file__).parent / "prompts"
BARE, INSTRUCTED = PROMPTS / "bare.md", PROMPTS / "instructed.md"


def read_answer(text: str) -> str:
    """Return a model's reply without surrounding white space. Raises Unparsed if the reply is empty."""
    if not (answer := text.strip()):
        raise Unparsed("the reply is empty")
    return answer


def make_turns(history: Sequence[Turn]) -> list[tuple[str, str]]:
    """Convert earlier turns to pairs of messages (user, assistant)."""
    return [(turn.question, turn.answer) for turn in history]


class EndpointSystem:
    """A system that sends questions to a role's model; replies do not contain retrieved passages."""

    def __init__(self, name: str, entry: OpenAiEntry, ask: Ask) -> None:
        self.name, self.version = name, entry.version
        self._entry, self._ask = entry, ask

    async def answer(
        self, question: str, *, row: str, history: Sequence[Turn] = (), item: str = ""
    ) -> Response:
        """Answer one question with the role's model; see `System.answer`."""
        prompt: Path = INSTRUCTED if self._entry.instructions else BARE
        answer = await self._ask(
            prompt,
            {"instructions": self._entry.instructions, "question": question},
            role=self._entry.role,
            row=row,
            parse=read_answer,
            turns=make_turns(history) if self._entry.multi_turn else (),
        )
        return Response(answer.value, None, (answer.call,), answer.problem)

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Return None, because an endpoint cannot retrieve without answering."""
        return None
