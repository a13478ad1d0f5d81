"""The interface of a system under test: it answers a question and reports the passages it retrieved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tasks.artifacts.rows import Origin


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document that was written here. paragraph: its number, from 0."""

    text: str
    writer: str
    """`model`, or `plain`: by code, from the facts alone."""
    paragraph: int
    facts_read: int = 0
    """Number of facts that were read back from it, each in one sentence only: by the reader from a model's,
    by rule from a plain one."""


@dataclass(frozen=True)
class Document:
    """A document of a corpus."""

    id: str
    title: str
    text: str
    origin: tuple[Origin, ...]
    sentences: tuple[Sentence, ...] = ()
    """Who wrote the text, sentence by sentence; empty of a document that was not written here."""


@dataclass(frozen=True)
class Passage:
    """A passage that a system retrieved. document: the id of the document that it comes from."""

    document: str
    title: str
    text: str
    score: float
    """The retriever's score, higher is better, rounded to 1e-6."""


@dataclass(frozen=True)
class Turn:
    """An earlier question to a system, and its answer."""

    question: str
    answer: str


@dataclass(frozen=True)
class Response:
    """A system's response. text: None if it gave no answer; then `problem` says why."""

    text: str | None
    passages: tuple[Passage, ...] | None
    """Best first; None if the system does not report them."""
    calls: tuple[str, ...]
    """Ledger keys of all calls that the answer took."""
    problem: str = ""


class System(Protocol):
    """A system under test. All its calls go through the ledger, under the stage's epoch."""

    name: str
    version: str

    async def answer(
        self, question: str, *, row: str, history: Sequence[Turn] = (), item: str = ""
    ) -> Response:
        """Answer one question. row: the id named in errors and in the calls artifact.

        item: the id of the dataset's item, if it is another one; recorded answers are found by it.

        A failure of the system itself is a response without text; raises ModelFailed, BudgetSpent and
        CallMissing as `Ask` does.
        """
        ...

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Retrieve passages without answering, best first; None if the system cannot. Raises as `answer`."""
        ...


def name_documents(
    passages: Iterable[Passage] | None, artifact: str, corpus: Collection[str]
) -> list[Origin]:
    """Name the documents of passages, each once, best first: rows of `artifact`, whose ids are `corpus`.

    A system may search documents of its own: one that is not in the corpus is named as evidence.
    """
    documents = dict.fromkeys(passage.document for passage in passages or ())
    return [
        Origin("row", f"{artifact}#{document}") if document in corpus else Origin("evidence", document)
        for document in documents
        if document
    ]
