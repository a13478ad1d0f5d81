"""The interface by which stages ask models: a prompt and a parser in, an answer out.

Everything in this module shapes bytes (what is sent, and under which ledger key), so every stage that
asks depends on it. How a request is sent (rate limits, retries, ledger file) does not shape bytes.
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
"""The JSON encoding that ledger keys are hashed from. Changing it would lose every recorded call."""
MAX_TEXT = 5_000_000
"""In characters: a longer answer of a system is not parsed."""
MIN_TEXT, CHARACTERS_PER_TOKEN = 10_000, 100
"""A model's answer is parsed up to so many characters in any case, and so many for each of its tokens."""


class Role(Settings):
    """A model and its decoding parameters: `roles.<name>` in params.yaml. A change makes stages stale."""

    model: str
    """A name under `models` or `run.endpoints`."""
    temperature: float = Field(default=0, ge=0, le=2)
    """The sampling temperature."""
    top_p: float = Field(default=1, gt=0, le=1)
    """The share of probability that is sampled from (nucleus sampling)."""
    max_tokens: int = Field(default=2048, gt=0)
    """Maximum number of tokens of an answer. An embedder's role needs only a model."""
    seed: int | None = 0
    """The sampling seed that the endpoint is sent; null sends none."""
    attempts: int = Field(default=3, ge=1)
    """Maximum number of calls until an answer parses."""
    constrain: Literal["grammar", "json_schema", "tools", "none"] = "none"
    """The constraint that the endpoint supports: a GBNF grammar, a JSON schema or tool calls. With `none`,
    only the parser checks replies."""
    logprobs: bool = False
    """Whether the endpoint returns log probabilities."""
    cut: Literal["judge", "fail"] = "judge"
    """Whether a reply that `max_tokens` cut counts as an answer."""
    filtered: Literal["judge", "fail"] = "fail"
    """Whether a reply that the provider's content filter ended counts as an answer."""

    def refuse(self, finish_reason: str) -> str:
        """Say why a reply that did not end by itself does not count as an answer; empty if it does."""
        if finish_reason == "length" and self.cut == "fail":
            return f"the reply was cut at max_tokens {self.max_tokens}"
        if finish_reason == "content_filter" and self.filtered == "fail":
            return "the provider's content filter ended the reply"
        return ""


@dataclass(frozen=True)
class Prompt:
    """A prompt file rendered with its fields. `name` is the file's stem, `digest` its content's."""

    name: str
    digest: str
    messages: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Tool:
    """A function that a model may call instead of replying in text.

    parameters: a JSON schema of objects, lists and texts. The `title` of a text is its label in the reply as
    text (tasks/models/tools.py); that of an object without properties is the whole reply.
    """

    name: str
    description: str
    parameters: Mapping[str, object]

    def describe(self) -> dict[str, object]:
        """Return the tool as it is sent, and as it is part of the ledger key."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


@dataclass(frozen=True)
class Request:
    """A model call, as it is sent and as its ledger key is computed."""

    model: str
    messages: tuple[Mapping[str, str], ...]
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """temperature, top_p, max_tokens, seed, logprobs ..., by their names in the OpenAI protocol."""
    constraint: Mapping[str, object] = field(default_factory=dict)
    """{"grammar": text}, {"json_schema": schema} or {"tools": [tool, ...]}, or nothing."""
    sample: int = 0
    attempt: int = 0
    epoch: str = ""
    identity: str = ""
    """The checksum of an embedded model's file: another file is another model."""

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
    """A parsed answer. `value` is None if no attempt parsed; then `text` is the last attempt's."""

    value: Value | None
    text: str
    call: str
    """Ledger key of the attempt that `text` comes from."""
    attempts: int
    problem: str = ""
    """Why the last attempt did not parse."""
    logprobs: Sequence[Mapping[str, float]] = ()
    """For each token of `text`, the most likely tokens with their log probabilities, if requested."""
    unanswered: bool = False
    """Whether no reply came: the endpoint refused the request, or sent nothing usable."""


class Unparsed(ValueError):
    """Raised by a parser for a text that is not an answer; the message says why."""


def try_parse(
    parse: Callable[[str], Value], text: str, max_tokens: int | None = None
) -> tuple[Value | None, str | None]:
    """Parse an answer; return (value, None), or (None, reason) if it does not parse.

    The text is in the ledger and comes back with every run, so whatever a parser raises for it means that it
    does not parse. max_tokens: of a model's answer; one that is far longer is not parsed.
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
    """A connection to a system under test, as `run.systems.<name>` sets it up."""

    async def post(self, path: str, body: Mapping[str, object]) -> str:
        """Post JSON to a path below the system's URL; return the reply's text."""
        ...

    async def call(self, function: str, **arguments: object) -> str:
        """Call a Python function, `package.module:name`; return its result as JSON."""
        ...


Send = Callable[[Transport], Awaitable[str]]
"""Send one request to a system; called only if no ledger holds the call."""


class Embed(Protocol):
    """The interface by which a stage embeds texts. One that annotates its `ask` so asks by no prompt."""

    async def embed(self, texts: Sequence[str], *, role: str, row: str) -> list[list[float]]:
        """Embed texts with a role's model; return one vector per text, in their order.

        Raises ModelFailed, BudgetSpent, CallMissing.
        """
        ...


class Ask(Embed, Protocol):
    """The interface by which a stage asks models and systems."""

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
        """Ask a role one question.

        prompt: the stem of a file in the stage's `prompts/` folder, or the path of another prompt.
        fields: the values of its Jinja2 fields. turns: (user, assistant) messages of an earlier
        conversation, inserted before the prompt's last message.
        parse: text -> value, raising Unparsed; then the question is asked again with the next attempt
        number, up to the role's attempts. grammar / schema / tools: sent if the role's endpoint supports
        them; a call of a tool comes to `parse` as text (tasks/models/tools.py).
        sample: another number asks the same question again. top_logprobs: how many of the most likely
        tokens to return per position, if the role's endpoint supports it (see `compare_choices`); if
        not, `Answer.logprobs` is empty. row: the id named in errors and in the calls artifact.

        Raises ModelFailed, BudgetSpent, CallMissing. An answer that never parses is returned, not raised.
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
        """Send a request to a system under test; name, version, request and epoch make the ledger key.

        request: plain JSON, all that the answer depends on. send: called only if no ledger holds the
        call. parse: as above, but nothing is asked again. A failure of the system (an error status, a
        redirect to another host, a reply too large or too late) is recorded as such: value is None and
        `problem` says why.

        Raises ModelFailed if the system cannot be reached at all, CallMissing.
        """
        ...


# Prompts are not HTML: escaping would change what the model reads.
PROMPTS = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701


@dataclass(frozen=True)
class _PromptFile:
    digest: str
    parts: tuple[tuple[str, Template], ...]
    """(message role, template), in order."""


@lru_cache(maxsize=256)
def _read_prompt(path: Path, _changed_at: int) -> _PromptFile:
    source = path.read_text(encoding="utf-8")
    parts = []
    for part in ("\n" + source).split("\n# ")[1:]:
        heading, _, body = part.partition("\n")
        parts.append((heading.strip(), PROMPTS.from_string(body.strip())))
    return _PromptFile(hashlib.sha256(source.encode()).hexdigest(), tuple(parts))


def render_prompt(path: Path, fields: Mapping[str, object]) -> Prompt:
    """Render a prompt file: Markdown with Jinja2 fields, a message under each `# system`, `# user`.

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
    """Build the request for a rendered prompt: decoding parameters, seed and constraint by the role."""
    decoding: dict[str, object] = {
        "temperature": role.temperature,
        "top_p": role.top_p,
        "max_tokens": min(max_tokens or role.max_tokens, role.max_tokens),
    }
    if role.seed is not None:
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
