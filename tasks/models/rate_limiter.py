"""One endpoint's queue: who may send now, and how the endpoint's own words change that.

First come, first served; a system's question that is sent again comes before new ones. A sending is
let in when fewer are under way than allowed, when both buckets of the minute hold enough, and when the
circuit is closed. What is allowed falls by half with a 429 and grows by one per round of answers up to
the endpoint's `in_flight`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from dataclasses import dataclass

from tasks.errors import ModelFailed
from tasks.models.failures import Failure
from tasks.models.settings import Place

LONGEST_COOLING_S = 60.0
TRACE = 1e-9
MINUTE_S = 60.001
"""A trace more than a minute, so that rounding never puts one sending too many into one."""


@dataclass
class Ticket:
    """A sending under way: when it was let in, and what it was let in for."""

    at: float
    tokens: int


class Bucket:
    """So much per minute, whichever minute is looked at; None is no limit.

    It holds a second's worth. What it starts with counts too, so it fills that much more slowly.
    """

    def __init__(self, per_minute: int | None, now: float) -> None:
        self._size = max(1.0, per_minute / 60) if per_minute else math.inf
        self._rate = (per_minute + 1 - self._size) / MINUTE_S if per_minute else 0.0
        self._held, self._at = self._size, now

    def find_wait(self, amount: float, now: float) -> float:
        """Tell how many seconds until an amount may be taken; one larger than the bucket needs it full."""
        self._fill(now)
        lacking = min(amount, self._size) - self._held
        # Rounding may leave a trace lacking for ever.
        return lacking / self._rate if lacking > TRACE else 0.0

    def take(self, amount: float, now: float) -> None:
        """Take an amount; what was more than the bucket held is a debt that later ones wait for."""
        self._fill(now)
        self._held -= amount

    def give_back(self, amount: float) -> None:
        """Give back what was taken and not used."""
        self._held = min(self._size, self._held + amount)

    def _fill(self, now: float) -> None:
        self._held = min(self._size, self._held + self._rate * (now - self._at))
        self._at = now


class Gate:
    """The queue before one endpoint. Lives in one event loop."""

    def __init__(self, name: str, endpoint: Place) -> None:
        self._name, self._endpoint = name, endpoint
        now = time.monotonic()
        self._requests = Bucket(endpoint.requests_per_minute, now)
        self._tokens = Bucket(endpoint.tokens_per_minute, now)
        self._queue: deque[tuple[asyncio.Future[None], int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._allowed, self._inside = float(endpoint.in_flight), 0
        self._cut_at, self._refusals = 0.0, 0
        self._failures, self._failing_since, self._cooling_s = 0, 0.0, endpoint.breaker_s
        self._shut_until = 0.0

    @property
    def allowed(self) -> int:
        """How many may be under way now: one while the circuit is being tried again."""
        return 1 if self._failures >= self._endpoint.breaker else int(self._allowed)

    @property
    def trouble(self) -> str:
        """Say that the endpoint gives nothing but failures, and since when; "" where it does not."""
        if self._failures < 2:
            return ""
        seconds = time.monotonic() - self._failing_since
        return f"{self._name}: {self._failures} failures in a row, for {seconds:.0f} s"

    async def enter(self, tokens: int, *, again: bool = False) -> Ticket:
        """Wait for a turn. tokens: the most that the sending may use. again: it comes before new ones.

        Raises ModelFailed where the endpoint has given nothing but failures for its whole deadline.
        """
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if again:
            self._queue.appendleft((turn, tokens))
        else:
            self._queue.append((turn, tokens))
        self._let_in()
        ticket = Ticket(0.0, tokens)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave_unsent(ticket)
            raise
        ticket.at = time.monotonic()
        return ticket

    def leave_unsent(self, ticket: Ticket) -> None:
        """Give a turn back that was not used."""
        self._requests.give_back(1)
        self._leave(ticket, 0)

    def leave_answered(self, ticket: Ticket, tokens: int) -> None:
        """End a sending that was answered; tokens: what it really used."""
        self._failures = self._refusals = 0
        self._cooling_s = self._endpoint.breaker_s
        self._allowed = min(self._endpoint.in_flight, self._allowed + 1 / self._allowed)
        self._leave(ticket, tokens)

    def leave_failed(self, ticket: Ticket, failure: Failure, wait_s: float) -> None:
        """End a sending that failed; wait_s: how long its call now waits."""
        if failure.kind == "throttled":
            self._slow_down(ticket, wait_s)
        elif failure.kind == "broken":
            self._count_failure()
        else:
            self._failures = 0
        self._leave(ticket, ticket.tokens if failure.paid else 0)

    def _slow_down(self, ticket: Ticket, wait_s: float) -> None:
        now = time.monotonic()
        self._failures = 0
        self._refusals += 1
        # Sendings that were under way at the last cut say nothing new.
        if ticket.at >= self._cut_at:
            self._allowed, self._cut_at = max(1.0, self._allowed / 2), now
            # One refused call waits alone; with no answer between two, all are meant.
            if self._refusals > 1:
                self._shut_until = max(self._shut_until, now + wait_s)

    def _count_failure(self) -> None:
        now = time.monotonic()
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        if self._failures < self._endpoint.breaker or now < self._shut_until:
            return
        self._shut_until = now + self._cooling_s
        self._cooling_s = min(LONGEST_COOLING_S, 2 * self._cooling_s)
        if now - self._failing_since >= self._endpoint.deadline_s:
            self._turn_away(now - self._failing_since)

    def _turn_away(self, seconds: float) -> None:
        waiting, self._queue = self._queue, deque()
        for turn, _ in waiting:
            if not turn.done():
                turn.set_exception(
                    ModelFailed(
                        f"{self._name}: the endpoint has failed {self._failures} times in a row "
                        f"for {seconds:.0f} s; run the same command again once it is back"
                    )
                )

    def _leave(self, ticket: Ticket, used: int) -> None:
        self._inside -= 1
        self._tokens.give_back(ticket.tokens - used)
        self._let_in()

    def _let_in(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._queue:
            turn, tokens = self._queue[0]
            if turn.done():
                self._queue.popleft()
                continue
            if self._inside >= self.allowed:
                return
            now = time.monotonic()
            wait_s = max(
                self._shut_until - now, self._requests.find_wait(1, now), self._tokens.find_wait(tokens, now)
            )
            if wait_s > 0:
                self._timer = asyncio.get_running_loop().call_later(wait_s, self._let_in)
                return
            self._queue.popleft()
            self._requests.take(1, now)
            self._tokens.take(tokens, now)
            self._inside += 1
            turn.set_result(None)
