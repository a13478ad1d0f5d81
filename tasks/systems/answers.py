"""What the systems that ask a model have in common: their prompts, and how an answer is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tasks.models.ask import Unparsed
from tasks.systems.contract import Turn

PROMPTS = Path(__file__).parent / "prompts"


def read_answer(text: str) -> str:
    """Take a model's text as the answer. Raises Unparsed where there is none."""
    if not (answer := text.strip()):
        raise Unparsed("is empty")
    return answer


def make_turns(history: Sequence[Turn]) -> list[tuple[str, str]]:
    """Write earlier turns as the messages that they were."""
    return [(turn.question, turn.answer) for turn in history]
