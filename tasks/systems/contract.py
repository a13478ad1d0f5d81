"""The interface of a system under test: it answers a question and reports the passages it retrieved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tasks.artifacts.rows import Origin


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document that this project generated. paragraph: its number, counted from 0."""

    text: str
    writer: str
    """The writer: `model`, or `plain` for code that only uses the facts."""
    paragraph: int
    facts_read: int = 0
    """Number of facts that were read back from this sentence and from no other.

    A model reads facts from sentences that a model wrote; rules read them from `plain` sentences.
    """


@dataclass(frozen=True)
class Document:
    """A document of a corpus."""

    id: str
    title: str
    text: str
    origin: tuple[Origin, ...]
    sentences: tuple[Sentence, ...] = ()
    """The sentences of the text with their writers; empty if this project did not generate the document."""


@dataclass(frozen=True)
class Passage:
    """A passage that a system retrieved. document: the id of the document that it comes from."""

    document: str
    title: str
    text: str
    score: float
    """The retriever's score, rounded to 1e-6; higher is better."""


@dataclass(frozen=True)
class Turn:
    """An earlier question to a system, and its answer."""

    question: str
    answer: str


@dataclass(frozen=True)
class Response:
    """A system's response. text: None if there is no answer; `problem` then gives the reason."""

    text: str | None
    passages: tuple[Passage, ...] | None
    """The retrieved passages, best first; None if the system does not report them."""
    calls: tuple[str, ...]
    """Ledger keys of all calls made for the answer."""
    problem: str = ""


class System(Protocol):
    """A system under test. All its calls go through the ledger, in the epoch of the stage."""

    name: str
    version: str

    async def answer(
        self, question: str, *, row: str, history: Sequence[Turn] = (), item: str = ""
    ) -> Response:
        """Answer one question. row: the id named in errors and in the calls artifact.

        item: the id of the dataset's item, if different from `row`; recorded answers are found by it.

        If the system itself fails, the response has no text. Raises ModelFailed, BudgetSpent and CallMissing
        like `Ask`.
        """
        ...

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Retrieve passages without answering, best first; None if the system cannot.

        Raises like `answer`.
        """
        ...


def name_documents(
    passages: Iterable[Passage] | None, artifact: str, corpus: Collection[str]
) -> list[Origin]:
    """List the documents of passages as origins, best first and without duplicates.

    Documents in `corpus` become rows of `artifact`. A system may search its own documents; these become
    evidence.
    """
    documents = dict.fromkeys(passage.document for passage in passages or ())
    return [
        Origin("row", f"{artifact}#{document}") if document in corpus else Origin("evidence", document)
        for document in documents
        if document
    ]
