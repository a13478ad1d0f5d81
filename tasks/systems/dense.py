"""Retrieval by embeddings: cosine similarity with all pieces, or with those a vector index proposes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ModelFailed
from tasks.models.ask import Ask
from tasks.systems.chunks import DIGITS, Chunk, Hit
from tasks.systems.extras import load_library

Matrix = NDArray[np.float64]
PROPOSED = 4
"""So many times the wanted hits are proposed by an index, then compared exactly."""
LEAST_PROPOSED = 64
CORPUS = "corpus"
"""The row that the calls embedding a corpus are named by."""


class DenseRetriever:
    """Embeds the corpus when it is first searched; every text is a call of the ledger's."""

    def __init__(self, pieces: Sequence[Chunk], ask: Ask, role: str, exact_up_to: int) -> None:
        self._pieces, self._ask, self._role = pieces, ask, role
        self._exact_up_to = exact_up_to
        self._matrix: Matrix | None = None
        self._index: Any = None
        self._lock = asyncio.Lock()

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Find the pieces most like a query; the score is the cosine, ties stand in corpus order."""
        async with self._lock:
            if self._matrix is None:
                self._matrix = await self._embed([piece.searched for piece in self._pieces], CORPUS)
                if len(self._pieces) > self._exact_up_to:
                    self._index = build_index(self._matrix)
        if not self._pieces:
            return []
        wanted = (await self._embed([query], row))[0]
        if not wanted.shape[0] or not self._matrix.shape[1]:
            return []  # a plan has no vector for what nobody has embedded yet
        places = np.arange(len(self._pieces))
        if self._index is not None:
            most = min(len(self._pieces), max(LEAST_PROPOSED, PROPOSED * count))
            found = self._index.search(wanted.astype(np.float32), most).keys
            places = np.sort(found.astype(np.int64))
        return rank(self._matrix[places], wanted, places, count)

    async def _embed(self, texts: Sequence[str], row: str) -> Matrix:
        vectors = await self._ask.embed(texts, role=self._role, row=row)
        widths = {len(vector) for vector in vectors}
        if len(widths - {0}) > 1:
            raise ModelFailed(f"{self._role}: vectors of different lengths came ({sorted(widths)})")
        width = min(widths, default=0)
        matrix = np.array([vector[:width] for vector in vectors], dtype=np.float64).reshape(
            len(vectors), width
        )
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        unit: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
        return unit


def rank(matrix: Matrix, wanted: Matrix, places: NDArray[np.int64], count: int) -> list[Hit]:
    """Rank rows of unit length by their cosine with a vector, rounded; `places` are the rows' numbers."""
    scores = np.round(matrix @ wanted, DIGITS)
    best = np.lexsort((places, -scores))[:count]
    return [Hit(int(places[position]), float(scores[position])) for position in best]


def build_index(matrix: Matrix) -> Any:
    """Build a vector index by the library usearch, in one thread, so that it is the same every time."""
    library = load_library("usearch.index", "a vector index")
    index = library.Index(ndim=matrix.shape[1], metric="cos", dtype="f32")
    index.add(np.arange(len(matrix)), matrix.astype(np.float32), threads=1)
    return index
