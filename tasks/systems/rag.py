"""The reference RAG: retrieve, put what was found before the question, ask a model."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.models.ask import Ask, Unparsed
from tasks.systems.answers import PROMPTS, make_turns, read_answer
from tasks.systems.bm25 import Bm25Retriever
from tasks.systems.chunks import Chunk, fit_chunks, make_chunks
from tasks.systems.contract import Document, Passage, Response, Turn
from tasks.systems.dense import DenseRetriever
from tasks.systems.entries import RagEntry
from tasks.systems.fusion import HybridRetriever
from tasks.systems.keyword import KeywordRetriever
from tasks.systems.retriever import Retriever

ANSWER, ANSWER_ALONE, REWRITE = (PROMPTS / f"{name}.md" for name in ("answer", "answer_alone", "rewrite"))
LONGEST_QUERY = 500
"""Characters of a rewritten query that are searched for: a model may not know when to stop."""


def build_rag(name: str, entry: RagEntry, corpus: Sequence[Document], ask: Ask) -> ReferenceRag:
    """Index a corpus and make the system. Raises BadInput where a library or an id is amiss."""
    if entry.retriever == "none":
        return ReferenceRag(name, entry, ask, [], None)
    pieces = make_chunks(corpus, entry.chunk, entry.encoding)
    if entry.retriever == "hybrid":
        parts = [make_retriever(kind, entry, pieces, ask) for kind in entry.fused]
        return ReferenceRag(name, entry, ask, pieces, HybridRetriever(parts, entry.candidates))
    return ReferenceRag(name, entry, ask, pieces, make_retriever(entry.retriever, entry, pieces, ask))


def make_retriever(kind: str, entry: RagEntry, pieces: Sequence[Chunk], ask: Ask) -> Retriever:
    """Make one retriever over pieces."""
    if kind == "dense":
        return DenseRetriever(pieces, ask, entry.embedder, entry.exact_up_to)
    return (
        Bm25Retriever(pieces, entry.language) if kind == "bm25" else KeywordRetriever(pieces, entry.language)
    )


class ReferenceRag:
    """A system under test that is built in; without a retriever it is the model alone."""

    def __init__(
        self, name: str, entry: RagEntry, ask: Ask, pieces: Sequence[Chunk], retriever: Retriever | None
    ) -> None:
        self.name, self.version = name, entry.version
        self._entry, self._ask = entry, ask
        self._pieces, self._retriever = pieces, retriever

    async def answer(self, question: str, *, row: str, history: Sequence[Turn] = ()) -> Response:
        """Answer one question from what is found for it, or for the query that it is rewritten as."""
        turns = history if self._entry.multi_turn else ()
        calls: list[str] = []
        query = await self._rewrite(question, turns, row, calls) if turns and self._retriever else question
        found = await self._find(query, row)
        answer = await self._ask(
            ANSWER if self._retriever else ANSWER_ALONE,
            {"about": self._entry.about, "sources": found, "question": question},
            role=self._entry.answerer,
            row=row,
            parse=read_answer,
            turns=make_turns(turns),
        )
        calls.append(answer.call)
        return Response(answer.value, found, tuple(calls), answer.problem)

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Retrieve as for an answer; None for the model alone."""
        return await self._find(query, row) if self._retriever else None

    async def _find(self, query: str, row: str) -> tuple[Passage, ...]:
        if self._retriever is None:
            return ()
        hits = await self._retriever.search(query, self._entry.top_k, row=row)
        scores = {hit.place: hit.score for hit in hits}
        best = [self._pieces[hit.place] for hit in hits]
        kept = fit_chunks(best, self._entry.encoding, self._entry.context_tokens)
        return tuple(piece.to_passage(scores[piece.place]) for piece in kept)

    async def _rewrite(self, question: str, turns: Sequence[Turn], row: str, calls: list[str]) -> str:
        """Write the search query of a question in a conversation; the question itself where none came."""
        query = await self._ask(
            REWRITE,
            {"history": turns, "question": question},
            role=self._entry.rewriter,
            row=row,
            parse=read_query,
        )
        calls.append(query.call)
        return query.value or question


def read_query(text: str) -> str:
    """Read a rewritten query: its first line, without quotation marks. Raises Unparsed."""
    lines = [line.strip().strip("\"'“”「」").strip() for line in text.splitlines()]
    query = next((line for line in lines if line), "")
    if not query:
        raise Unparsed("holds no query")
    return query[:LONGEST_QUERY]
