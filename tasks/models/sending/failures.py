"""Classify failed attempts: whether to retry, how long to wait, and whether the attempt may be billed."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Literal

import aiohttp
import httpx
import httpx2
import openai

from tasks.models.incoming import RefusedReply, plain
from tasks.models.sending.replies import ErrorReply, UnusableReply, find_error

MAX_REDIRECTS = 3
"""Maximum number of redirects per attempt.

A redirect that keeps the body resends the request, which may then be billed again.
"""
THROTTLED = 429
"""The HTTP status for exceeding a rate limit."""
RETRIED = frozenset({408, 409, 425, THROTTLED})
"""Statuses below 500 after which a request is retried."""
FOR_ALL = frozenset({401, 402, 403, 404, 405, 407, 410})
"""Statuses of refusals that affect all requests, because the key, the account, the model or the address is
wrong."""
WORDS_FOR_ALL = frozenset({
    "account_deactivated", "authentication_error", "billing_hard_limit_reached", "billing_not_active",
    "insufficient_quota", "invalid_api_key", "model_not_found", "deploymentnotfound", "permission_denied",
    "permission_error", "unauthenticated", "unknown_parameter", "unsupported_parameter", "unsupported_value",
})  # fmt: skip
WORDS_FOR_ITEM = frozenset({
    "content_filter", "content_policy_violation", "context_length_exceeded", "invalid_prompt", "moderation",
    "responsibleaipolicyviolation", "string_above_max_length",
})  # fmt: skip
"""Error codes and types, in lower case, that override the HTTP status: WORDS_FOR_ALL for errors that affect
all requests, WORDS_FOR_ITEM for errors that affect one request."""
STATUS_OF_WORD = {
    "api_error": 500, "authentication_error": 401, "deadline_exceeded": 504, "insufficient_quota": 402,
    "internal": 500, "invalid_api_key": 401, "invalid_argument": 400, "invalid_request_error": 400,
    "model_not_found": 404, "not_found": 404, "not_found_error": 404, "overloaded": 503,
    "overloaded_error": 503,
    "permission_denied": 403, "permission_error": 403, "rate_limit_error": THROTTLED,
    "rate_limit_exceeded": THROTTLED, "resource_exhausted": THROTTLED, "server_error": 500, "timeout": 504,
    "unauthenticated": 401, "unavailable": 503, **dict.fromkeys(WORDS_FOR_ITEM, 400),
}  # fmt: skip
"""Error code or type -> the corresponding HTTP status, for errors without a status."""
FIRST_WAIT_S = 0.5
MAX_WAIT_S = 30.0
"""Maximum wait between two attempts, in seconds; the wait starts at FIRST_WAIT_S, and doubles each time."""
JITTER = random.SystemRandom()


@dataclass(frozen=True)
class Failure:
    """A failed attempt. `paid`: whether the provider may have charged for the attempt."""

    problem: str
    retry: bool
    paid: bool
    wait_s: float | None = None
    """The wait in seconds that the endpoint requested; None if it requested none."""
    kind: Literal["broken", "throttled", "refused"] = "broken"
    """The kind of failure: the endpoint is faulty (`broken`), overloaded (`throttled`), or working, but
    refuses this request (`refused`)."""
    item: bool = False
    """Whether the failure affects only this request, so that other requests continue."""
    words: frozenset[str] = frozenset()
    """The error's code, type and parameter in lower case."""
    times: int = 1
    """Number of times that the request was sent in this attempt."""


class ProviderFailed(Exception):
    """Raised if a provider's library returned no reply; its `__cause__` is the library's exception.

    `status`: the HTTP status of an error response, otherwise None. `sent`: False if the library rejected the
    request without sending it. `headers`: the response's headers; empty without a response.
    """

    def __init__(
        self,
        problem: str,
        *,
        sent: bool = True,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(problem)
        self.sent, self.status, self.headers = sent, status, headers or {}


SENDING_ERRORS = (
    ProviderFailed,
    openai.APIError,
    httpx2.HTTPError,
    aiohttp.ClientError,
    TimeoutError,
    OSError,
    UnusableReply,
    ErrorReply,
    RefusedReply,
)
"""The exceptions that `classify_failure` accepts."""
NEVER_CONNECTED = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    httpx.ConnectError,
    httpx.ConnectTimeout,
)
"""Exceptions of aiohttp and httpx for failed connections. The transport on top of aiohttp reports a refused
connection as a timeout, so a timeout's causes are searched for these exceptions."""
TOO_LATE = (TimeoutError, httpx.TimeoutException)
"""Exceptions for replies that did not arrive in time."""
LOST = (httpx.TransportError, aiohttp.ClientError, OSError)
"""Exceptions for a lost connection."""


def classify_failure(error: BaseException) -> Failure:
    """Classify the exception of a failed attempt as a Failure."""
    if isinstance(error, openai.APIStatusError):
        return _judge_status(error)
    if isinstance(error, UnusableReply):
        # A reply that no retry would change does not show that the endpoint is faulty.
        kind: Literal["broken", "refused"] = "broken" if error.again else "refused"
        return Failure(str(error), error.again, paid=True, kind=kind, item=not error.for_all)
    if isinstance(error, ErrorReply):
        return judge_reply(error)
    if isinstance(error, ProviderFailed) and error.status is not None:
        return judge_code(error.status, read_error(str(error)), error.headers)
    if isinstance(error, ProviderFailed) and not error.sent:
        said = f"cannot be called this way: {plain(str(error))} (`omit` leaves out a parameter)"
        return Failure(said, retry=False, paid=False, kind="refused")
    causes = list(_walk_causes(error))
    if refused := next((cause for cause in causes if isinstance(cause, RefusedReply)), None):
        broken: Literal["broken", "refused"] = "broken" if refused.broken else "refused"
        return Failure(str(refused), refused.broken, paid=True, kind=broken, item=refused.too_large)
    if any(isinstance(cause, (httpx.TooManyRedirects, httpx2.TooManyRedirects)) for cause in causes):
        said = f"redirected more than {MAX_REDIRECTS} times"
        return Failure(said, retry=False, paid=True, kind="refused", times=MAX_REDIRECTS + 1)
    if lost := next((cause for cause in causes if isinstance(cause, NEVER_CONNECTED)), None):
        return refuse_connection(lost)
    if any(isinstance(cause, TOO_LATE) for cause in causes):
        return Failure("gave no reply in time", retry=True, paid=True)
    if isinstance(error, ProviderFailed) and not any(isinstance(cause, LOST) for cause in causes):
        return Failure(f"sent a reply that its library cannot read ({type(causes[-1]).__name__})", True, True)
    return Failure(f"lost the connection ({type(causes[-1]).__name__})", retry=True, paid=True)


def refuse_connection(error: BaseException) -> Failure:
    """Return the failure of an attempt that could not connect, with the operating system's message."""
    cause = getattr(error, "os_error", None)
    code = getattr(cause, "errno", None) or 0
    # aiohttp replaces the message of a known error number; the error for an unknown host has no number.
    why = os.strerror(code) if code > 0 else plain(getattr(cause, "strerror", None) or "")
    return Failure(f"cannot be connected to{f' ({why.lower()})' if why else ''}", retry=True, paid=False)


def _walk_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


@dataclass(frozen=True)
class ErrorBody:
    """The fields of an error: the message, and the code, type and parameter in lower case (`words`).

    `status`: the HTTP status in the error's body, if any. `flagged`: whether content moderation flagged the
    input of this request.
    """

    message: str
    words: frozenset[str] = frozenset()
    status: int | None = None
    flagged: bool = False


def read_error(error: object) -> ErrorBody:
    """Parse a provider's error object, or a plain error text."""
    if isinstance(error, dict) and (inner := find_error(error)) is not None and inner is not error:
        return read_error(inner)
    if not isinstance(error, dict):
        return ErrorBody(plain(str(error)) if error else "no message")
    inside = error.get("innererror")
    named = [error.get(name) for name in ("code", "type", "status", "param")]
    named += [inside.get("code")] if isinstance(inside, dict) else []
    words = frozenset(str(word).lower() for word in named if isinstance(word, str) and not word.isdigit())
    statuses = [int(word) for word in named if str(word).isdigit() and isinstance(word, str | int)]
    status = next((number for number in statuses if 300 <= number < 600), None)
    said = error.get("message") or error.get("detail") or error.get("msg") or "no message"
    metadata = error.get("metadata")
    flagged = isinstance(metadata, dict) and bool(metadata.keys() & {"flagged_input", "reasons"})
    return ErrorBody(plain(str(said)), words, status, flagged)


def judge_reply(reply: ErrorReply) -> Failure:
    """Classify an error object in a response with status 200, by the error's code if known.

    An error without a known code counts as a broken reply, which is retried and may have been billed.
    """
    error = read_error(reply.body)
    named = (STATUS_OF_WORD[word] for word in sorted(error.words & STATUS_OF_WORD.keys()))
    status = error.status or next(named, None)
    if status is None:
        return Failure(f"sent an error: {error.message}", retry=True, paid=True, item=True, words=error.words)
    failure = judge_code(status, error, {}, sent="sent an error with status 200, code")
    return replace(failure, paid=failure.paid or reply.paid)


def _judge_status(error: openai.APIStatusError) -> Failure:
    body = error.body if error.body is not None else error.message
    return judge_code(error.status_code, read_error(body), error.response.headers)


def judge_code(code: int, error: ErrorBody, headers: Mapping[str, str], sent: str = "answered") -> Failure:
    """Classify an error by its status, code and type.

    `code`: the HTTP status. `sent`: the words before the status in the failure's `problem`.

    A provider may have billed a request that failed with a 5xx status, but not a refused request.
    """
    for_all = bool(error.words & WORDS_FOR_ALL) or (
        code in FOR_ALL and not (error.flagged or error.words & WORDS_FOR_ITEM)
    )
    retry = (code in RETRIED or code >= 500) and not for_all
    wait_s = read_retry_after(headers)
    kind: Literal["broken", "throttled", "refused"] = "refused"
    if retry:
        kind = "throttled" if code == THROTTLED else "broken"
    problem = f"{sent} {code}: {error.message}"
    return Failure(
        problem, retry, code >= 500, wait_s, kind, item=not for_all and not retry, words=error.words
    )


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait from a Retry-After header (number or date); None if missing or invalid."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def choose_wait(attempts: int, failure: Failure) -> float:
    """Return the seconds until the next attempt: the requested wait, or an exponential wait with jitter."""
    if failure.wait_s is not None:
        # Without jitter, all calls that were told the same wait would be sent at the same moment.
        return failure.wait_s + JITTER.uniform(0, 0.25)
    ceiling = min(MAX_WAIT_S, FIRST_WAIT_S * 2 ** (attempts - 1))
    return JITTER.uniform(ceiling / 2, ceiling)
