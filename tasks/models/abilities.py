"""Probe an endpoint with a few short requests: whether it answers, and which features it supports."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx2

from tasks.errors import ModelFailed, ModelRefused
from tasks.models.ask import Request, Role, Tool
from tasks.models.logprobs import read_logprobs
from tasks.models.recording.entries import LedgerEntry
from tasks.models.request_builder import make_embedding, read_vector
from tasks.models.sending.adapting import MAX_COMPLETION_TOKENS, MAX_TOKENS
from tasks.models.sending.client import ModelClient
from tasks.models.sending.failures import SENDING_ERRORS
from tasks.models.settings import Endpoint

RETRIES, DEADLINE_S = 1, 120.0
"""Number of retries, and deadline in seconds, for a probe's calls; both are lower than in a run, because a
person waits for the result."""
SHORT, LONG = 64, 2048
"""Maximum number of tokens in a reply: SHORT for an ordinary model, LONG for a model that reasons before it
answers."""
OMITTED = ("temperature", "top_p", "seed")
"""Decoding parameters that some models refuse; the error message then contains the parameter's name."""
QUESTION = "What colour is a ripe tomato? Answer in one plain sentence."
"""A question whose natural answer matches none of the tested constraints. A matching reply shows that the
endpoint enforced the constraint."""
WOODS = ("walnut", "cedar")
"""The only answers that the test grammar and the test schema allow."""
GRAMMAR = "root ::= " + " | ".join(f'"{wood}"' for wood in WOODS)
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"wood": {"type": "string", "enum": list(WOODS)}},
    "required": ["wood"],
    "additionalProperties": False,
}
TOOL = Tool(
    "look_up",
    "Looks words up in an encyclopedia.",
    {"type": "object", "properties": {"words": {"type": "string", "title": "Words"}}, "required": ["words"]},
)
WINDOWS = ("max_model_len", "context_length", "context_window", "n_ctx")
"""Names that servers use for the context length in their lists of models."""

OpenClient = Callable[[Endpoint], ModelClient]


@dataclass(frozen=True)
class Abilities:
    """The features that a model at an endpoint supports.

    `context`: context length in tokens; None if the endpoint does not report it.
    """

    json_schema: bool = False
    grammar: bool = False
    tools: bool = False
    logprobs: bool = False
    reasons: bool = False
    """Whether the model reasons before it answers; `max_tokens` must then also cover the reasoning."""
    embeds: int = 0
    """Length of an embedding vector; 0 for a model that generates text."""
    context: int | None = None
    unanswered: tuple[str, ...] = ()
    """Names of the fields above whose probe got no reply; support for these features is unknown."""

    def choose_constrain(self, *, embedded: bool, writes: bool = False) -> str:
        """Return the best value of `constrain` for a role that uses this model.

        A grammar is preferred for an embedded model, because the model runs on this machine; tool calls are
        preferred for any other model. `writes`: whether the role writes SQL and questions. Such a role gets
        no JSON schema, because a schema would restrict the SQL and the questions. For an embedded model,
        `writes` has no effect.
        """
        known = ("tools", "grammar") if writes else ("tools", "json_schema", "grammar")
        order = ("grammar", "json_schema", "tools") if embedded else known
        return next((name for name in order if getattr(self, name)), "none")


class EndpointTrial:
    """A probe of one model's features; refused parameters are added to `endpoint.omit`."""

    def __init__(self, name: str, endpoint: Endpoint, open_client: OpenClient) -> None:
        self.name, self.endpoint, self._open = name, endpoint, open_client
        self._tokens = SHORT
        self._unanswered: list[str] = []

    async def run(self) -> Abilities:
        """Probe the model's features with short requests. Raises ModelFailed or BadInput."""
        reasons = await self._ask_one_token()
        schema = await self._try("json_schema", {"json_schema": SCHEMA})
        grammar = await self._try("grammar", {"grammar": GRAMMAR})
        called = await self._try("tools", {"tools": [TOOL.describe()]})
        numbers = await self._try("logprobs", logprobs=True, top_logprobs=5)
        return Abilities(
            json_schema=schema is not None and is_held(schema.text),
            grammar=grammar is not None and grammar.text.strip() in WOODS,
            tools=called is not None
            and called.finish_reason == "tool_calls"
            and called.text.startswith("Words: "),
            logprobs=numbers is not None and bool(read_logprobs(numbers.extra)),
            reasons=reasons,
            context=await self._read_context(),
            unanswered=tuple(self._unanswered),
        )

    async def embed(self) -> Abilities:
        """Embed one text; return the vector length and the context length as abilities.

        Raises ModelFailed or BadInput.
        """
        entry = await self._send(make_embedding("A ripe tomato is red.", Role(model=self.name)))
        return Abilities(embeds=len(read_vector(entry.extra)), context=await self._read_context())

    async def _ask_one_token(self) -> bool:
        """Request one token, then a long reply if there was no text; return whether the model reasons."""
        with suppress(ModelRefused):  # a reasoning model may refuse a limit of one token
            if (await self._send(self._make(1))).text.strip():
                return False
        entry = await self._send(self._make(LONG))
        if not entry.text.strip():
            raise ModelFailed(
                f"{self.name}: the endpoint sent an empty reply, even with a limit of {LONG} tokens"
            )
        reasons = bool(entry.reasoning) or entry.completion_tokens > SHORT
        self._tokens = LONG if reasons else SHORT
        return reasons

    async def _try(
        self, form: str, constraint: Mapping[str, object] | None = None, **decoding: object
    ) -> LedgerEntry | None:
        """Test one feature; return None if the endpoint refuses the request or does not answer.

        `form`: the feature's name. After any other failure, the feature is recorded as unanswered. The
        server may not know a field of the request, or may be overloaded.
        """
        try:
            return await self._send(self._make(self._tokens, constraint, **decoding))
        except ModelRefused:
            return None
        except ModelFailed:
            self._unanswered.append(form)
            return None

    def _make(
        self, tokens: int, constraint: Mapping[str, object] | None = None, **decoding: object
    ) -> Request:
        usual = {"temperature": 0.0, "top_p": 1.0, "max_tokens": tokens, "seed": 0}
        message = {"role": "user", "content": QUESTION}
        return Request(self.name, (message,), {**usual, **decoding}, constraint or {})

    async def _send(self, request: Request) -> LedgerEntry:
        """Send a request, and resend it without each parameter that the endpoint refuses by name.

        Raises ModelFailed if there is no reply, and ModelRefused if the endpoint refuses the request.
        """
        while True:
            limits = {"retries": RETRIES, "deadline_s": min(self.endpoint.deadline_s, DEADLINE_S)}
            client, key = self._open(self.endpoint.model_copy(update=limits)), request.key()
            try:
                entry = (await client.send({key: request}))[key].entry
                failed = ModelRefused(f"{self.name}: {entry.text}") if entry.is_unanswered else None
            except ModelRefused as error:
                failed = error
            finally:
                if MAX_TOKENS in client.find_endpoint(self.name).adapter.refused:
                    self.endpoint = self.endpoint.model_copy(update={"token_limit": MAX_COMPLETION_TOKENS})
                await client.close()
            if failed is None:
                return entry
            self._learn(failed)

    def _learn(self, failed: ModelRefused) -> None:
        """Add the refused parameter to `endpoint.omit`; re-raise a refusal that names no new parameter."""
        named = [word for word in OMITTED if word in str(failed) and word not in self.endpoint.omit]
        if not named:
            raise failed
        self.endpoint = self.endpoint.model_copy(update={"omit": (*self.endpoint.omit, named[0])})

    async def _read_context(self) -> int | None:
        """Return the context length from the endpoint's list of models; None if the list gives no length."""
        if self.endpoint.kind != "openai" or self.endpoint.url is None:
            return None
        client = self._open(self.endpoint)
        try:
            opened = client.find_endpoint(self.name).open(self.endpoint.url)
            listed = json.loads((await opened.get("/models", cast_to=httpx2.Response)).content)
        except (*SENDING_ERRORS, ValueError, RecursionError):
            return None
        finally:
            await client.close()
        return find_context(listed, self.endpoint.served_model or self.name)


def is_held(text: str) -> bool:
    """Return whether a reply is a JSON object that matches SCHEMA."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and list(value) == ["wood"] and value["wood"] in WOODS


def find_context(listed: Any, served: str) -> int | None:
    """Return a model's context length from an endpoint's list of models; None if no WINDOWS field has it."""
    models = listed.get("data") if isinstance(listed, dict) else None
    for model in models if isinstance(models, list) else ():
        if isinstance(model, dict) and model.get("id") == served:
            meta = model.get("meta")
            details: dict[str, Any] = meta if isinstance(meta, dict) else {}
            sizes = [model.get(name, details.get(name)) for name in WINDOWS]
            return next((size for size in sizes if type(size) is int and 0 < size < 10**9), None)
    return None
