"""A prediction: the row of what a baseline, a user's system or a person made of an item (section 4)."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

CLOSED, ORACLE, OPEN = "closed", "oracle", "open"
SETTINGS = (CLOSED, ORACLE, OPEN)
MAIN = "main"
"""The open agent that writes the table."""
UNREAD = "unread"
"""In the place of a tool: a step that could not be read; argument is how it begins, result why."""


@dataclass(frozen=True)
class OpenStep:
    """One step of the open agent. agent: `main` or the sub-agent's task; tool: empty for a final answer."""

    agent: str
    thought: str
    tool: str
    argument: str
    result: str


@dataclass(frozen=True)
class Prediction:
    """Stages predictions, system_predictions and human_tables: a table that was predicted for an item.

    system: setting, model, shots and instruction as one name; shots: how many, shot_choice: `random`,
    `chosen` or empty; reply: the whole text; table: rows of cells, the header first, None if the reply has no
    table; left_out: ids of proofs that the window had no room for; failed: why there is no reply, else empty.
    """

    id: str
    item: str
    system: str
    setting: str
    model: str
    shots: int
    shot_choice: str
    instruction: str
    reply: str
    table: tuple[tuple[str, ...], ...] | None
    left_out: tuple[str, ...]
    steps: tuple[OpenStep, ...]
    failed: str
    origin: tuple[Origin, ...]
