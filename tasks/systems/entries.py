"""Systems under test as params.yaml names them: `systems: {<name>: {kind: ..., ...}}`.

What shapes an answer stands here. Where a system is reached, by which key and how patiently stands
under `run.systems.<name>`, on which no stage depends.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

RetrieverKind = Literal["keyword", "bm25", "dense", "hybrid", "none"]
FUNCTION = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"


class StrictModel(BaseModel):
    """Refuses a key that it does not know: a typing slip must not be read as a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def check_path(text: str) -> str:
    """Refuse what is no JMESPath expression."""
    try:
        jmespath.compile(text)
    except JMESPathError as error:
        raise ValueError(f"is no JMESPath expression ({' '.join(str(error).split())})") from None
    return text


JsonPath = Annotated[str, AfterValidator(check_path)]


class CallableEntry(StrictModel):
    """A Python function of the user's own; docs/systems.md says what it is given and may give."""

    kind: Literal["callable"]
    version: str = Field(min_length=1)
    """Part of every call's key: raise it when the code behind the function changes."""
    function: str = Field(pattern=FUNCTION)
    """`package.module:name`."""
    search: str | None = Field(default=None, pattern=FUNCTION)
    """The function that retrieves without answering, where there is one."""


class PlugEntry(StrictModel):
    """Functions of the user's own by name: a file of the project, or a module of an installed package."""

    kind: Literal["plug"]
    plug: str = Field(default="", pattern=r"^([A-Za-z_][\w-]*)?$")
    """The file's name, tasks/systems/own/<name>.py, or the entry point's; the system's own where empty."""
    version: str = ""
    """The installed package's; a file's is the hash of its text."""
    record: str = ""
    """The digest of the installed package's files."""
    search: bool = False
    """Whether it has a function `search`, which retrieves without answering."""


class OpenAiEntry(StrictModel):
    """An endpoint that speaks the OpenAI protocol and is asked the bare question."""

    kind: Literal["openai"]
    version: str = "1"
    role: str = "answerer"
    """Under `roles:`; its `model` names the endpoint."""
    instructions: str = ""
    """A system message; none where empty."""
    multi_turn: bool = True
    """Whether earlier turns are sent, as messages of their own."""


class HttpCall(StrictModel):
    """One POST to a system, and where its JSON reply holds what was retrieved (JMESPath).

    With `passages`, the paths below it are read in each member of that list. Without, each of them
    names a list of its own, all of one length.
    """

    path: str = Field(default="", pattern=r"^(/[^\s?#]*)?$")
    """Behind the url of `run.systems.<name>`."""
    body: dict[str, Any]
    """Strings in it may hold `{question}`; `"{history}"` alone becomes the list of earlier turns, and
    `"{messages}"` the whole conversation as the OpenAI protocol writes it."""
    passages: JsonPath | None = None
    """What was retrieved, best first."""
    contexts: JsonPath | None = None
    """The retrieved texts."""
    ids: JsonPath | None = None
    """Their documents' ids."""
    titles: JsonPath | None = None
    scores: JsonPath | None = None

    @field_validator("body")
    @classmethod
    def _check_body(cls, body: dict[str, Any]) -> dict[str, Any]:
        if not _carries_question(body):
            raise ValueError(
                "holds neither {question} nor a string that is {messages}: no question would get there"
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
    """The answer."""


class HttpEntry(StrictModel):
    """A system behind HTTP."""

    kind: Literal["http"]
    version: str = Field(min_length=1)
    """Part of every call's key: raise it when the system changes."""
    answer: HttpAnswer
    search: HttpCall | None = None
    """The call that retrieves without answering, where there is one; `{question}` is the query."""


class Chunking(StrictModel):
    """How documents are cut: at the best of sentences, lines and words within so many tokens."""

    tokens: int = Field(gt=0)
    overlap: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        if self.overlap >= self.tokens:
            raise ValueError("overlap must be smaller than tokens")
        return self


class RagEntry(StrictModel):
    """The reference RAG that is built in. Its defaults are GRAMMAR's reproduction setting."""

    kind: Literal["rag"]
    version: str = "1"
    retriever: RetrieverKind = "keyword"
    fused: tuple[Literal["keyword", "bm25", "dense"], ...] = Field(default=("bm25", "dense"), min_length=2)
    """Whose rankings `hybrid` fuses."""
    candidates: int = Field(default=50, gt=0)
    """How deep each of them is read."""
    top_k: int = Field(default=1, gt=0)
    """Passages in the prompt."""
    chunk: Chunking | None = None
    """None: documents are retrieved whole."""
    context_tokens: int = Field(default=2500, gt=0)
    """The most that all passages of a prompt may have, counted by `encoding`."""
    encoding: str = "gpt-4"
    """Whose tokens are counted: a name that tiktoken knows."""
    language: str = Field(default="en", pattern=re.compile(r"^[a-z]{2,3}$").pattern)
    """Whose words the keyword and BM25 retrievers look for: a language of spaCy's."""
    about: str = "the documents of a company"
    """What the system message says the sources are about."""
    multi_turn: bool = True
    """Whether history is in the prompt, and the search query written from it. Else each question is new."""
    exact_up_to: int = Field(default=20_000, gt=0)
    """Passages up to which `dense` compares with all of them; above, with those of a vector index."""
    answerer: str = "answerer"
    rewriter: str = "rewriter"
    embedder: str = "embedder"
    """Names under `roles:`."""


SystemEntry = Annotated[
    CallableEntry | PlugEntry | OpenAiEntry | HttpEntry | RagEntry, Field(discriminator="kind")
]
"""One entry of `systems:`."""
