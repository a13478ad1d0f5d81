"""What a stage sees of a model: it hands over a prompt and a parser, and gets an answer back.

Everything in this module shapes bytes (it decides what is sent and under which key), so every
stage that asks depends on it. How a request travels (queue, retries, ledger file) does not.
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
from pydantic import BaseModel, ConfigDict, Field

Value = TypeVar("Value")
CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
"""How requests are written to be keyed and kept. Changing it would lose every recorded call."""


class Role(BaseModel):
    """What a model is used as: `roles.<name>` in params.yaml. Changing one makes its stages stale."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    temperature: float = Field(default=0, ge=0, le=2)
    top_p: float = Field(default=1, gt=0, le=1)
    max_tokens: int = Field(default=2048, gt=0)
    """These three shape no embedding: an embedder's role needs a model alone."""
    seed: int | None = 0
    attempts: int = Field(default=3, ge=1)
    """How often an answer that does not parse is asked, the first time included."""
    constrain: Literal["grammar", "json_schema", "none"] = "none"
    """What the endpoint can decode by. `none`: the parser alone decides."""
    logprobs: bool = False
    """Whether the endpoint gives log probabilities."""


@dataclass(frozen=True)
class Prompt:
    """A prompt file rendered with its fields. `name` is the file's stem, `digest` its content's."""

    name: str
    digest: str
    messages: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Request:
    """One call, as it is sent and as it is keyed."""

    model: str
    messages: tuple[Mapping[str, str], ...]
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """temperature, top_p, max_tokens, seed, logprobs ..., by their names in the OpenAI protocol."""
    constraint: Mapping[str, Any] = field(default_factory=dict)
    """{"grammar": text} or {"json_schema": schema}, or nothing."""
    sample: int = 0
    attempt: int = 0
    epoch: str = ""
    identity: str = ""
    """The model's checksum where it is embedded: another file is another model."""

    def key(self) -> str:
        """SHA-256 of the canonical request: the ledger's key."""
        parts = {
            "model": self.model, "identity": self.identity, "messages": [dict(m) for m in self.messages],
            "decoding": dict(self.decoding), "constraint": dict(self.constraint),
            "sample": self.sample, "attempt": self.attempt, "epoch": self.epoch,
        }  # fmt: skip
        return hashlib.sha256(CANONICAL.encode(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Answer(Generic[Value]):
    """What came back. `value` is None where no attempt parsed; then `text` is the last attempt's."""

    value: Value | None
    text: str
    call: str
    """Ledger key of the attempt that `text` comes from."""
    attempts: int
    problem: str = ""
    """Why the last attempt did not parse."""
    logprobs: Sequence[Mapping[str, float]] = ()
    """For each token of `text` the likeliest ones there with their natural logarithms, where asked for."""


class Unparsed(ValueError):
    """A parser's word that a text is not an answer; its message says why."""


class Door(Protocol):
    """A way to a system under test, as `run.systems.<name>` sets it up."""

    async def post(self, path: str, body: Mapping[str, Any]) -> str:
        """Post JSON to a path behind the system's url; give the reply's text."""
        ...

    async def call(self, function: str, **arguments: object) -> str:
        """Call a Python function, `package.module:name`; give what it returned as JSON."""
        ...


Send = Callable[[Door], Awaitable[str]]
"""Puts one request to a system; only what no ledger holds is sent."""


class Ask(Protocol):
    """What a stage asks a model by."""

    async def __call__(
        self,
        prompt: str | Path,
        fields: Mapping[str, object],
        *,
        role: str,
        row: str,
        parse: Callable[[str], Value],
        grammar: str | None = None,
        schema: Mapping[str, Any] | None = None,
        sample: int = 0,
        max_tokens: int | None = None,
        top_logprobs: int = 0,
        turns: Sequence[tuple[str, str]] = (),
    ) -> Answer[Value]:
        """Ask a role one question.

        prompt: a file's stem in the stage's `prompts/` folder, or the path of a prompt that is not the
        stage's own; fields: what its Jinja2 fields hold. turns: (user, assistant) messages of an earlier
        conversation, put before the prompt's last message.
        parse: text -> value, raising Unparsed; asked again with a raised attempt until the role's
        attempts are spent. grammar / schema: handed on where the role's endpoint decodes by them.
        sample: raised to ask the same thing anew. top_logprobs: how many of the likeliest tokens are
        wanted at each place, where the role's endpoint gives them (`compare_choices` reads them);
        where it does not, `logprobs` is empty and the text alone decides. row: the id named in errors
        and in the calls artifact.

        Raises ModelFailed, BudgetSpent, CallMissing. An answer that never parses is returned, not raised.
        """
        ...

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Embed texts by a role's model; one vector a text, in their order.

        Raises ModelFailed, BudgetSpent, CallMissing.
        """
        ...

    async def system(
        self,
        name: str,
        version: str,
        request: Mapping[str, Any],
        *,
        send: Send,
        row: str,
        parse: Callable[[str], Value],
    ) -> Answer[Value]:
        """Put a request to a system under test; name, version, request and epoch are the call's key.

        request: plain JSON, all that the answer depends on. send: asked only where no ledger holds the
        call. parse: as above, but nothing is asked again: a system's answer is what it is. One that
        failed (an error status, a redirect elsewhere, a reply too large or too late) is recorded as
        such, with value None and `problem` saying why.

        Raises ModelFailed where the system cannot be reached at all, CallMissing.
        """
        ...


# A prompt is no web page: escaping would change what the model reads.
PROMPTS = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701


@dataclass(frozen=True)
class _PromptFile:
    digest: str
    parts: tuple[tuple[str, Template], ...]
    """Roles with their templates, in order."""


@lru_cache(maxsize=256)
def _read_prompt(path: Path, _changed_at: int) -> _PromptFile:
    source = path.read_text(encoding="utf-8")
    parts = []
    for part in ("\n" + source).split("\n# ")[1:]:
        heading, _, body = part.partition("\n")
        parts.append((heading.strip(), PROMPTS.from_string(body.strip())))
    return _PromptFile(hashlib.sha256(source.encode()).hexdigest(), tuple(parts))


def render_prompt(path: Path, fields: Mapping[str, object]) -> Prompt:
    """Render a prompt file: Markdown with Jinja2 fields, `# system` and `# user` as its headings.

    Raises jinja2.UndefinedError where a field is missing.
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
    schema: Mapping[str, Any] | None = None,
    sample: int = 0,
    attempt: int = 0,
    epoch: str = "",
    max_tokens: int | None = None,
    top_logprobs: int = 0,
) -> Request:
    """Turn a rendered prompt into the request that is sent and keyed."""
    decoding: dict[str, Any] = {
        "temperature": role.temperature,
        "top_p": role.top_p,
        "max_tokens": min(max_tokens or role.max_tokens, role.max_tokens),
    }
    if role.seed is not None:
        decoding["seed"] = role.seed + 1_000 * attempt + sample
    if role.logprobs and top_logprobs:
        decoding |= {"logprobs": True, "top_logprobs": top_logprobs}
    constraint: dict[str, Any] = {}
    if role.constrain == "grammar" and grammar is not None:
        constraint = {"grammar": grammar}
    elif role.constrain == "json_schema" and schema is not None:
        constraint = {"json_schema": schema}
    return Request(role.model, prompt.messages, decoding, constraint, sample, attempt, epoch, identity)
