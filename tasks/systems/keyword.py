"""GRAMMAR's own retriever: documents by the number of distinct words that they share with the query."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.systems.chunks import Chunk, Hit
from tasks.systems.tokenization import load_tokenizer


class KeywordRetriever:
    """Case, punctuation and stop words count; ties stand in corpus order; no word shared, no hit."""

    def __init__(self, pieces: Sequence[Chunk], language: str) -> None:
        self._split = load_tokenizer(language)
        self._places: dict[str, list[int]] = {}
        for piece in pieces:
            for word in set(self._split(piece.searched)):
                self._places.setdefault(word, []).append(piece.place)

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Find the pieces that share most words with a query; the score is how many."""
        shared: dict[int, int] = {}
        for word in set(self._split(query)):
            for place in self._places.get(word, ()):
                shared[place] = shared.get(place, 0) + 1
        ranked = sorted(shared.items(), key=lambda item: (-item[1], item[0]))
        return [Hit(place, float(score)) for place, score in ranked[:count]]
