"""The score of an item, as nightly evaluations are compared by it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scored:
    """An item's score. value: higher is better; None if it could not be scored."""

    id: str
    group: str
    """The bootstrap resamples whole groups of items."""
    value: float | None
