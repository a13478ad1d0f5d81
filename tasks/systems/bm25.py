"""BM25 by the library bm25s, over the words of the corpus's language in lower case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.systems.chunks import DIGITS, Chunk, Hit
from tasks.systems.extras import load_library
from tasks.systems.tokenization import load_tokenizer


class Bm25Retriever:
    """Lucene's variant with its usual k1 = 1.5 and b = 0.75. Pieces that share no word are no hits."""

    def __init__(self, pieces: Sequence[Chunk], language: str) -> None:
        library = load_library("bm25s", "the retriever bm25")
        self._split = load_tokenizer(language)
        corpus = [self._fold(piece.searched) for piece in pieces]
        # A number of our own for each word: the library numbers them by a set, whose order is not fixed.
        self._numbers = {
            word: number for number, word in enumerate(sorted({*(w for words in corpus for w in words)}))
        }
        self._index = library.BM25(dtype="float64")
        self._empty = not self._numbers
        if not self._empty:
            ids = [[self._numbers[word] for word in words] for words in corpus]
            self._index.index((ids, {**self._numbers}), create_empty_token=False, show_progress=False)

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Find the best pieces by BM25; ties stand in corpus order."""
        words = sorted({word for word in self._fold(query) if word in self._numbers})
        if self._empty or not words:
            return []
        scores = np.round(self._index.get_scores([self._numbers[word] for word in words]), DIGITS)
        found = np.flatnonzero(scores > 0)
        best = found[np.argsort(-scores[found], kind="stable")][:count]
        return [Hit(int(place), float(scores[place])) for place in best]

    def _fold(self, text: str) -> list[str]:
        return self._split(text.lower())
