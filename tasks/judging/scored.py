"""What nights compare: how good each item was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scored:
    """One item of a night. value: its score, higher is better; None where it could not be scored."""

    id: str
    group: str
    """Items of a group are drawn together by the bootstrap."""
    value: float | None
