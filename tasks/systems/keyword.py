"""GRAMMAR's own retriever: rank documents by the number of distinct words shared with the query."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.systems.chunks import Chunk, Hit
from tasks.systems.tokenization import load_tokenizer


class KeywordRetriever:
    """Ranks by shared words; case, punctuation and stop words count. Without a shared word it is no hit."""

    def __init__(self, chunks: Sequence[Chunk], language: str) -> None:
        """language: whose tokenizer splits words. Raises BadInput without the tokenizer."""
        self._tokenize = load_tokenizer(language)
        self._places: dict[str, list[int]] = {}
        for chunk in chunks:
            for word in set(self._tokenize(chunk.searched)):
                self._places.setdefault(word, []).append(chunk.place)

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Find at most `count` chunks by the number of shared words, best first; ties in corpus order."""
        shared: dict[int, int] = {}
        for word in set(self._tokenize(query)):
            for place in self._places.get(word, ()):
                shared[place] = shared.get(place, 0) + 1
        ranked = sorted(shared.items(), key=lambda item: (-item[1], item[0]))
        return [Hit(place, float(score)) for place, score in ranked[:count]]
