"""The interface of a system under test, which answers questions and reports retrieved passages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tasks.artifacts.rows import Origin


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document that this project generated. `paragraph`: the paragraph's index."""

    text: str
    writer: str
    """The author of the sentence: `model`, or `plain` if code generated the sentence.

    A `plain` sentence states only the facts.
    """
    paragraph: int
    facts_read: int = 0
    """Number of facts that could be extracted from this sentence alone.

    A model extracts facts from model-written sentences; rules extract facts from `plain` sentences.
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
    """A passage that a system retrieved. `document`: the id of the passage's document."""

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
    """A system's response. `text`: None if there is no answer; `problem` is then the reason."""

    text: str | None
    passages: tuple[Passage, ...] | None
    """The retrieved passages, best first; None if the system does not report them."""
    calls: tuple[str, ...]
    """Ledger keys of all calls made for the answer."""
    problem: str = ""


class System(Protocol):
    """A system under test, whose calls are recorded in the ledger with the stage's epoch."""

    name: str
    version: str

    async def answer(
        self, question: str, *, row: str, history: Sequence[Turn] = (), item: str = ""
    ) -> Response:
        """Answer one question. `row`: the row's id, for errors and the calls artifact.

        `item`: the id of the dataset's item, if different from `row`; recorded answers are looked up by this
        id.

        If the system itself fails, the response has no text. Raises ModelFailed, BudgetSpent and CallMissing,
        like `Ask`.
        """
        ...

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Return passages, best first, without an answer; None if the system does not support this.

        Raises the same errors as `answer`.
        """
        ...


def name_documents(
    passages: Iterable[Passage] | None, artifact: str, corpus: Collection[str]
) -> list[Origin]:
    """Return the origins of the passages' distinct documents, best first; empty if `passages` is None.

    The origin of a document in `corpus` is a row of `artifact`. The origin of any other document,
    from the system's own collection, is of kind `evidence`.
    """
    documents = dict.fromkeys(passage.document for passage in passages or ())
    return [
        Origin("row", f"{artifact}#{document}") if document in corpus else Origin("evidence", document)
        for document in documents
        if document
    ]
