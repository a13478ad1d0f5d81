"""Classify failed attempts: whether to retry, whether it may have been paid, how long to wait."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal

import aiohttp
import httpx
import httpx2
import openai

from tasks.models.incoming import RefusedReply, plain
from tasks.models.sending.replies import UnusableReply

THROTTLED = 429
RETRIED = frozenset({408, 409, 425, THROTTLED})
FIRST_WAIT_S = 0.5
MAX_WAIT_S = 30.0
JITTER = random.SystemRandom()


@dataclass(frozen=True)
class Failure:
    """One failed attempt. `paid`: the provider may have charged for it."""

    problem: str
    retry: bool
    paid: bool
    wait_s: float | None = None
    """The wait that the endpoint asked for, in seconds."""
    kind: Literal["broken", "throttled", "refused"] = "broken"
    """The endpoint is faulty, overloaded, or healthy and refuses this request."""


class ProviderFailed(Exception):
    """A provider's library gave no reply; the cause is what it raised.

    status: of the provider's answer, None where there was none that says what failed. sent: False where the
    library took the request for none. headers: of that answer.
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
    RefusedReply,
)
"""The exceptions that `classify_failure` accepts."""
NEVER_CONNECTED = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    httpx.ConnectError,
    httpx.ConnectTimeout,
)
"""aiohttp's own exceptions: the transport above it reports a refused connection as a timeout."""
TOO_LATE = (TimeoutError, httpx.TimeoutException)
LOST = (httpx.TransportError, aiohttp.ClientError, OSError)


def classify_failure(error: BaseException) -> Failure:
    """Classify the exception of a failed attempt."""
    if isinstance(error, openai.APIStatusError):
        return _judge_status(error)
    if isinstance(error, UnusableReply):
        return Failure(str(error), retry=True, paid=True)
    if isinstance(error, ProviderFailed) and error.status is not None:
        return judge_code(error.status, plain(str(error)), error.headers)
    if isinstance(error, ProviderFailed) and not error.sent:
        said = f"cannot be asked so: {plain(str(error))} (its `omit` leaves a parameter out)"
        return Failure(said, retry=False, paid=False, kind="refused")
    causes = list(_walk_causes(error))
    if refused := next((cause for cause in causes if isinstance(cause, RefusedReply)), None):
        return Failure(str(refused), retry=False, paid=True, kind="refused")
    if lost := next((cause for cause in causes if isinstance(cause, NEVER_CONNECTED)), None):
        return refuse_connection(lost)
    if any(isinstance(cause, TOO_LATE) for cause in causes):
        return Failure("gave no reply in time", retry=True, paid=True)
    if isinstance(error, ProviderFailed) and not any(isinstance(cause, LOST) for cause in causes):
        return Failure(f"sent a reply that its library cannot read ({type(causes[-1]).__name__})", True, True)
    return Failure(f"lost the connection ({type(causes[-1]).__name__})", retry=True, paid=True)


def refuse_connection(error: BaseException) -> Failure:
    """Make the failure of an attempt that reached nobody, with the system's word for why."""
    cause = getattr(error, "os_error", None)
    code = getattr(cause, "errno", None) or 0
    # aiohttp writes its own words over those of a known number; of a name without an address there is none.
    why = os.strerror(code) if code > 0 else plain(getattr(cause, "strerror", None) or "")
    return Failure(f"cannot be connected to{f' ({why.lower()})' if why else ''}", retry=True, paid=False)


def _walk_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _judge_status(error: openai.APIStatusError) -> Failure:
    body = error.body if isinstance(error.body, dict) else {}
    said = plain(str(body.get("message") or error.message))
    exhausted = body.get("code") == "insufficient_quota"
    return judge_code(error.status_code, said, error.response.headers, exhausted=exhausted)


def judge_code(code: int, said: str, headers: Mapping[str, str], *, exhausted: bool = False) -> Failure:
    """Judge an error's status. exhausted: the account has nothing left, whatever the status."""
    retry = (code in RETRIED or code >= 500) and not exhausted
    wait_s = read_retry_after(headers)
    kind: Literal["broken", "throttled", "refused"] = "refused"
    if retry:
        kind = "throttled" if code == THROTTLED else "broken"
    return Failure(f"answered {code}: {said}", retry, paid=False, wait_s=wait_s, kind=kind)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Read a Retry-After header, a number or a date, as seconds to wait; None if there is none."""
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
    """Choose the wait before the next attempt, in seconds: as asked for, else doubling, with jitter."""
    if failure.wait_s is not None:
        return failure.wait_s + JITTER.uniform(0, 0.25)
    ceiling = min(MAX_WAIT_S, FIRST_WAIT_S * 2 ** (attempts - 1))
    return JITTER.uniform(ceiling / 2, ceiling)
