"""Build a stage's requests and parse their answers, in the same way for live, replayed and planned runs.

Embeddings and calls to a system under test are also requests, each with a single message. These requests are
keyed, recorded and replayed like model calls. The system's name is stored as the model, and the system's
version as the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from tasks.errors import BadInput
from tasks.models.ask import CANONICAL, Prompt, Request, Role, make_request, render_prompt, try_parse
from tasks.models.recording.entries import LedgerEntry

CALL, INPUT = "call", "input"
"""Message role in a request with one message: CALL for a call to a system under test, INPUT for a text to
embed."""
FAILED = "failed"
"""The finish reason of a failed call to a system; the entry's text contains the reason."""
DIGITS = 10
"""Number of significant digits of stored embeddings; 10 digits represent every float32 exactly."""
SPEAKERS = ("user", "assistant")
"""Roles of the two messages of an earlier turn, in order."""
Value = TypeVar("Value")


class RequestBuilder:
    """Builds a stage's requests from its prompts and roles."""

    def __init__(
        self,
        stage: str,
        prompts: Path,
        roles: Mapping[str, Role],
        *,
        identities: Mapping[str, str] | None = None,
        earlier: Mapping[str, Sequence[str]] | None = None,
        epoch: str = "",
    ) -> None:
        """Store the stage's prompts and roles.

        `prompts`: the stage's prompt folder. `identities`: model name -> identity, a part of the ledger key.
        The identity is the checksum of an embedded model, or a string that distinguishes models of the same
        name at different endpoints (`Endpoint.identities`). `earlier`: model name -> earlier identities,
        whose recorded answers are still valid.
        """
        self.stage, self.prompts, self.roles = stage, prompts, roles
        self.identities, self.earlier, self.epoch = identities or {}, earlier or {}, epoch

    def role(self, name: str) -> Role:
        """Return the role with the given name.

        Raises BadInput with the parameter's name if the role is missing.
        """
        if name not in self.roles:
            known = ", ".join(sorted(self.roles)) or "none"
            raise BadInput(
                f"params.yaml: roles.{name}", f"is missing, but {self.stage} needs this role (known: {known})"
            )
        return self.roles[name]

    def render(
        self, prompt: str | Path, fields: Mapping[str, object], turns: Sequence[tuple[str, str]] = ()
    ) -> Prompt:
        """Render a prompt, with earlier turns before the last message.

        Raises BadInput if the prompt is missing.
        """
        path = prompt if isinstance(prompt, Path) else self.prompts / f"{prompt}.md"
        try:
            rendered = render_prompt(path, fields)
        except FileNotFoundError as error:
            raise BadInput(path, f"is missing, but {self.stage} needs this prompt") from error
        if not turns:
            return rendered
        earlier = [
            {"role": role, "content": text}
            for turn in turns
            for role, text in zip(SPEAKERS, turn, strict=True)
        ]
        return replace(rendered, messages=(*rendered.messages[:-1], *earlier, rendered.messages[-1]))

    def request(self, prompt: Prompt, role: Role, attempt: int, **options: Any) -> Request:
        """Return the request of one attempt. `options`: keyword arguments of `make_request`."""
        identity = self.identities.get(role.model, "")
        return make_request(prompt, role, identity=identity, attempt=attempt, epoch=self.epoch, **options)

    def embedding(self, text: str, role: Role) -> Request:
        """Return the request that embeds a text."""
        return make_embedding(text, role, identity=self.identities.get(role.model, ""), epoch=self.epoch)

    def list_variants(self, request: Request) -> list[Request]:
        """Return a copy of the request for each identity of the model, the current identity first."""
        earlier = self.earlier.get(request.model, ())
        return [request, *(replace(request, identity=identity) for identity in earlier)]

    def system_call(self, name: str, version: str, request: Mapping[str, object]) -> Request:
        """Return the request of one call to a system under test."""
        return make_system_call(name, version, request, epoch=self.epoch)


def make_system_call(name: str, version: str, request: Mapping[str, object], *, epoch: str = "") -> Request:
    """Return the request of a call to a system, without decoding parameters."""
    message = {"role": CALL, "content": CANONICAL.encode(dict(request))}
    return Request(name, (message,), epoch=epoch, identity=version)


def is_system_call(request: Request) -> bool:
    """Return whether a request goes to a system under test."""
    return request.messages[0]["role"] == CALL


def read_system(entry: LedgerEntry, parse: Callable[[str], Value]) -> tuple[Value | None, str | None]:
    """Parse a system's answer; return (value, None), or (None, reason) after a failure."""
    if entry.finish_reason == FAILED:
        return None, entry.text
    return try_parse(parse, entry.text)


def make_embedding(text: str, role: Role, *, identity: str = "", epoch: str = "") -> Request:
    """Return the request that embeds one text, without decoding parameters."""
    return Request(role.model, ({"role": INPUT, "content": text},), epoch=epoch, identity=identity)


def is_embedding(request: Request) -> bool:
    """Return whether a request asks for an embedding vector."""
    return request.messages[0]["role"] == INPUT


def read_vector(extra: Mapping[str, Any]) -> list[float]:
    """Return the embedding vector in a ledger entry's `extra`."""
    return [float(value) for value in extra["embedding"]]


def round_vector(values: Sequence[float]) -> list[float]:
    """Round floats to 10 significant digits, which represent every float32 exactly."""
    return [float(f"{value:.{DIGITS}g}") for value in values]
