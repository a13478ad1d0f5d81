"""The reference RAG: retrieve passages, insert them into a prompt before the question, and call a model."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.models.ask import Ask, Unparsed
from tasks.systems.chunks import Chunk, fit_chunks, make_chunks
from tasks.systems.contract import Document, Passage, Response, Turn
from tasks.systems.endpoint import PROMPTS, make_turns, read_answer
from tasks.systems.entries import RagEntry
from tasks.systems.retrievers import (
    Bm25Retriever,
    DenseRetriever,
    HybridRetriever,
    KeywordRetriever,
    Retriever,
)

ANSWER, REWRITE = (PROMPTS / f"{name}.md" for name in ("answer", "rewrite"))
ALONE = {"ours": PROMPTS / "answer_alone.md", "concise": PROMPTS / "answer_concise.md"}
"""Value of `wording` -> the prompt file for the model without retrieval."""
LONGEST_QUERY = 500
"""Maximum length of a rewritten query, in characters; needed because small models may not stop generating."""


def build_rag(name: str, entry: RagEntry, corpus: Sequence[Document], ask: Ask) -> ReferenceRag:
    """Index a corpus, and return the system.

    Raises BadInput if a library is missing, a language or encoding is unknown, or two documents have the same
    id.
    """
    if entry.retriever == "none":
        return ReferenceRag(name, entry, ask, [], None)
    chunks = make_chunks(corpus, entry.chunk, entry.encoding)
    if entry.retriever == "hybrid":
        parts = [make_retriever(kind, entry, chunks, ask) for kind in entry.fused]
        return ReferenceRag(name, entry, ask, chunks, HybridRetriever(parts, entry.candidates))
    return ReferenceRag(name, entry, ask, chunks, make_retriever(entry.retriever, entry, chunks, ask))


def make_retriever(kind: str, entry: RagEntry, chunks: Sequence[Chunk], ask: Ask) -> Retriever:
    """Return a retriever over chunks. `kind`: `dense`, `bm25` or `keyword`.

    Raises BadInput if a library or a tokenizer is missing.
    """
    if kind == "dense":
        return DenseRetriever(chunks, ask, entry.embedder, entry.exact_up_to)
    return (
        Bm25Retriever(chunks, entry.language) if kind == "bm25" else KeywordRetriever(chunks, entry.language)
    )


class ReferenceRag:
    """The built-in system under test; without a retriever, the model answers without passages."""

    def __init__(
        self, name: str, entry: RagEntry, ask: Ask, chunks: Sequence[Chunk], retriever: Retriever | None
    ) -> None:
        self.name, self.version = name, entry.version
        self._entry, self._ask = entry, ask
        self._chunks, self._retriever = chunks, retriever

    async def answer(
        self, question: str, *, row: str, history: Sequence[Turn] = (), item: str = ""
    ) -> Response:
        """Answer a question from retrieved passages.

        With `multi_turn`, the prompt contains earlier turns, and a model rewrites the retrieval query.
        """
        turns = history if self._entry.multi_turn else ()
        calls: list[str] = []
        query = await self._rewrite(question, turns, row, calls) if turns and self._retriever else question
        passages = await self._find(query, row)
        answer = await self._ask(
            ANSWER if self._retriever else ALONE[self._entry.wording],
            {"about": self._entry.about, "sources": passages, "question": question},
            role=self._entry.answerer,
            row=row,
            parse=read_answer,
            turns=make_turns(turns),
        )
        calls.append(answer.call)
        return Response(answer.value, passages, tuple(calls), answer.problem)

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Return the passages that a prompt would contain, best first; None if there is no retriever."""
        return await self._find(query, row) if self._retriever else None

    async def _find(self, query: str, row: str) -> tuple[Passage, ...]:
        if self._retriever is None:
            return ()
        hits = await self._retriever.search(query, self._entry.top_k, row=row)
        scores = {hit.place: hit.score for hit in hits}
        best = [self._chunks[hit.place] for hit in hits]
        kept = fit_chunks(best, self._entry.encoding, self._entry.context_tokens)
        return tuple(chunk.to_passage(scores[chunk.place]) for chunk in kept)

    async def _rewrite(self, question: str, turns: Sequence[Turn], row: str, calls: list[str]) -> str:
        """Rewrite a question in a conversation as a search query.

        Returns the question unchanged if no reply can be parsed.
        """
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
    """Return the rewritten query: the first non-blank line of a reply, without quotation marks.

    The query is cut to `LONGEST_QUERY` characters. Raises Unparsed if all lines are blank.
    """
    lines = [line.strip().strip("\"'“”「」").strip() for line in text.splitlines()]
    query = next((line for line in lines if line), "")
    if not query:
        raise Unparsed("the reply contains no query")
    return query[:LONGEST_QUERY]
