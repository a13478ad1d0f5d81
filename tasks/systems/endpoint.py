"""An OpenAI-compatible endpoint as a system under test: it gets the question and earlier turns only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tasks.models.ask import Ask
from tasks.systems.answers import PROMPTS, make_turns, read_answer
from tasks.systems.contract import Passage, Response, Turn
from tasks.systems.entries import OpenAiEntry

BARE, INSTRUCTED = PROMPTS / "bare.md", PROMPTS / "instructed.md"


class EndpointSystem:
    """Asks the model of a role; the protocol does not report retrieved passages."""

    def __init__(self, name: str, entry: OpenAiEntry, ask: Ask) -> None:
        self.name, self.version = name, entry.version
        self._entry, self._ask = entry, ask

    async def answer(self, question: str, *, row: str, history: Sequence[Turn] = ()) -> Response:
        """Answer one question by the role's model; see `System.answer`."""
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
        """Return None: an endpoint cannot retrieve without answering."""
        return None
