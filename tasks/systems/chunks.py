"""What retrieval ranks: documents whole, or the chunks that a library cuts them into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tasks.errors import BadInput
from tasks.systems.contract import Document, Passage
from tasks.systems.entries import Chunking
from tasks.systems.extras import load_library

DIGITS = 6
"""Scores are rounded to so many places before they are compared: ranks must not shake."""


@dataclass(frozen=True)
class Chunk:
    """A stretch of a document. `place` is its number in the corpus, which breaks ties."""

    place: int
    document: str
    title: str
    text: str

    @property
    def searched(self) -> str:
        """What a query is held against: the title is part of it."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    def to_passage(self, score: float) -> Passage:
        """Make the passage that a system hands out."""
        return Passage(self.document, self.title, self.text, score)


@dataclass(frozen=True)
class Hit:
    """A piece that was found, by its place in the corpus."""

    place: int
    score: float


def make_chunks(corpus: Sequence[Document], chunk: Chunking | None, encoding: str) -> list[Chunk]:
    """Cut a corpus up, in its order. Raises BadInput where two documents have one id."""
    seen: set[str] = set()
    pieces: list[Chunk] = []
    splitter = None if chunk is None else load_text_splitter(encoding, chunk.tokens, chunk.overlap)
    for document in corpus:
        if document.id in seen:
            raise BadInput(f"document {document.id}", "stands twice in the corpus")
        seen.add(document.id)
        texts = [document.text] if splitter is None else splitter.chunks(document.text)
        for text in texts:
            pieces.append(Chunk(len(pieces), document.id, document.title, text))
    return pieces


def load_text_splitter(encoding: str, tokens: int, overlap: int = 0) -> Any:
    """Load what cuts text into chunks of at most so many tokens. Raises BadInput for an unknown encoding."""
    library = load_library("semantic_text_splitter", "counting tokens")
    try:
        return library.TextSplitter.from_tiktoken_model(encoding, tokens, overlap)
    except Exception as error:  # noqa: BLE001 - the library raises a bare Exception
        said = " ".join(str(error).split())[:120]
        raise BadInput("params.yaml: systems: encoding", f"{encoding!r} is unknown: {said}") from None


def fit_chunks(pieces: Sequence[Chunk], encoding: str, tokens: int) -> list[Chunk]:
    """Keep the pieces, best first, that together have at most so many tokens.

    They are kept whole, up to the first that does not fit; the very first is cut instead.
    """
    counter = load_text_splitter(encoding, tokens)
    kept: list[Chunk] = []
    for piece in pieces:
        text = "\n\n".join(part.searched for part in [*kept, piece])
        if len(counter.chunks(text)) > 1:
            break
        kept.append(piece)
    if not kept and pieces:
        first = pieces[0]
        room = load_text_splitter(encoding, max(1, tokens - len(first.title.encode())))
        kept = [Chunk(first.place, first.document, first.title, room.chunks(first.text)[0])]
    return kept
