"""Schemas for the entries under `systems:` in params.yaml: `{<name>: {kind: ..., ...}}`.

Entries contain everything that determines an answer. The URL, key and timeouts of a system are under
`run.systems.<name>`, which no stage depends on.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import AfterValidator, Field, field_validator, model_validator

from tasks.errors import BadInput
from tasks.settings import Settings

RetrieverKind = Literal["keyword", "bm25", "dense", "hybrid", "none"]
FUNCTION = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"


class EntryModel(Settings):
    """Base class of the entries under `systems:`; unknown keys, such as misspelt keys, are errors."""


def check_path(text: str) -> str:
    """Return the text if it is a JMESPath expression. Raises ValueError otherwise."""
    try:
        jmespath.compile(text)
    except JMESPathError as error:
        raise ValueError(f"is not a JMESPath expression ({' '.join(str(error).split())})") from None
    return text


JsonPath = Annotated[str, AfterValidator(check_path)]


class CallableEntry(EntryModel):
    """A system that is your Python function; docs/systems.md describes the arguments and result."""

    kind: Literal["callable"]
    version: str = Field(min_length=1)
    """Part of every call's ledger key: change it when the function's code changes."""
    function: str = Field(pattern=FUNCTION)
    """The function, as `package.module:name`."""
    search: str | None = Field(default=None, pattern=FUNCTION)
    """The function that retrieves passages without answering, as `package.module:name`; null if none."""


class PlugEntry(EntryModel):
    """A system that is a plug-in: a file of the project, or a module of an installed package."""

    kind: Literal["plug"]
    plug: str = Field(default="", pattern=r"^([A-Za-z_][\w-]*)?$")
    """The plug-in's name: `<name>` in tasks/systems/own/<name>.py, or the name of the package's entry point.

    Empty means the name of the system.
    """
    version: str = ""
    """The version of the installed package; empty for a file, whose version is a hash of its text."""
    record: str = ""
    """The digest of the installed package's files; empty for a file."""
    search: bool = False
    """Whether the plug-in has a function `search`, which retrieves passages without answering."""


class OpenAiEntry(EntryModel):
    """An OpenAI-compatible endpoint to which the question is sent."""

    kind: Literal["openai"]
    version: str = "1"
    """Part of every call's ledger key: change it when the system changes."""
    role: str = "answerer"
    """The role that answers: a name under `roles`. The role's `model` names the endpoint."""
    instructions: str = ""
    """The system message; if empty, no system message is sent."""
    multi_turn: bool = True
    """Whether to send earlier turns as messages."""


class HttpCall(EntryModel):
    """A POST request to a system, and JMESPath expressions for the retrieved passages in its JSON reply.

    With `passages`, the other paths are evaluated within each member of that list. Without `passages`, each
    of the other paths selects a list, and all lists have the same length.
    """

    path: str = Field(default="", pattern=r"^(/[^\s?#]*)?$")
    """The path that is appended to the URL of `run.systems.<name>`."""
    body: dict[str, object]
    """The JSON body to post.

    In strings, `{question}` is replaced by the question. A string equal to `{history}` becomes the list of
    earlier turns. A string equal to `{messages}` becomes the list of OpenAI chat messages.
    """
    passages: JsonPath | None = None
    """The path of the list of retrieved passages, best first."""
    contexts: JsonPath | None = None
    """The path of the retrieved texts."""
    ids: JsonPath | None = None
    """The path of the ids of the documents that the retrieved texts come from."""
    titles: JsonPath | None = None
    """The path of the titles of the documents that the retrieved texts come from."""
    scores: JsonPath | None = None
    """The path of the scores of the retrieved texts."""

    @field_validator("body")
    @classmethod
    def _check_body(cls, body: dict[str, object]) -> dict[str, object]:
        if not _carries_question(body):
            raise ValueError(
                "contains neither {question} nor a string equal to {messages}, so the question is never sent"
            )
        return body


def _carries_question(body: object) -> bool:
    if isinstance(body, dict):
        return any(map(_carries_question, body.values()))
    if isinstance(body, list):
        return any(map(_carries_question, body))
    return isinstance(body, str) and ("{question}" in body or body == "{messages}")


class HttpAnswer(HttpCall):
    """The call that answers a question."""

    text: JsonPath
    """The path of the answer's text."""


class HttpEntry(EntryModel):
    """A system with an HTTP interface."""

    kind: Literal["http"]
    version: str = Field(min_length=1)
    """Part of every call's ledger key: change it when the system changes."""
    answer: HttpAnswer
    search: HttpCall | None = None
    """The call that retrieves passages without answering; `{question}` is the query."""


class Chunking(EntryModel):
    """Settings for splitting documents into chunks, at sentence, line or word boundaries."""

    tokens: int = Field(gt=0)
    """Maximum number of tokens per chunk."""
    overlap: int = Field(default=0, ge=0)
    """Number of tokens that neighbouring chunks share."""

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        if self.overlap >= self.tokens:
            raise ValueError("overlap must be smaller than tokens")
        return self


class RagEntry(EntryModel):
    """The built-in reference RAG. The defaults are the settings of the GRAMMAR reproduction."""

    kind: Literal["rag"]
    version: str = "1"
    """Part of every call's ledger key: change it to request new answers."""
    retriever: RetrieverKind = "keyword"
    """The method for finding passages; `none` asks the model without retrieval."""
    fused: tuple[Literal["keyword", "bm25", "dense"], ...] = Field(default=("bm25", "dense"), min_length=2)
    """The retrievers whose rankings `hybrid` fuses."""
    candidates: int = Field(default=50, gt=0)
    """Number of hits that `hybrid` uses from each of its retrievers."""
    top_k: int = Field(default=1, gt=0)
    """Maximum number of passages in the prompt."""
    chunk: Chunking | None = None
    """The size of chunks; null means that whole documents are retrieved."""
    context_tokens: int = Field(default=2500, gt=0)
    """Maximum total number of tokens of the passages in a prompt, counted with `encoding`."""
    encoding: str = "gpt-4"
    """The model whose tokenizer counts tokens: a name that tiktoken knows."""
    language: str = Field(default="en", pattern=re.compile(r"^[a-z]{2,3}$").pattern)
    """The language whose tokenizer the keyword and BM25 retrievers use: a code that spaCy knows."""
    about: str = "the documents of a company"
    """How the system message describes the documents."""
    multi_turn: bool = True
    """Whether to include earlier turns in the prompt, and to rewrite the search query with these turns.

    If false, earlier turns are ignored.
    """
    exact_up_to: int = Field(default=20_000, gt=0)
    """Maximum number of chunks that `dense` compares exactly; with more chunks, it uses a vector index."""
    wording: Literal["ours", "concise"] = "ours"
    """The prompt to use without retrieval.

    With `ours`, the model may state that it does not know the answer; `concise` requests only the answer, as
    in GRAMMAR's LLM-only run (Table 4).
    """
    answerer: str = "answerer"
    """The role that answers."""
    rewriter: str = "rewriter"
    """The role that rewrites the search query from earlier turns."""
    embedder: str = "embedder"
    """The role that embeds passages and queries."""

    @model_validator(mode="after")
    def _check_wording(self) -> Self:
        if self.wording != "ours" and self.retriever != "none":
            raise ValueError("wording requires `retriever: none`")
        return self


class ReplayEntry(EntryModel):
    """Recorded answers, replayed with the passages on which the answers are based.

    The answers are published answers (`import mtrag`), or your system's answers (`evaluate --answers`,
    docs/systems.md).
    """

    kind: Literal["replay"]
    version: str = Field(pattern="^[0-9a-f]{64}$")
    """The SHA-256 hash of the file."""
    file: str = Field(min_length=1)
    """A file with one answer per line or row: JSON Lines from `import mtrag`, or your own table."""
    model: str = ""
    """The model whose answers in an imported file are replayed; empty if the file is from one system."""
    search: RagEntry | None = None
    """The settings of the retriever that finds passages for judges; if null, no passages are retrieved."""


SystemEntry = Annotated[
    CallableEntry | PlugEntry | OpenAiEntry | HttpEntry | RagEntry | ReplayEntry, Field(discriminator="kind")
]
"""One entry of `systems:`."""


def needs_documents(entry: SystemEntry) -> bool:
    """Return whether a system retrieves from documents that Benchloom provides."""
    if isinstance(entry, ReplayEntry):
        return entry.search is not None and needs_documents(entry.search)
    return isinstance(entry, RagEntry) and entry.retriever != "none"


def can_search(entry: SystemEntry) -> bool:
    """Return whether a system can retrieve without answering, which ragcheck's rule E3 requires."""
    if isinstance(entry, HttpEntry | CallableEntry):
        return entry.search is not None
    return needs_documents(entry)


def check_documents(name: str, entry: SystemEntry, given: bool, found: bool) -> None:
    """Check that required documents exist, and that a system without retrieval receives no documents.

    `given`: whether the option `--documents` was used. `found`: whether there are documents, from
    the option or in the dataset. Raises BadInput if a check fails.
    """
    if needs_documents(entry) and not found:
        raise BadInput(
            f"systems.{name}",
            "retrieves from documents, but there are no documents",
            hint="give --documents PATH, a file or folder",
        )
    if given and not needs_documents(entry):
        raise BadInput(
            "--documents", f"has no effect: the system {name!r} does not retrieve from the given documents"
        )
