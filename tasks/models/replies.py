"""The OpenAI chat protocol, both ways: a request becomes a body, a reply becomes what is recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tasks.models.ask import Request
from tasks.models.entries import estimate_tokens


class Unusable(ValueError):
    """A reply that is no chat completion; it may have been paid for."""


@dataclass(frozen=True)
class Reply:
    """A chat completion's first choice."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    extra: Mapping[str, Any] = field(default_factory=dict)


def build_body(request: Request, served_model: str | None = None) -> dict[str, Any]:
    """Write a request as the body of `POST /chat/completions`."""
    body: dict[str, Any] = {
        "model": served_model or request.model,
        "messages": [dict(message) for message in request.messages],
        **request.decoding,
    }
    if "grammar" in request.constraint:
        body["grammar"] = request.constraint["grammar"]
    if "json_schema" in request.constraint:
        schema = {"name": "answer", "strict": True, "schema": request.constraint["json_schema"]}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def parse_reply(raw: bytes, request: Request) -> Reply:
    """Read a reply. Raises Unusable where it is cut short, no JSON, or no chat completion."""
    try:
        body = json.loads(raw)
        choice = body["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise Unusable(f"sent a reply that is no chat completion ({type(error).__name__})") from error
    if not isinstance(text, str):
        raise Unusable("sent a reply whose content is no text")
    # JSON may hold half a surrogate pair, which no UTF-8 file can.
    text = text.encode("utf-8", "replace").decode()
    extra = {"logprobs": choice["logprobs"]} if choice.get("logprobs") else {}
    prompt, completion, estimated = _count_tokens(body.get("usage"), request, text)
    return Reply(text, str(choice.get("finish_reason") or "stop"), prompt, completion, estimated, extra)


def estimate_prompt(request: Request) -> int:
    """Estimate a request's prompt tokens, its constraint included."""
    parts = [message.get("content", "") for message in request.messages]
    if "json_schema" in request.constraint:
        parts.append(json.dumps(request.constraint["json_schema"]))
    return estimate_tokens("".join(parts)) + 4 * len(request.messages)


def _count_tokens(usage: object, request: Request, text: str) -> tuple[int, int, bool]:
    if isinstance(usage, dict):
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if isinstance(prompt, int) and isinstance(completion, int):
            return prompt, completion, False
    return estimate_prompt(request), estimate_tokens(text), True
