"""Hybrid retrieval by reciprocal rank fusion of several retrievers."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.systems.chunks import DIGITS, Hit
from tasks.systems.retriever import Retriever

K = 60


class HybridRetriever:
    """Fuses the first `candidates` hits of several retrievers."""

    def __init__(self, retrievers: Sequence[Retriever], candidates: int) -> None:
        self._retrievers, self._candidates = retrievers, candidates

    async def search(self, query: str, count: int, *, row: str) -> list[Hit]:
        """Find at most `count` chunks by their fused score, best first."""
        rankings = [
            await retriever.search(query, self._candidates, row=row) for retriever in self._retrievers
        ]
        return fuse(rankings)[:count]


def fuse(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Score chunks by the sum of 1 / (60 + rank) over rankings, ranks from 1; ties in corpus order."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.place] = scores.get(hit.place, 0.0) + 1 / (K + rank)
    hits = [Hit(place, round(score, DIGITS)) for place, score in scores.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.place))
