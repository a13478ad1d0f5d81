"""Retrieval by embeddings: cosine with all chunks, or with the candidates of a vector index."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ModelFailed
from tasks.models.ask import Ask
from tasks.systems.chunks import DIGITS, Chunk, Hit
from tasks.systems.extras import load_library

Matrix = NDArray[np.float64]
CANDIDATES = 4
"""Candidates that the index returns per requested hit, to be compared exactly."""
MIN_CANDIDATES = 64
CORPUS = "corpus"
"""The row id of the calls that embed the corpus."""


class Matches(Protocol):
    """What a vector index finds: row numbers, nearest first."""

    keys: NDArray[np.uint64]


class VectorIndex(Protocol):
    """The part of usearch's Index that is used here."""

    def add(self, keys: NDArray[np.int64], vectors: NDArray[np.float32], *, threads: int) -> object:
        """Add vectors under integer keys."""
        ...

    def search(self, vector: NDArray[np.float32], count: int) -> Matches:
        """Find the vectors nearest to one."""
        ...


class DenseRetriever:
    """Ranks chunks by the cosine of embeddings; the corpus is embedded on the first search."""

    def __init__(self, chunks: Sequence[Chunk], ask: Ask, role: str, exact_up_to: int) -> None:
        """role: the embedding model's. exact_up_to: the number of chunks above which an index is used."""
        self._chunks, self._ask, self._role = chunks, ask, role
        self._exact_up_to = exact_up_to
        self._matrix: Matrix | None = None
        self._index: VectorIndex | None = None
        self._lock = asyncio.Lock()

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Find at most `count` chunks by cosine, best first; ties in corpus order.

        Raises ModelFailed, also for vectors of different dimensions, BudgetSpent, CallMissing.
        """
        async with self._lock:
            if self._matrix is None:
                self._matrix = await self._embed([chunk.searched for chunk in self._chunks], CORPUS)
                if len(self._chunks) > self._exact_up_to:
                    self._index = build_index(self._matrix)
        if not self._chunks:
            return []
        query_vector = (await self._embed([query], row))[0]
        if not query_vector.shape[0] or not self._matrix.shape[1]:
            return []  # while planning, texts not embedded yet have no vector
        places = np.arange(len(self._chunks))
        if self._index is not None:
            most = min(len(self._chunks), max(MIN_CANDIDATES, CANDIDATES * count))
            candidates = self._index.search(query_vector.astype(np.float32), most).keys
            places = np.sort(candidates.astype(np.int64))
        return rank(self._matrix[places], query_vector, places, count)

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


def rank(matrix: Matrix, query_vector: Matrix, places: NDArray[np.int64], count: int) -> list[Hit]:
    """Rank the rows of a matrix by their cosine with a vector, rounded to 1e-6.

    matrix: rows x dimensions, rows of unit length or zero; query_vector: of unit length; places: the rows'
    numbers in the corpus, which break ties.
    """
    scores = np.round(matrix @ query_vector, DIGITS)
    best = np.lexsort((places, -scores))[:count]
    return [Hit(int(places[position]), float(scores[position])) for position in best]


def build_index(matrix: Matrix) -> VectorIndex:
    """Build a vector index by the library usearch, in one thread for reproducibility. Raises BadInput."""
    library = load_library("usearch.index", "a vector index")
    index: VectorIndex = library.Index(ndim=matrix.shape[1], metric="cos", dtype="f32")
    index.add(np.arange(len(matrix)), matrix.astype(np.float32), threads=1)
    return index
