"""The interface of memories: entries with vectors, found by distance. The runner embeds the keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""An L2-normalised vector of shape (width,); the width is 0 in a dry run, where nothing is embedded."""
NO_VECTOR: Vector = np.empty(0, np.float32)


@dataclass(frozen=True)
class MemoryEntry:
    """A memory entry: (x, y) of a step and its feedback."""

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
    """The feedback in words; empty if the method does not store it."""


@dataclass(frozen=True)
class RetrievedEntry:
    """An entry that a prompt showed."""

    item: str
    position: int
    """The step at which the entry was stored, from 1; 0 for a few-shot example, whose id is `item`."""
    distance: float
    """Squared L2 distance of the keys, rounded to 1e-6; 0 if there was no search."""


@dataclass(frozen=True)
class FoundEntry:
    """An entry that a search found. distance: squared L2 distance, rounded to 1e-6."""

    entry: MemoryEntry
    distance: float


class StreamMemory(Protocol):
    """A memory that grows by at most one entry per step and never deletes an entry.

    Search is exact up to a number of entries. Above it, a vector index finds candidates, whose distances are
    computed exactly; the result is the same if the index finds the neighbours. The memory makes no model
    calls and grows deterministically, so that a stream that was killed rebuilds the same memory from its
    ledger.
    """

    def __len__(self) -> int:
        """Return the number of entries."""
        ...

    def add(self, entry: MemoryEntry, vector: Vector) -> None:
        """Add an entry; an item may have several (`shadow`). Raises ModelFailed if the width differs."""
        ...

    def nearest(self, vector: Vector, k: int) -> tuple[FoundEntry, ...]:
        """Return the k nearest entries, or all if fewer: the nearest FIRST, ties by position, then agent.

        Empty for a vector of width 0. A method reverses this order for its prompt, so that the most similar
        entry is last.
        """
        ...

    def latest(self, k: int) -> tuple[MemoryEntry, ...]:
        """Return the last k entries, the oldest first (GrowPrompt's window)."""
        ...
