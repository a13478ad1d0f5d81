"""The OpenAI protocol: convert requests to bodies, and replies to ledger entries.

`read_replies` is the only parser of replies. For an unusable reply, this module raises an exception that
determines the next step:

| shape of the reply | exception | next |
|---|---|---|
| not JSON, cut off, no choice, a choice that ended with an error | `UnusableReply` | send again |
| content of an unsupported type | `UnusableReply`, again=False | fail this item |
| an event stream, several JSON documents | `UnusableReply`, for_all=True | end the run |
| an error object with status 200 | `ErrorReply` | depends on its code |

Each of these replies may have been billed, except an error object whose code means that the request was
refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from tasks.models.ask import Request, Tool
from tasks.models.incoming import plain
from tasks.models.recording.entries import LedgerEntry, check_values, estimate_tokens, is_count
from tasks.models.request_builder import is_embedding, round_vector
from tasks.models.settings import Endpoint
from tasks.models.tools import BAD_CALL, BadCall, describe_tools, list_tools, write_calls

CHAT, EMBEDDINGS = "/chat/completions", "/embeddings"
FINISH_REASON = re.compile(r"[\w.:-]{1,40}", re.ASCII)
"""Matches finish reasons that are stored unchanged; any other text becomes `stop`."""
CUT_REASONS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
FILTER_REASONS = frozenset(
    {"content_filter", "safety", "sensitive", "blocked", "prohibited_content", "recitation"}
)
ERROR_REASONS = frozenset({"error", "network_error", "insufficient_system_resource", "malformed_response"})
"""Providers' finish reasons, in lower case, for answers that ended with an error.

CUT_REASONS and FILTER_REASONS contain the finish reasons for cut-off and filtered answers.
"""
TEXT_PARTS = frozenset({"text", "output_text", "refusal"})
REASONING_PARTS = frozenset({"thinking", "reasoning", "redacted_thinking", "reasoning_content"})
"""Types of content parts that contain reasoning; TEXT_PARTS lists the types that contain text."""
REASONING = re.compile(
    r"\s*<(think|thinking|reasoning)>(?P<inside>.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
REASONING_ENDS = re.compile(r"(?P<inside>.*?)</think>", re.DOTALL | re.IGNORECASE)
"""Matches reasoning with only a closing tag, because the opening tag is in some models' chat templates."""
STREAMS = (b"data:", b"event:", b"id:", b":")
"""Possible first bytes of an event stream."""
MOST_CHARACTERS = 25
"""Maximum plausible number of characters per token, averaged over a whole text.

Token counts that imply a higher number are treated as wrong.
"""
MAX_REASONING = 200_000
"""Maximum number of stored characters of a reply's reasoning."""


class UnusableReply(ValueError):
    """Raised for a reply without the expected content, which may have been billed.

    `again`: whether a retry may succeed. `for_all`: whether all other requests would also fail.
    """

    def __init__(self, problem: str, *, again: bool = True, for_all: bool = False) -> None:
        super().__init__(problem)
        self.again, self.for_all = again and not for_all, for_all


class ErrorReply(ValueError):
    """Raised for an error object instead of a reply.

    `body`: the error, for `failures.read_error`. `paid`: whether the body also contains `choices`.
    """

    def __init__(self, body: object, *, paid: bool) -> None:
        super().__init__("sent an error object")
        self.body, self.paid = body, paid


@dataclass(frozen=True)
class ModelReply:
    """The first choice of a chat completion, or the embedding of one text (in `extra`)."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    extra: Mapping[str, object] = field(default_factory=dict)


def build_post(requests: Sequence[Request], endpoint: Endpoint) -> tuple[str, dict[str, object]]:
    """Return the path and body of a POST for one question, or for any number of texts to embed."""
    path, first = find_path(requests[0]), requests[0]
    if path == CHAT:
        return path, build_body(first, endpoint)
    texts = [request.messages[0]["content"] for request in requests]
    model = endpoint.served_model or first.model
    return path, {"model": model, "input": texts, "encoding_format": "float", **endpoint.add}


def find_path(request: Request) -> str:
    """Return the URL path for a request."""
    return EMBEDDINGS if is_embedding(request) else CHAT


def read_body(raw: bytes) -> object:
    """Parse a response body as JSON.

    Raises UnusableReply if the body is cut off or is not a single JSON document.
    """
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        if raw.lstrip().startswith(STREAMS):
            raise UnusableReply(
                "sent an event stream, although the request did not ask for one", for_all=True
            ) from None
        if (
            isinstance(error, json.JSONDecodeError)
            and error.msg == "Extra data"
            and raw.lstrip()[:1] in b"{["
        ):
            raise UnusableReply("sent several JSON documents, as a stream does", for_all=True) from None
        raise UnusableReply(f"sent a reply that is not valid JSON ({type(error).__name__})") from error


def read_replies(
    body: Any, requests: Sequence[Request], *, strips_reasoning: bool = True
) -> list[ModelReply]:
    """Return one reply per request from a response body. Raises UnusableReply or ErrorReply."""
    if (error := find_error(body)) is not None:
        raise ErrorReply(error, paid=isinstance(body, dict) and bool(body.get("choices")))
    if is_embedding(requests[0]):
        return parse_embeddings(body, requests)
    return [parse_reply(body, requests[0], strips_reasoning=strips_reasoning)]


def find_error(body: object) -> object:
    """Return the error in a body that contains an error instead of a reply; None if there is none."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    if not isinstance(body, dict):
        return None
    if body.get("object") == "error":
        return body
    error = body.get("error")
    return error if error and not isinstance(error, bool) else None


def build_body(request: Request, endpoint: Endpoint) -> dict[str, object]:
    """Return a request as the body of `POST /chat/completions`.

    The body lacks the parameters in the endpoint's `omit`, and contains the parameters in its `add`.
    """
    decoding = {
        endpoint.token_limit if name == "max_tokens" else name: value
        for name, value in request.decoding.items()
        if name not in endpoint.omit
    }
    body: dict[str, object] = {
        "model": endpoint.served_model or request.model,
        "messages": [dict(message) for message in request.messages],
        **decoding,
        **endpoint.add,
    }
    if "grammar" in request.constraint:
        body["grammar"] = request.constraint["grammar"]
    if "json_schema" in request.constraint:
        schema = {"name": "answer", "strict": True, "schema": request.constraint["json_schema"]}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body | describe_tools(request)


def parse_reply(body: Any, request: Request, *, strips_reasoning: bool = True) -> ModelReply:
    """Parse a chat completion; tool calls become the text. Raises UnusableReply.

    Log probabilities that a ledger cannot store are dropped.
    """
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
        reason, logprobs = choice.get("finish_reason"), choice.get("logprobs")
        called, error = message.get("tool_calls"), choice.get("error")
        beside = message.get("reasoning_content") or message.get("reasoning")
        beside = beside.get("content") if isinstance(beside, dict) else beside
    except (KeyError, IndexError, TypeError, AttributeError) as problem:
        raise UnusableReply(
            f"sent a reply that is not a chat completion ({type(problem).__name__})"
        ) from problem
    finished = _name_reason(reason)
    if error or finished == "error":
        raise UnusableReply(f"broke off its reply with an error{_tell_error(error)}")
    text, thoughts = _read_content(content)
    if not text and isinstance(refusal, str) and finished != "content_filter":
        text = refusal
    if called and (tools := list_tools(request)):
        text, finished = _read_calls(called, tools)
    elif strips_reasoning:
        text, inside = strip_reasoning(text)
        thoughts += inside
    thoughts += beside if isinstance(beside, str) else ""
    # JSON may contain an unpaired surrogate, which cannot be written to a UTF-8 file.
    text = text.encode("utf-8", "replace").decode()
    prompt, completion, estimated = count_tokens(body.get("usage"), request, text + thoughts)
    extra = dict(_keep_logprobs(logprobs))
    if thoughts:
        extra["reasoning"] = thoughts[:MAX_REASONING].encode("utf-8", "replace").decode()
    if model := _read_model(body.get("model")):
        extra["model"] = model
    return ModelReply(text, finished, prompt, completion, estimated, extra)


def _name_reason(reason: object) -> str:
    """Return the common name of a finish reason; providers use different words for the same reason."""
    if not isinstance(reason, str) or not reason:
        return "stop"
    word = re.split(r"[:\s]", reason.strip(), maxsplit=1)[0].lower()
    for name, known in (
        ("length", CUT_REASONS),
        ("content_filter", FILTER_REASONS),
        ("error", ERROR_REASONS),
    ):
        if word in known:
            return name
    return reason if FINISH_REASON.fullmatch(reason) else "stop"


def _tell_error(error: object) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    return f": {plain(said)}" if isinstance(said, str) and said else ""


def _read_content(content: object) -> tuple[str, str]:
    """Split a message's content, which is text or parts, into (text, reasoning). Raises UnusableReply."""
    if content is None or isinstance(content, str):
        return content or "", ""
    parts = [content] if isinstance(content, dict) else content
    if not isinstance(parts, list):
        raise UnusableReply("sent a reply whose content is not text", again=False)
    texts, thoughts = [], []
    for part in parts:
        kind = part.get("type", "text") if isinstance(part, dict) else "text"
        if kind in TEXT_PARTS:
            texts.append(_read_part(part))
        elif kind in REASONING_PARTS:
            thoughts.append(_read_thoughts(part))
        else:
            raise UnusableReply(f"sent a reply with a part of type {plain(str(kind), 40)!r}", again=False)
    return "".join(texts), "".join(thoughts)


def _read_part(part: object) -> str:
    text = part if isinstance(part, str) else None
    if isinstance(part, dict):
        text = part.get("text", part.get("refusal"))
        text = text.get("value") if isinstance(text, dict) else text
    if not isinstance(text, str):
        raise UnusableReply("sent a reply whose content is not text", again=False)
    return text


def _read_thoughts(part: Mapping[str, object]) -> str:
    """Return a content part's reasoning as one text; "" if the part contains none."""
    for name in ("thinking", "reasoning", "text", "reasoning_content"):
        inside = part.get(name)
        if isinstance(inside, str):
            return inside
        if isinstance(inside, list):
            return "".join(str(thought.get("text", "")) for thought in inside if isinstance(thought, dict))
    return ""


def strip_reasoning(text: str) -> tuple[str, str]:
    """Split a text that may start with reasoning into (answer, reasoning).

    The reasoning may be cut off, and its opening tag may be missing.
    """
    inside = ""
    while found := REASONING.match(text):
        inside, text = inside + found["inside"], text[found.end() :].lstrip()
    if not inside and (found := REASONING_ENDS.match(text)) and "<think" not in found["inside"].lower():
        return text[found.end() :].lstrip(), found["inside"]
    return text, inside


def _read_model(model: object) -> str:
    return plain(model, 200) if isinstance(model, str) else ""


def _read_calls(called: object, tools: Sequence[Tool]) -> tuple[str, str]:
    """Return (tool calls as text, "tool_calls"), or (problem, BAD_CALL) if a call is not valid."""
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
    """Parse an embeddings reply. Raises UnusableReply if a text has no vector of numbers.

    Providers count the tokens of a whole call, so each text's count is an estimate if there are several.
    """
    try:
        rows = {row["index"]: _read_vector(row["embedding"]) for row in body["data"]}
        vectors = [rows[number] for number in range(len(requests))]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise UnusableReply(
            f"sent a reply that is not a list of {len(requests)} embeddings ({type(error).__name__})"
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
        raise ValueError("contains no numbers")
    return vector


def make_entry(key: str, reply: ModelReply) -> LedgerEntry:
    """Return the ledger entry of a reply."""
    return LedgerEntry(
        key, reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens, reply.estimated,
        reply.extra,
    )  # fmt: skip


def estimate_prompt(request: Request) -> int:
    """Estimate a request's prompt tokens, including its JSON schema or tools."""
    parts = [message.get("content", "") for message in request.messages]
    if "json_schema" in request.constraint:
        parts.append(json.dumps(request.constraint["json_schema"]))
    if "tools" in request.constraint:
        parts.append(json.dumps(request.constraint["tools"]))
    # The role and the delimiters of each message take about 4 tokens.
    return estimate_tokens("".join(parts)) + 4 * len(request.messages)


def estimate_worst_case(requests: Iterable[Request]) -> tuple[int, int]:
    """Estimate the maximum tokens of all requests together, as (prompt tokens, completion tokens)."""
    tokens = [(estimate_prompt(request), int(request.decoding.get("max_tokens", 0))) for request in requests]
    return sum(prompt for prompt, _ in tokens), sum(completion for _, completion in tokens)


def count_tokens(usage: object, request: Request, text: str) -> tuple[int, int, bool]:
    """Return a reply's token counts: (prompt, completion, whether any count is estimated).

    Some endpoints count reasoning only in the total, so the completion count is at least the total minus the
    prompt. An implausibly low count is replaced by an estimate from the texts if the estimate is larger.
    """
    guessed = estimate_prompt(request), estimate_tokens(text)
    if not isinstance(usage, dict):
        return *guessed, True
    prompt, completion, total = (usage.get(f"{part}_tokens") for part in ("prompt", "completion", "total"))
    if not (is_count(prompt) and is_count(completion)):
        return *guessed, True
    if is_count(total):
        completion = max(completion, total - prompt)
    characters = sum(len(str(message.get("content", ""))) for message in request.messages)
    if prompt > 0 and prompt * MOST_CHARACTERS >= characters and completion * MOST_CHARACTERS >= len(text):
        return prompt, completion, False
    return max(prompt, guessed[0]), max(completion, guessed[1]), True


def _share_tokens(usage: object, requests: Sequence[Request]) -> tuple[list[int], bool]:
    guesses = [estimate_prompt(request) for request in requests]
    total = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    if not is_count(total) or total == 0:
        return guesses, True
    # Differences of rounded running totals, so that the shares add up to the total.
    ends = [total * part // sum(guesses) for part in accumulate(guesses)]
    return [end - start for start, end in pairwise([0, *ends])], len(requests) > 1
