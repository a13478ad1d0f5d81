"""The interface of memories: entries under vectors, found by distance. Keys are embedded by the runner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""L2-normalised; shape (width,); of width 0 while planning, where the text was never embedded."""
NO_VECTOR: Vector = np.empty(0, np.float32)


@dataclass(frozen=True)
class MemoryEntry:
    """A memory entry: (x, y) of a step and its feedback."""

    item: str
    position: int
    agent: str
    """The role whose answer it is."""
    key: str
    """The item's `memory_key`."""
    answer: str
    """Post-processed."""
    bit: bool
    words: str
    """The feedback in words; empty where the method keeps none."""


@dataclass(frozen=True)
class RetrievedEntry:
    """An entry that a prompt showed."""

    item: str
    position: int
    """Of the step that it was stored at, from 1; 0 for a few-shot example, whose id `item` is."""
    distance: float
    """Squared L2 distance of the keys, rounded to 1e-6; 0 where nothing was searched."""


@dataclass(frozen=True)
class FoundEntry:
    """An entry that a search found. distance: squared L2, rounded to 1e-6."""

    entry: MemoryEntry
    distance: float


class StreamMemory(Protocol):
    """A memory that grows by at most one entry a step, and forgets nothing.

    Exact below a size, by a vector index above it, whose candidates are compared exactly; both orders are the
    same where the index finds the neighbours. No call is made here: it grows deterministically, so that a
    stream that was killed comes to the same memory by its ledger.
    """

    def __len__(self) -> int:
        """Return the number of entries."""
        ...

    def add(self, entry: MemoryEntry, vector: Vector) -> None:
        """Add an entry; several may have one item (`shadow`). Raises ModelFailed for another width."""
        ...

    def nearest(self, vector: Vector, k: int) -> tuple[FoundEntry, ...]:
        """Find the k nearest entries, or all if there are fewer: the nearest FIRST, ties by position, agent.

        Empty for a vector of width 0. Whoever prompts turns the order, so that the most similar is last.
        """
        ...

    def latest(self, k: int) -> tuple[MemoryEntry, ...]:
        """Return the last k entries, the oldest first (GrowPrompt's window)."""
        ...
