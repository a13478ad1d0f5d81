"""What a system under test is to a stage: something that answers, and says what it had retrieved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tasks.artifacts.rows import Origin


@dataclass(frozen=True)
class Document:
    """One text of a corpus, as retrieval sees it."""

    id: str
    title: str
    text: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Passage:
    """A piece of a document that a system retrieved. `document` is the id of the document it is cut from."""

    document: str
    title: str
    text: str
    score: float
    """The retriever's own; higher is better, rounded to 1e-6."""


@dataclass(frozen=True)
class Turn:
    """A question that was put to a system, and what it said."""

    question: str
    answer: str


@dataclass(frozen=True)
class Response:
    """What a system said. `text` is None where it gave no answer; then `problem` says why."""

    text: str | None
    passages: tuple[Passage, ...] | None
    """Best first; None where the system does not show them."""
    calls: tuple[str, ...]
    """Ledger keys of every call that the answer took."""
    problem: str = ""


class System(Protocol):
    """A system under test. Every call it takes goes through the ledger, with its epoch."""

    name: str
    version: str

    async def answer(self, question: str, *, row: str, history: Sequence[Turn] = ()) -> Response:
        """Answer one question. row: the id named in errors and in the calls artifact."""
        ...

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Retrieve without answering (ragcheck's E2 and E3); None where the system cannot."""
        ...
