"""The reference RAG: retrieve, put what was found before the question, ask a model."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.models.ask import Ask, Unparsed
from tasks.systems.answers import PROMPTS, make_turns, read_answer
from tasks.systems.bm25 import Bm25
from tasks.systems.contract import Document, Passage, Response, Turn
from tasks.systems.dense import Dense
from tasks.systems.entries import RagEntry
from tasks.systems.fusion import Hybrid
from tasks.systems.keyword import Keyword
from tasks.systems.pieces import Piece, fit, make_pieces
from tasks.systems.retriever import Retriever

ANSWER, ANSWER_ALONE, REWRITE = (PROMPTS / f"{name}.md" for name in ("answer", "answer_alone", "rewrite"))
LONGEST_QUERY = 500
"""Characters of a rewritten query that are searched for: a model may not know when to stop."""


def build_rag(name: str, entry: RagEntry, corpus: Sequence[Document], ask: Ask) -> Rag:
    """Index a corpus and make the system. Raises BadInput where a library or an id is amiss."""
    if entry.retriever == "none":
        return Rag(name, entry, ask, [], None)
    pieces = make_pieces(corpus, entry.chunk, entry.encoding)
    if entry.retriever == "hybrid":
        parts = [make_retriever(kind, entry, pieces, ask) for kind in entry.fused]
        return Rag(name, entry, ask, pieces, Hybrid(parts, entry.candidates))
    return Rag(name, entry, ask, pieces, make_retriever(entry.retriever, entry, pieces, ask))


def make_retriever(kind: str, entry: RagEntry, pieces: Sequence[Piece], ask: Ask) -> Retriever:
    """Make one retriever over pieces."""
    if kind == "dense":
        return Dense(pieces, ask, entry.embedder, entry.exact_up_to)
    return Bm25(pieces, entry.language) if kind == "bm25" else Keyword(pieces, entry.language)


class Rag:
    """A system under test that is built in; without a retriever it is the model alone."""

    def __init__(
        self, name: str, entry: RagEntry, ask: Ask, pieces: Sequence[Piece], retriever: Retriever | None
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
        kept = fit(best, self._entry.encoding, self._entry.context_tokens)
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
