"""Split documents into chunks for retrieval, and truncate retrieved chunks to a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tasks.errors import BadInput
from tasks.systems.contract import Document, Passage
from tasks.systems.entries import Chunking
from tasks.systems.extras import load_library

DIGITS = 6
"""Number of decimal places to which scores are rounded before ranking, so that ranks are reproducible."""


class TextSplitter(Protocol):
    """The methods of semantic_text_splitter.TextSplitter that this project uses."""

    def chunks(self, text: str) -> list[str]:
        """Split a text into chunks."""
        ...


@dataclass(frozen=True)
class Chunk:
    """A chunk of a document, or a whole document.

    `place`: the chunk's position in the corpus, which breaks ties.
    """

    place: int
    document: str
    title: str
    text: str

    @property
    def searched(self) -> str:
        """The title and the text, which are matched against queries."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    def to_passage(self, score: float) -> Passage:
        """Convert the chunk to a passage with a retrieval score."""
        return Passage(self.document, self.title, self.text, score)


@dataclass(frozen=True)
class Hit:
    """A retrieved chunk and its score. `place`: the chunk's position in the corpus."""

    place: int
    score: float


def make_chunks(corpus: Sequence[Document], chunk: Chunking | None, encoding: str) -> list[Chunk]:
    """Split the documents of a corpus into chunks, in order. If `chunk` is None, documents stay whole.

    Raises BadInput if two documents have the same id, the library is missing, or the encoding is unknown.
    """
    seen: set[str] = set()
    chunks: list[Chunk] = []
    splitter = None if chunk is None else load_text_splitter(encoding, chunk.tokens, chunk.overlap)
    for document in corpus:
        if document.id in seen:
            raise BadInput(f"document {document.id}", "occurs twice in the corpus")
        seen.add(document.id)
        texts = [document.text] if splitter is None else splitter.chunks(document.text)
        for text in texts:
            chunks.append(Chunk(len(chunks), document.id, document.title, text))
    return chunks


def load_text_splitter(encoding: str, tokens: int, overlap: int = 0) -> TextSplitter:
    """Return a text splitter for chunks of at most `tokens` tokens.

    `encoding`: a model name that tiktoken knows. Raises BadInput if the name is unknown, or if the library is
    missing.
    """
    library = load_library("semantic_text_splitter", "counting tokens")
    try:
        splitter: TextSplitter = library.TextSplitter.from_tiktoken_model(encoding, tokens, overlap)
    except Exception as error:  # noqa: BLE001 - the library raises a bare Exception
        message = " ".join(str(error).split())[:120]
        raise BadInput("params.yaml: systems: encoding", f"{encoding!r} is unknown: {message}") from None
    return splitter


def fit_chunks(chunks: Sequence[Chunk], encoding: str, tokens: int) -> list[Chunk]:
    """Return the leading chunks that fit into a token budget. `chunks` are sorted, best first.

    The list ends before the first chunk that does not fit. If the best chunk does not fit, its text is
    truncated. Raises the same errors as `load_text_splitter`.
    """
    splitter = load_text_splitter(encoding, tokens)
    kept: list[Chunk] = []
    for chunk in chunks:
        text = "\n\n".join(part.searched for part in [*kept, chunk])
        if len(splitter.chunks(text)) > 1:
            break
        kept.append(chunk)
    if not kept and chunks:
        first = chunks[0]
        # A token has at least one byte, so the title has at most as many tokens as bytes.
        remaining = load_text_splitter(encoding, max(1, tokens - len(first.title.encode())))
        kept = [Chunk(first.place, first.document, first.title, remaining.chunks(first.text)[0])]
    return kept
