"""BM25 retrieval by the library bm25s, over the lower-case words of a corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.systems.chunks import DIGITS, Chunk, Hit
from tasks.systems.extras import load_library
from tasks.systems.tokenization import load_tokenizer


class Bm25Retriever:
    """Lucene's BM25 with k1 = 1.5 and b = 0.75. Chunks that share no word with the query are no hits."""

    def __init__(self, chunks: Sequence[Chunk], language: str) -> None:
        """language: whose tokenizer splits words. Raises BadInput without the library or tokenizer."""
        library = load_library("bm25s", "the retriever bm25")
        self._tokenize = load_tokenizer(language)
        corpus = [self._fold(chunk.searched) for chunk in chunks]
        # Words are numbered here because the library numbers them by a set, whose order is not fixed.
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
        """Find at most `count` chunks by BM25 score, best first; ties in corpus order."""
        words = sorted({word for word in self._fold(query) if word in self._numbers})
        if self._empty or not words:
            return []
        scores = np.round(self._index.get_scores([self._numbers[word] for word in words]), DIGITS)
        found = np.flatnonzero(scores > 0)
        best = found[np.argsort(-scores[found], kind="stable")][:count]
        return [Hit(int(place), float(scores[place])) for place in best]

    def _fold(self, text: str) -> list[str]:
        return self._tokenize(text.lower())
