"""Rate limiter for one endpoint: a queue, token buckets, adaptive concurrency and a circuit breaker.

Attempts are admitted in first-in, first-out order, except that retries of calls to systems are admitted
first. An attempt is admitted if fewer attempts than allowed are in flight, both per-minute buckets contain
enough units, and the circuit is closed. The allowed concurrency n halves after a 429, and grows by 1/n
per answer, up to the endpoint's `in_flight`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from dataclasses import dataclass

from tasks.errors import ModelFailed
from tasks.models.sending.failures import Failure
from tasks.models.settings import ConnectionSettings

MAX_COOLDOWN_S = 60.0
"""Maximum pause in seconds after repeated failures."""
EPSILON = 1e-9
"""A bucket that lacks at most this number of units counts as full enough, because of rounding errors."""
MINUTE_S = 60.001
"""Seconds in a minute, slightly rounded up, so that rounding errors never admit too many attempts."""


@dataclass
class Permit:
    """An admitted attempt: the time of admission (monotonic seconds), and the maximum number of tokens."""

    at: float
    tokens: int


class TokenBucket:
    """A token bucket that admits at most `per_minute` units in any minute; None means no limit.

    The capacity is one second's units, at least 1. The bucket starts full, so only `per_minute` + 1 -
    capacity units are added per minute.
    """

    def __init__(self, per_minute: int | None, now: float) -> None:
        self._size = max(1.0, per_minute / 60) if per_minute else math.inf
        # In 60 s, capacity and refill stay below per_minute + 1, so at most per_minute whole units fit.
        self._rate = (per_minute + 1 - self._size) / MINUTE_S if per_minute else 0.0
        self._level, self._at = self._size, now

    def find_wait(self, amount: float, now: float) -> float:
        """Return the seconds until the bucket contains the given amount.

        If the bucket's capacity is smaller, return the seconds until the bucket is full.
        """
        self._fill(now)
        missing = min(amount, self._size) - self._level
        # Because of rounding, a tiny missing amount might never be refilled.
        return missing / self._rate if missing > EPSILON else 0.0

    def take(self, amount: float, now: float) -> None:
        """Subtract an amount; the level may become negative, so that later attempts wait for the refill."""
        self._fill(now)
        self._level -= amount

    def refund(self, amount: float) -> None:
        """Add an unused amount to the level, up to the capacity.

        A negative amount lowers the level. The debt is at most one minute's units.
        """
        self._level = min(self._size, max(-MINUTE_S * self._size, self._level + amount))

    def _fill(self, now: float) -> None:
        self._level = min(self._size, self._level + self._rate * (now - self._at))
        self._at = now


class RateLimiter:
    """Admits attempts to one endpoint. Must be used from a single event loop."""

    def __init__(self, name: str, endpoint: ConnectionSettings) -> None:
        self._name, self._endpoint = name, endpoint
        now = time.monotonic()
        self._requests = TokenBucket(endpoint.requests_per_minute, now)
        self._tokens = TokenBucket(endpoint.tokens_per_minute, now)
        self._queue: deque[tuple[asyncio.Future[None], int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._allowed, self._under_way = float(endpoint.in_flight), 0
        self._reduced_at, self._throttled = 0.0, 0
        self._failures, self._failing_since, self._cooldown_s = 0, 0.0, endpoint.breaker_s
        self._paused_until, self._last_problem = 0.0, ""
        self.answers = 0
        """Number of attempts that were answered."""

    @property
    def allowed(self) -> int:
        """Return the current limit on concurrent attempts; 1 while a failing endpoint is probed."""
        return 1 if self.is_broken else int(self._allowed)

    @property
    def is_broken(self) -> bool:
        """Return whether the endpoint counts as down, after `breaker` consecutive failures."""
        return self._failures >= self._endpoint.breaker

    @property
    def failure_report(self) -> str:
        """Return the number and duration of consecutive failures as text; "" for fewer than two failures."""
        if self._failures < 2:
            return ""
        seconds = time.monotonic() - self._failing_since
        return (
            f"{self._name}: {self._failures} failures in a row, for {seconds:.0f} s ({self._describe_last()})"
        )

    async def acquire(self, tokens: int, *, again: bool = False) -> Permit:
        """Wait until an attempt is admitted; return its permit.

        `tokens`: the maximum number of tokens of the attempt. `again`: put the attempt first in the queue.

        Raises ModelFailed if the endpoint has failed continuously for longer than its deadline.
        """
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if again:
            self._queue.appendleft((turn, tokens))
        else:
            self._queue.append((turn, tokens))
        self._admit_waiting()
        permit = Permit(0.0, tokens)
        try:
            await turn
        except asyncio.CancelledError:
            # The attempt was admitted just before it was cancelled, so its permit is released.
            if turn.done() and not turn.cancelled():
                self.release_unsent(permit)
            raise
        permit.at = time.monotonic()
        return permit

    def release_unsent(self, permit: Permit) -> None:
        """Release the permit of an attempt that was not sent."""
        self._requests.refund(1)
        self._release(permit, 0)

    def release_answered(self, permit: Permit, tokens: int) -> None:
        """Release the permit of an answered attempt. `tokens`: the number of tokens that the attempt used."""
        self._failures = self._throttled = 0
        self.answers += 1
        self._cooldown_s = self._endpoint.breaker_s
        self._allowed = min(self._endpoint.in_flight, self._allowed + 1 / self._allowed)
        self._release(permit, tokens)

    def release_failed(self, permit: Permit, failure: Failure, wait_s: float) -> None:
        """Release the permit of a failed attempt.

        `wait_s`: the wait in seconds that the endpoint requested; 0 if the endpoint requested none.
        """
        if failure.kind == "throttled":
            self._slow_down(permit, wait_s)
        elif failure.kind == "broken":
            self._last_problem = failure.problem
            self._count_failure()
        else:
            self._failures = 0
        self._release(permit, permit.tokens if failure.paid else 0)

    def _slow_down(self, permit: Permit, wait_s: float) -> None:
        now = time.monotonic()
        self._failures = 0
        self._throttled += 1
        # Attempts admitted before the last reduction do not show whether that reduction was sufficient.
        if permit.at >= self._reduced_at:
            self._allowed, self._reduced_at = max(1.0, self._allowed / 2), now
            # After a single throttled call, only that call waits. Two throttled calls without an answer in
            # between pause the whole endpoint.
            if self._throttled > 1:
                # A call never waits longer than its deadline, so the pause of the queue has the same limit.
                wait_s = min(wait_s, self._endpoint.deadline_s)
                self._paused_until = max(self._paused_until, now + wait_s)

    def _count_failure(self) -> None:
        now = time.monotonic()
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        # Failures of attempts that were in flight when the pause began do not prolong the pause.
        if self._failures < self._endpoint.breaker or now < self._paused_until:
            return
        # The pause ends at the latest at the deadline after the first failure, so that waiting calls fail in
        # time.
        deadline = self._failing_since + self._endpoint.deadline_s
        self._paused_until = min(now + self._cooldown_s, max(deadline, now))
        self._cooldown_s = min(MAX_COOLDOWN_S, 2 * self._cooldown_s)
        if now - self._failing_since >= self._endpoint.deadline_s:
            self._fail_waiting(now - self._failing_since)

    def _fail_waiting(self, seconds: float) -> None:
        waiting, self._queue = self._queue, deque()
        for turn, _ in waiting:
            if not turn.done():
                turn.set_exception(
                    ModelFailed(
                        f"{self._name}: the endpoint has failed {self._failures} times in a row "
                        f"over {seconds:.0f} s ({self._describe_last()}); run the same command again "
                        "once the endpoint is available"
                    )
                )

    def _describe_last(self) -> str:
        """Return the endpoint's URL and the last problem as text."""
        return ": ".join(filter(None, (self._endpoint.url, self._last_problem[:120])))

    def _release(self, permit: Permit, used: int) -> None:
        self._under_way -= 1
        self._tokens.refund(permit.tokens - used)
        self._admit_waiting()

    def _admit_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._queue:
            turn, tokens = self._queue[0]
            if turn.done():
                self._queue.popleft()
                continue
            if self._under_way >= self.allowed:
                return
            now = time.monotonic()
            wait_s = max(
                self._paused_until - now,
                self._requests.find_wait(1, now),
                self._tokens.find_wait(tokens, now),
            )
            if wait_s > 0:
                self._timer = asyncio.get_running_loop().call_later(wait_s, self._admit_waiting)
                return
            self._queue.popleft()
            self._requests.take(1, now)
            self._tokens.take(tokens, now)
            self._under_way += 1
            turn.set_result(None)
