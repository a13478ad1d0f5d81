"""Define the interface of memories, which retrieve entries by vector distance. The runner embeds keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""An L2-normalised vector of shape (width,); the width is 0 in dry runs, which embed no text."""
NO_VECTOR: Vector = np.empty(0, np.float32)


@dataclass(frozen=True)
class MemoryEntry:
    """A memory entry: the input and answer (x, y) of a step, and the feedback."""

    item: str
    position: int
    agent: str
    """The role that gave the answer."""
    key: str
    """The item's `memory_key`."""
    answer: str
    """The post-processed answer."""
    bit: bool
    words: str
    """The feedback as text; empty if the method does not store the feedback."""


@dataclass(frozen=True)
class RetrievedEntry:
    """A reference to a memory entry or few-shot example in a prompt."""

    item: str
    position: int
    """The step that stored the entry, counted from 1; 0 for a few-shot example, whose id is in `item`."""
    distance: float
    """Squared L2 distance of the keys, rounded to 1e-6; 0 if there was no search."""


@dataclass(frozen=True)
class FoundEntry:
    """A search result. distance: squared L2 distance, rounded to 1e-6."""

    entry: MemoryEntry
    distance: float


class StreamMemory(Protocol):
    """A memory that grows by at most one entry per step and never deletes an entry.

    Search is exact up to a given number of entries. For more entries, a vector index finds candidates, whose
    distances are computed exactly. The result is the same if the index finds the true neighbours. The memory
    makes no model calls and grows deterministically, so a restarted run rebuilds the same memory from the
    ledger.
    """

    def __len__(self) -> int:
        """Return the number of entries."""
        ...

    def add(self, entry: MemoryEntry, vector: Vector) -> None:
        """Add an entry; an item may have several entries (`shadow`).

        Raises ModelFailed for a vector of a different width.
        """
        ...

    def nearest(self, vector: Vector, k: int) -> tuple[FoundEntry, ...]:
        """Return up to k nearest entries, the nearest FIRST; ties are sorted by position, then agent.

        The result is empty for a vector of width 0. A method reverses this order for its prompt, so that the
        most similar entry is last.
        """
        ...

    def latest(self, k: int) -> tuple[MemoryEntry, ...]:
        """Return the last k entries, the oldest first (GrowPrompt's window)."""
        ...
