"""Shared by systems that call a model: prompt folder, answer parser, and earlier turns as messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tasks.models.ask import Unparsed
from tasks.systems.contract import Turn

PROMPTS = Path(__file__).parent / "prompts"


def read_answer(text: str) -> str:
    """Parse a model's reply: the stripped text. Raises Unparsed if it is empty."""
    if not (answer := text.strip()):
        raise Unparsed("is empty")
    return answer


def make_turns(history: Sequence[Turn]) -> list[tuple[str, str]]:
    """Convert earlier turns to (user, assistant) messages."""
    return [(turn.question, turn.answer) for turn in history]
