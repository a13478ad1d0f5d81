"""Retrievers of the reference RAG, which rank by shared words, BM25, embeddings, or a fusion of rankings."""

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
from tasks.systems.tokenization import load_tokenizer

K = 60
"""The constant of reciprocal rank fusion: a hit at rank r adds 1 / (K + r) to a chunk's score."""
Matrix = NDArray[np.float64]
CANDIDATES = 4
"""Number of candidates from the vector index per requested hit; candidates are then compared exactly."""
MIN_CANDIDATES = 64
"""Minimum number of candidates from the vector index, even if few hits are requested."""
CORPUS = "corpus"
"""The row id of the calls that embed the corpus."""


class Retriever(Protocol):
    """The interface of retrievers, which find the chunks of a corpus that match a query."""

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Return at most `count` chunks, best first. `row`: the row's id in errors and the calls artifact."""
        ...


class HybridRetriever:
    """Fuses the first `candidates` hits of several retrievers."""

    def __init__(self, retrievers: Sequence[Retriever], candidates: int) -> None:
        self._retrievers, self._candidates = retrievers, candidates

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Return at most `count` chunks by fused score, best first."""
        rankings = [
            await retriever.search(query, self._candidates, row=row) for retriever in self._retrievers
        ]
        return fuse(rankings)[:count]


def fuse(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Rank chunks by the sum of 1 / (60 + rank) over rankings (ranks from 1); ties are in corpus order."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.place] = scores.get(hit.place, 0.0) + 1 / (K + rank)
    hits = [Hit(place, round(score, DIGITS)) for place, score in scores.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.place))


class KeywordRetriever:
    """The retriever of GRAMMAR's code: ranks chunks by the number of distinct words shared with the query.

    Case, punctuation and stop words are kept. A chunk without a shared word is not a hit.
    """

    def __init__(self, chunks: Sequence[Chunk], language: str) -> None:
        """Index the words of chunks. Raises BadInput if the language has no tokenizer."""
        self._tokenize = load_tokenizer(language)
        self._places: dict[str, list[int]] = {}
        for chunk in chunks:
            for word in set(self._tokenize(chunk.searched)):
                self._places.setdefault(word, []).append(chunk.place)

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Return at most `count` chunks by number of shared words, best first; ties are in corpus order."""
        shared: dict[int, int] = {}
        for word in set(self._tokenize(query)):
            for place in self._places.get(word, ()):
                shared[place] = shared.get(place, 0) + 1
        ranked = sorted(shared.items(), key=lambda item: (-item[1], item[0]))
        return [Hit(place, float(score)) for place, score in ranked[:count]]


class Bm25Retriever:
    """Lucene's BM25 with k1 = 1.5 and b = 0.75. A chunk that shares no word with the query is not a hit."""

    def __init__(self, chunks: Sequence[Chunk], language: str) -> None:
        """Index the words of chunks. Raises BadInput if the library or the tokenizer is missing."""
        library = load_library("bm25s", "the retriever bm25")
        self._tokenize = load_tokenizer(language)
        corpus = [self._fold(chunk.searched) for chunk in chunks]
        # Words are numbered here, because the library numbers words in a set's order, which varies.
        self._numbers = {
            word: number
            for number, word in enumerate(sorted({*(word for words in corpus for word in words)}))
        }
        self._index = library.BM25(dtype="float64")
        self._empty = not self._numbers
        if not self._empty:
            ids = [[self._numbers[word] for word in words] for words in corpus]
            self._index.index((ids, {**self._numbers}), create_empty_token=False, show_progress=False)

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Return at most `count` chunks by BM25 score, best first; ties are in corpus order."""
        # The order of a set varies between processes, and the order of a sum affects its last digits.
        words = sorted({word for word in self._fold(query) if word in self._numbers})
        if self._empty or not words:
            return []
        scores = np.round(self._index.get_scores([self._numbers[word] for word in words]), DIGITS)
        found = np.flatnonzero(scores > 0)
        best = found[np.argsort(-scores[found], kind="stable")][:count]
        return [Hit(int(place), float(scores[place])) for place in best]

    def _fold(self, text: str) -> list[str]:
        return self._tokenize(text.lower())


class Matches(Protocol):
    """The result of a search in a vector index: row numbers, nearest first."""

    keys: NDArray[np.uint64]


class VectorIndex(Protocol):
    """The methods of usearch's Index that this project uses."""

    def add(self, keys: NDArray[np.int64], vectors: NDArray[np.float32], *, threads: int) -> object:
        """Add vectors under integer keys."""
        ...

    def search(self, vector: NDArray[np.float32], count: int) -> Matches:
        """Return the `count` nearest vectors."""
        ...


class DenseRetriever:
    """Ranks chunks by the cosine similarity of embeddings; the corpus is embedded at the first search."""

    def __init__(self, chunks: Sequence[Chunk], ask: Ask, role: str, exact_up_to: int) -> None:
        """Store the settings. `role`: the role of the embedding model.

        `exact_up_to`: the number of chunks above which a vector index is used.
        """
        self._chunks, self._ask, self._role = chunks, ask, role
        self._exact_up_to = exact_up_to
        self._matrix: Matrix | None = None
        self._index: VectorIndex | None = None
        self._lock = asyncio.Lock()

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Return at most `count` chunks by cosine similarity, best first; ties are in corpus order.

        Raises ModelFailed (also for vectors of different dimensions), BudgetSpent or CallMissing.
        """
        # Without the lock, concurrent first searches would each embed the whole corpus.
        async with self._lock:
            if self._matrix is None:
                self._matrix = await self._embed([chunk.searched for chunk in self._chunks], CORPUS)
                if len(self._chunks) > self._exact_up_to:
                    self._index = build_index(self._matrix)
        if not self._chunks:
            return []
        query_vector = (await self._embed([query], row))[0]
        if not query_vector.shape[0] or not self._matrix.shape[1]:
            return []  # in a plan, texts without recorded embeddings have empty vectors
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
            raise ModelFailed(
                f"{self._role}: the endpoint returned vectors of different lengths ({sorted(widths)})"
            )
        width = min(widths, default=0)
        matrix = np.array([vector[:width] for vector in vectors], dtype=np.float64).reshape(
            len(vectors), width
        )
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        unit: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
        return unit


def rank(matrix: Matrix, query_vector: Matrix, places: NDArray[np.int64], count: int) -> list[Hit]:
    """Return the `count` best rows of a matrix by cosine similarity with a vector, rounded to 1e-6.

    `matrix`: rows x dimensions, with rows of unit length or zero. `query_vector`: a vector of unit length.
    `places`: the positions of the rows in the corpus, which break ties.
    """
    scores = np.round(matrix @ query_vector, DIGITS)
    best = np.lexsort((places, -scores))[:count]
    return [Hit(int(places[position]), float(scores[position])) for position in best]


def build_index(matrix: Matrix) -> VectorIndex:
    """Return a usearch index of vectors, built in one thread for reproducibility.

    Raises BadInput if the library is missing.
    """
    library = load_library("usearch.index", "a vector index")
    index: VectorIndex = library.Index(ndim=matrix.shape[1], metric="cos", dtype="f32")
    index.add(np.arange(len(matrix)), matrix.astype(np.float32), threads=1)
    return index
