"""The interface through which stages call models: a stage passes a prompt and a parser, and gets an answer.

This module determines the content and the ledger key of each request, and so the bytes of artifacts. Every
stage that calls a model therefore depends on this module. Other modules send the requests; their code (rate
limits, retries, ledger file) does not affect artifacts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

from jinja2 import Environment, StrictUndefined, Template
from pydantic import Field

from tasks.settings import Settings

Value = TypeVar("Value")
CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
"""The JSON encoding whose hash is the ledger key. If the encoding changes, no recorded call is found."""
MAX_TEXT = 5_000_000
"""Maximum length in characters of a system's answer; longer answers are not parsed."""
MIN_TEXT, CHARACTERS_PER_TOKEN = 10_000, 100
"""Maximum length of a model's answer to parse, in characters: the larger of MIN_TEXT and CHARACTERS_PER_TOKEN
times `max_tokens`."""


class Role(Settings):
    """A model and its decoding parameters: `roles.<name>` in params.yaml.

    A change to a role makes the stages that use the role stale.
    """

    model: str
    """A name under `models` or `run.endpoints`."""
    temperature: float = Field(default=0, ge=0, le=2)
    """The sampling temperature."""
    top_p: float = Field(default=1, gt=0, le=1)
    """The cumulative probability of the tokens to sample from (nucleus sampling)."""
    max_tokens: int = Field(default=2048, gt=0)
    """Maximum number of tokens of an answer. A role for embeddings needs only `model`."""
    seed: int | None = 0
    """The sampling seed that is sent to the endpoint; null sends no seed."""
    attempts: int = Field(default=3, ge=1)
    """Maximum number of calls per question; a question is repeated until an answer parses."""
    constrain: Literal["grammar", "json_schema", "tools", "none"] = "none"
    """The constraint that the endpoint supports: a GBNF grammar, a JSON schema or tool calls. With `none`,
    only the parser checks replies."""
    logprobs: bool = False
    """Whether the endpoint returns log probabilities."""
    cut: Literal["judge", "fail"] = "judge"
    """Whether a reply that `max_tokens` cut off counts as an answer (`judge`) or as a failure (`fail`)."""
    filtered: Literal["judge", "fail"] = "fail"
    """Whether a reply that the provider's content filter cut off counts as an answer (`judge`) or as a
    failure (`fail`)."""

    def refuse(self, finish_reason: str) -> str:
        """Return why a cut-off or filtered reply does not count as an answer, or "" if the reply counts."""
        if finish_reason == "length" and self.cut == "fail":
            return f"the reply was cut at max_tokens {self.max_tokens}"
        if finish_reason == "content_filter" and self.filtered == "fail":
            return "the provider's content filter ended the reply"
        return ""


@dataclass(frozen=True)
class Prompt:
    """A rendered prompt file. `name`: the file's stem. `digest`: the SHA-256 of the file's content."""

    name: str
    digest: str
    messages: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Tool:
    """A function that a model may call instead of replying in text.

    `parameters`: a JSON schema of objects, arrays and strings. tasks/models/tools.py converts a tool call
    to text. In this text, the `title` of a string property is the label of its line, and an object without
    properties is represented by its `title`.
    """

    name: str
    description: str
    parameters: Mapping[str, object]

    def describe(self) -> dict[str, object]:
        """Return the tool as a JSON object for requests and for the ledger key."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


@dataclass(frozen=True)
class Request:
    """A model call before it is sent; the ledger key is computed from these fields."""

    model: str
    messages: tuple[Mapping[str, str], ...]
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """Decoding parameters with the OpenAI protocol's names: temperature, top_p, max_tokens, seed, logprobs
    and so on."""
    constraint: Mapping[str, object] = field(default_factory=dict)
    """The output constraint: {"grammar": text}, {"json_schema": schema}, {"tools": [tool, ...]}, or an empty
    mapping for none."""
    sample: int = 0
    attempt: int = 0
    epoch: str = ""
    identity: str = ""
    """The checksum of an embedded model's file, so that a different file counts as a different model."""

    def key(self) -> str:
        """Return the ledger key: the SHA-256 of the canonical JSON of the request."""
        parts = {
            "model": self.model, "identity": self.identity, "messages": [dict(m) for m in self.messages],
            "decoding": dict(self.decoding), "constraint": dict(self.constraint),
            "sample": self.sample, "attempt": self.attempt, "epoch": self.epoch,
        }  # fmt: skip
        return hashlib.sha256(CANONICAL.encode(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Answer(Generic[Value]):
    """A parsed answer. If no attempt parsed, `value` is None and `text` is the reply of the last attempt."""

    value: Value | None
    text: str
    call: str
    """Ledger key of the attempt that produced `text`."""
    attempts: int
    problem: str = ""
    """Why the last attempt did not parse."""
    logprobs: Sequence[Mapping[str, float]] = ()
    """For each token of `text`, the log probabilities of the most likely tokens, if requested."""
    unanswered: bool = False
    """Whether there was no usable reply, or the endpoint refused the request."""


class Unparsed(ValueError):
    """Raised by a parser if a text is not a valid answer; the message states the reason."""


def try_parse(
    parse: Callable[[str], Value], text: str, max_tokens: int | None = None
) -> tuple[Value | None, str | None]:
    """Parse an answer; return (value, None), or (None, reason) if the text does not parse.

    Any exception in the parser counts as a failure to parse, because the recorded text would cause the same
    exception in every run. `max_tokens`: the token limit of a model's answer, which determines the maximum
    length of the text; None for a system's answer.
    """
    longest = MAX_TEXT if max_tokens is None else max(MIN_TEXT, CHARACTERS_PER_TOKEN * max_tokens)
    if len(text) > longest:
        return None, f"unreadable: more than {longest:,} characters"
    try:
        return parse(text), None
    except Unparsed as error:
        return None, str(error) or "did not parse"
    except Exception as error:  # noqa: BLE001 - see above
        return None, f"unreadable: {type(error).__name__}"


class Transport(Protocol):
    """A connection to a system under test, configured by `run.systems.<name>`."""

    async def post(self, path: str, body: Mapping[str, object]) -> str:
        """Post a JSON body to a path below the system's URL; return the text of the response."""
        ...

    async def call(self, function: str, **arguments: object) -> str:
        """Call a Python function given as `package.module:name`; return its result as JSON."""
        ...


Send = Callable[[Transport], Awaitable[str]]
"""A function that sends one request to a system under test; called only if no ledger contains the call."""


class Embed(Protocol):
    """The interface for embedding texts; a stage with an `ask` of this type has no prompts."""

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Embed texts with a role's model; return one vector per text, in the order of the texts.

        Raises ModelFailed, BudgetSpent or CallMissing.
        """
        ...


class Ask(Embed, Protocol):
    """The interface through which stages call models and systems under test."""

    async def __call__(
        self,
        prompt: str | Path,
        fields: Mapping[str, object],
        *,
        role: str,
        row: str,
        parse: Callable[[str], Value],
        grammar: str | None = None,
        schema: Mapping[str, object] | None = None,
        sample: int = 0,
        max_tokens: int | None = None,
        top_logprobs: int = 0,
        turns: Sequence[tuple[str, str]] = (),
        tools: Sequence[Tool] = (),
    ) -> Answer[Value]:
        """Send a question to a role's model, and return the parsed answer.

        `prompt`: the stem of a file in the stage's `prompts/` folder, or the path of another prompt file.
        `fields`: the values of the file's Jinja2 fields. `turns`: (user, assistant) messages of an earlier
        conversation, inserted before the prompt's last message.

        `parse`: converts the text to a value, or raises Unparsed. After Unparsed, the question is repeated
        with the next attempt number, up to the role's attempts. `parse` receives a tool call as text
        (tasks/models/tools.py). `grammar`, `schema`, `tools`: constraints, sent if the role's endpoint
        supports them.

        `sample`: a number that distinguishes repetitions of the same question. `top_logprobs`: number of most
        likely tokens to return per position (see `compare_choices`). `Answer.logprobs` is empty if the role's
        endpoint does not support log probabilities. `row`: the id of the row, for errors and the calls
        artifact.

        Raises ModelFailed, BudgetSpent or CallMissing. If no reply parses, the answer's value is None.
        """
        ...

    async def system(
        self,
        name: str,
        version: str,
        request: Mapping[str, object],
        *,
        send: Send,
        row: str,
        parse: Callable[[str], Value],
    ) -> Answer[Value]:
        """Send a request to a system under test; its ledger key covers name, version, request and epoch.

        `request`: JSON values that determine the answer. `send`: called only if no ledger contains the call.
        `parse`: as in `__call__`, but the request is not repeated if the text does not parse.

        A failure of the system is recorded: the answer's value is then None, and `problem` is the reason.
        Failures are an error status, a redirect to another host, and a response that is too large or too
        late.

        Raises ModelFailed if the system cannot be reached, and CallMissing if a replay finds no recorded
        call.
        """
        ...


# Prompts are not HTML, so escaping would change their text.
PROMPTS = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701


@dataclass(frozen=True)
class _PromptFile:
    digest: str
    parts: tuple[tuple[str, Template], ...]
    """The prompt's messages in order, each as (message role, template)."""


@lru_cache(maxsize=256)
def _read_prompt(path: Path, _changed_at: int) -> _PromptFile:
    source = path.read_text(encoding="utf-8")
    parts = []
    for part in ("\n" + source).split("\n# ")[1:]:
        heading, _, body = part.partition("\n")
        parts.append((heading.strip(), PROMPTS.from_string(body.strip())))
    return _PromptFile(hashlib.sha256(source.encode()).hexdigest(), tuple(parts))


def render_prompt(path: Path, fields: Mapping[str, object]) -> Prompt:
    """Render a prompt file: Markdown with Jinja2 fields, and a heading (`# system`, `# user`) per message.

    Raises jinja2.UndefinedError if a field is missing.
    """
    file = _read_prompt(path, path.stat().st_mtime_ns)
    messages = tuple({"role": role, "content": part.render(fields).strip()} for role, part in file.parts)
    return Prompt(path.stem, file.digest, messages)


def make_request(
    prompt: Prompt,
    role: Role,
    *,
    identity: str = "",
    grammar: str | None = None,
    schema: Mapping[str, object] | None = None,
    sample: int = 0,
    attempt: int = 0,
    epoch: str = "",
    max_tokens: int | None = None,
    top_logprobs: int = 0,
    tools: Sequence[Tool] = (),
) -> Request:
    """Return the request for a rendered prompt, with the role's decoding parameters, seed and constraint."""
    decoding: dict[str, object] = {
        "temperature": role.temperature,
        "top_p": role.top_p,
        "max_tokens": min(max_tokens or role.max_tokens, role.max_tokens),
    }
    if role.seed is not None:
        # The factor keeps the seeds of attempts distinct for up to 1,000 samples.
        decoding["seed"] = role.seed + 1_000 * attempt + sample
    if role.logprobs and top_logprobs:
        decoding |= {"logprobs": True, "top_logprobs": top_logprobs}
    constraint: dict[str, object] = {}
    if role.constrain == "grammar" and grammar is not None:
        constraint = {"grammar": grammar}
    elif role.constrain == "json_schema" and schema is not None:
        constraint = {"json_schema": schema}
    elif role.constrain == "tools" and tools:
        constraint = {"tools": [tool.describe() for tool in tools]}
    return Request(role.model, prompt.messages, decoding, constraint, sample, attempt, epoch, identity)
