"""Implement a memory of embedded entries, with exact search up to a given size, and a vector index above it.

Exact search selects candidates by dot products in single precision: every entry within MARGIN of the k-th
entry. MARGIN exceeds the rounding error of single precision. Distances in double precision rank the
candidates, so that the ranking is the same on every machine. An index may miss neighbours
(docs/streambench.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ModelFailed
from tasks.streambench.memory import FoundEntry, MemoryEntry, Vector
from tasks.systems.extras import load_library

DIGITS = 6
"""Number of decimal places of distances."""
MARGIN = 1e-4
"""Tolerance for float32 errors: a candidate's squared distance may exceed the k-th smallest by this much."""
FIRST_ROWS = 64
CANDIDATES, MIN_CANDIDATES = 8, 128
"""Number of candidates from the index: CANDIDATES per requested entry, at least MIN_CANDIDATES."""
CONNECTIVITY, EXPANSION = 32, 256
"""Parameters of the index: higher values increase recall and run time."""


class VectorMemory:
    """A `StreamMemory` whose entries have L2-normalised vectors."""

    def __init__(self, exact_up_to: int) -> None:
        """Create an empty memory. exact_up_to: the number of entries above which the index is used."""
        self._exact_up_to = exact_up_to
        self._entries: list[MemoryEntry] = []
        self._places: list[int] = []
        """Row of the matrix -> index of the entry; an entry that was not embedded has no row."""
        self._matrix: Vector = np.empty((0, 0), np.float32)
        self._norms: NDArray[np.float32] = np.empty(0, np.float32)
        self._index: Any = None

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def add(self, entry: MemoryEntry, vector: Vector) -> None:
        """Add an entry. Raises ModelFailed if the vector's width differs from that of earlier vectors."""
        width = vector.shape[0]
        if width:
            self._check_width(width)
            self._append(vector)
            self._places.append(len(self._entries))
        self._entries.append(entry)

    def nearest(self, vector: Vector, k: int) -> tuple[FoundEntry, ...]:
        """Return at most k entries, the nearest first; ties are ordered by position, then agent."""
        if not vector.shape[0] or not self._places or k <= 0:
            return ()
        self._check_width(vector.shape[0])
        rows = self._find_candidates(vector, k)
        apart = self._matrix[rows].astype(np.float64) - vector.astype(np.float64)
        distances = np.round((apart * apart).sum(axis=1), DIGITS)
        entries = [self._entries[self._places[row]] for row in rows.tolist()]
        ranked = [
            (distance, entry.position, entry.agent, place)
            for place, (distance, entry) in enumerate(zip(distances.tolist(), entries, strict=True))
        ]
        ranked.sort()
        return tuple([FoundEntry(entries[place], distance) for distance, _, _, place in ranked[:k]])

    def latest(self, k: int) -> tuple[MemoryEntry, ...]:
        """Return the last k entries, the oldest first."""
        return tuple(self._entries[-k:]) if k > 0 else ()

    def _find_candidates(self, vector: Vector, k: int) -> NDArray[np.int64]:
        """Return the rows of entries that may be among the k nearest."""
        count = len(self._places)
        if count <= k:
            return np.arange(count)
        if count > self._exact_up_to:
            most = min(count, max(MIN_CANDIDATES, CANDIDATES * k))
            keys: NDArray[np.int64] = self._open_index().search(vector, most).keys.astype(np.int64)
            return keys
        # einsum runs in one thread. A BLAS product waits for its threads, up to 100 ms if all cores are busy.
        products = np.einsum("ij,j->i", self._matrix[:count], vector)
        distances = self._norms[:count] - 2 * products
        return np.flatnonzero(distances <= np.partition(distances, k - 1)[k - 1] + MARGIN)

    def _append(self, vector: Vector) -> None:
        row = len(self._places)
        if row == len(self._matrix):
            # The capacity doubles, because copying all rows at every step would take quadratic time.
            rows = max(FIRST_ROWS, 2 * row)
            matrix, norms = np.empty((rows, vector.shape[0]), np.float32), np.empty(rows, np.float32)
            if row:
                matrix[:row], norms[:row] = self._matrix, self._norms
            self._matrix, self._norms = matrix, norms
        self._matrix[row], self._norms[row] = vector, vector @ vector
        if self._index is not None:
            self._index.add(row, vector)

    def _check_width(self, width: int) -> None:
        if self._places and width != self._matrix.shape[1]:
            raise ModelFailed(
                f"the endpoint returned vectors of different lengths ({self._matrix.shape[1]} and {width})"
            )

    def _open_index(self) -> Any:
        """Return the index; on first use, build it in one thread, in the memory's order."""
        if self._index is None:
            library = load_library("usearch.index", "a memory above `exact_up_to`")
            self._index = library.Index(
                ndim=self._matrix.shape[1],
                metric="l2sq",
                dtype="f32",
                connectivity=CONNECTIVITY,
                expansion_add=EXPANSION,
                expansion_search=EXPANSION,
            )
            count = len(self._places)
            self._index.add(np.arange(count), self._matrix[:count], threads=1)
        return self._index
