"""The OpenAI protocol: write requests as bodies, read replies into ledger entries."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from tasks.models.ask import Request, Tool
from tasks.models.recording.entries import LedgerEntry, check_values, estimate_tokens, is_count
from tasks.models.request_builder import is_embedding, round_vector
from tasks.models.tools import BAD_CALL, BadCall, describe_tools, list_tools, write_calls

CHAT, EMBEDDINGS = "/chat/completions", "/embeddings"
FINISH_REASON = re.compile(r"[\w.:-]{1,40}", re.ASCII)


class UnusableReply(ValueError):
    """A reply without the expected content; it may have been paid for."""


@dataclass(frozen=True)
class ModelReply:
    """A chat completion's first choice, or one text's embedding (then in `extra`)."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    extra: Mapping[str, object] = field(default_factory=dict)


def build_post(
    requests: Sequence[Request], served_model: str | None = None, omit: Collection[str] = ()
) -> tuple[str, dict[str, object]]:
    """Return path and body of a POST for requests: one question, or any number of texts to embed."""
    path, first = find_path(requests[0]), requests[0]
    if path == CHAT:
        return path, build_body(first, served_model, omit)
    texts = [request.messages[0]["content"] for request in requests]
    return path, {"model": served_model or first.model, "input": texts, "encoding_format": "float"}


def find_path(request: Request) -> str:
    """Return the path that a request is posted to."""
    return EMBEDDINGS if is_embedding(request) else CHAT


def read_body(raw: bytes) -> object:
    """Read a response body as JSON. Raises UnusableReply where it is cut short, or none."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UnusableReply(f"sent a reply that is no JSON ({type(error).__name__})") from error


def read_replies(body: Any, requests: Sequence[Request]) -> list[ModelReply]:
    """Read a response body, one reply per request in their order. Raises UnusableReply."""
    if is_embedding(requests[0]):
        return parse_embeddings(body, requests)
    return [parse_reply(body, requests[0])]


def build_body(
    request: Request, served_model: str | None = None, omit: Collection[str] = ()
) -> dict[str, object]:
    """Write a request as the body of `POST /chat/completions`. omit: decoding parameters to leave out."""
    body: dict[str, object] = {
        "model": served_model or request.model,
        "messages": [dict(message) for message in request.messages],
        **{name: value for name, value in request.decoding.items() if name not in omit},
    }
    if "grammar" in request.constraint:
        body["grammar"] = request.constraint["grammar"]
    if "json_schema" in request.constraint:
        schema = {"name": "answer", "strict": True, "schema": request.constraint["json_schema"]}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body | describe_tools(request)


def parse_reply(body: Any, request: Request) -> ModelReply:
    """Read a reply: its text, or its tool calls as text. Raises UnusableReply where it is no chat completion.

    What stands beside its text is left out where no ledger can hold it.
    """
    try:
        choice = body["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        reason, logprobs = choice.get("finish_reason"), choice.get("logprobs")
        called = message.get("tool_calls")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise UnusableReply(f"sent a reply that is no chat completion ({type(error).__name__})") from error
    if not isinstance(text, str):
        raise UnusableReply("sent a reply whose content is no text")
    if called and (tools := list_tools(request)):
        text, reason = _read_calls(called, tools)
    # JSON may hold half a surrogate pair, which no UTF-8 file can.
    text = text.encode("utf-8", "replace").decode()
    prompt, completion, estimated = _count_tokens(body.get("usage"), request, text)
    finished = reason if isinstance(reason, str) and FINISH_REASON.fullmatch(reason) else "stop"
    return ModelReply(text, finished, prompt, completion, estimated, _keep_logprobs(logprobs))


def _read_calls(called: object, tools: Sequence[Tool]) -> tuple[str, str]:
    """Return the calls as text, and the finish reason."""
    try:
        return write_calls(called, tools), "tool_calls"
    except BadCall as error:
        return f"bad_call: {error}", BAD_CALL


def _keep_logprobs(logprobs: object) -> Mapping[str, object]:
    if not isinstance(logprobs, dict) or not logprobs:
        return {}
    try:
        check_values(logprobs)
    except ValueError:
        return {}
    return {"logprobs": logprobs}


def parse_embeddings(body: Any, requests: Sequence[Request]) -> list[ModelReply]:
    """Read an embeddings reply. Raises UnusableReply where a text has no vector of numbers.

    Tokens are counted for the whole call: where it carried several texts, their shares are estimates.
    """
    try:
        rows = {row["index"]: _read_vector(row["embedding"]) for row in body["data"]}
        vectors = [rows[number] for number in range(len(requests))]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise UnusableReply(
            f"sent a reply that is no list of {len(requests)} embeddings ({type(error).__name__})"
        ) from error
    shares, estimated = _share_tokens(body.get("usage"), requests)
    return [
        ModelReply("", "stop", share, 0, estimated, {"embedding": vector})
        for share, vector in zip(shares, vectors, strict=True)
    ]


def _read_vector(values: Sequence[float]) -> list[float]:
    vector = round_vector(values)
    check_values(vector)
    if not vector:
        raise ValueError("holds no number")
    return vector


def make_entry(key: str, reply: ModelReply) -> LedgerEntry:
    """Make the ledger entry of a reply."""
    return LedgerEntry(
        key, reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens, reply.estimated,
        reply.extra,
    )  # fmt: skip


def estimate_prompt(request: Request) -> int:
    """Estimate a request's prompt tokens, including a JSON schema or tools."""
    parts = [message.get("content", "") for message in request.messages]
    if "json_schema" in request.constraint:
        parts.append(json.dumps(request.constraint["json_schema"]))
    if "tools" in request.constraint:
        parts.append(json.dumps(request.constraint["tools"]))
    return estimate_tokens("".join(parts)) + 4 * len(request.messages)


def _count_tokens(usage: object, request: Request, text: str) -> tuple[int, int, bool]:
    if isinstance(usage, dict):
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if is_count(prompt) and is_count(completion):
            return prompt, completion, False
    return estimate_prompt(request), estimate_tokens(text), True


def _share_tokens(usage: object, requests: Sequence[Request]) -> tuple[list[int], bool]:
    guesses = [estimate_prompt(request) for request in requests]
    total = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    if not is_count(total):
        return guesses, True
    ends = [total * part // sum(guesses) for part in accumulate(guesses)]
    return [end - start for start, end in pairwise([0, *ends])], len(requests) > 1
