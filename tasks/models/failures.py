"""What went wrong with one sending, whether to try again, and how long to wait first."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal

import aiohttp
import httpx2
import openai

from tasks.models.replies import Unusable

THROTTLED = 429
RETRIED = frozenset({408, 409, 425, THROTTLED})
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
DICE = random.SystemRandom()


@dataclass(frozen=True)
class Failure:
    """One failed sending. `paid`: the provider may have charged for it."""

    problem: str
    retry: bool
    paid: bool
    wait_s: float | None = None
    """What the endpoint asked to wait, in seconds."""
    kind: Literal["broken", "throttled", "refused"] = "broken"
    """The endpoint is not well, has too much to do, or is well and will not have this request."""


FAILED_SENDING = (openai.APIError, httpx2.HTTPError, TimeoutError, OSError, Unusable)
"""The exceptions that `judge` knows."""
NEVER_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
"""By aiohttp's own word: its transport calls a refused connection a timeout, and a dropped one refused."""


def judge(error: BaseException) -> Failure:
    """Tell what a failed sending means."""
    if isinstance(error, openai.APIStatusError):
        return _judge_status(error)
    if isinstance(error, Unusable):
        return Failure(str(error), retry=True, paid=True)
    causes = list(_walk_causes(error))
    if any(isinstance(cause, NEVER_CONNECTED) for cause in causes):
        return Failure("cannot be connected to", retry=True, paid=False)
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return Failure("gave no reply in time", retry=True, paid=True)
    return Failure(f"lost the connection ({type(causes[-1]).__name__})", retry=True, paid=True)


def _walk_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _judge_status(error: openai.APIStatusError) -> Failure:
    code = error.status_code
    body = error.body if isinstance(error.body, dict) else {}
    said = str(body.get("message") or error.message)[:300].replace("\n", " ")
    exhausted = body.get("code") == "insufficient_quota"
    retry = (code in RETRIED or code >= 500) and not exhausted
    wait_s = read_retry_after(error.response.headers)
    kind: Literal["broken", "throttled", "refused"] = "refused"
    if retry:
        kind = "throttled" if code == THROTTLED else "broken"
    return Failure(f"answered {code}: {said}", retry, paid=False, wait_s=wait_s, kind=kind)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how long an endpoint wants us to wait, in seconds; it may name a date."""
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def choose_wait(sendings: int, failure: Failure) -> float:
    """Choose a wait before the next sending: what was asked for, else doubling, both with jitter."""
    if failure.wait_s is not None:
        return failure.wait_s + DICE.uniform(0, 0.25)
    ceiling = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (sendings - 1))
    return DICE.uniform(ceiling / 2, ceiling)
