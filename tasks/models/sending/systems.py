"""Send requests to systems under test: rate limit, retries, deadline, and what a failure means.

A system that gives an unusable reply, or none in time, has failed at that question: the call is
recorded as failed, with the reason as its text. A system that cannot be reached, refuses the key, or
only answers that it is busy, has not shown anything about itself: the stage fails, and continues from
there when it is run again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tasks.errors import ModelFailed
from tasks.models.ask import Request, Send
from tasks.models.recording.entries import LedgerEntry
from tasks.models.request_builder import FAILED
from tasks.models.sending.client import CallResult, RecordEntries
from tasks.models.sending.failures import Failure, choose_wait
from tasks.models.sending.rate_limiter import RateLimiter
from tasks.models.sending.transport import LiveTransport, SendFailed
from tasks.models.settings import SystemRun


class SystemConnection:
    """One system: its settings, rate limiter and transport."""

    def __init__(self, name: str, settings: SystemRun) -> None:
        self.name, self.settings = name, settings
        self.limiter, self.transport = RateLimiter(name, settings), LiveTransport(name, settings)


@dataclass
class SystemCall:
    """The state of one `SystemClient.put`: what is to be sent, attempts and seconds used so far."""

    connection: SystemConnection
    key: str
    send: Send
    admit: Callable[[str], bool]
    record_entries: RecordEntries
    attempts: int = 0
    used_s: float = 0.0
    """Time spent by the system and waiting between attempts."""

    def may_go_on(self, failure: Failure, wait_s: float) -> bool:
        """Tell whether the request may be sent again after a wait."""
        limit = self.connection.settings
        return failure.retry and self.attempts <= limit.retries and self.used_s + wait_s < limit.deadline_s

    async def record(self, text: str, finish_reason: str) -> LedgerEntry:
        """Record the outcome. It has no tokens: the cost of a system is not known here."""
        seconds = round(self.used_s, 3)
        entry = LedgerEntry(
            self.key, text, finish_reason, 0, 0,
            latency_s=seconds, attempts=self.attempts, at=time.time(),
        )  # fmt: skip
        await self.record_entries([entry])
        return entry


class SystemClient:
    """All systems of a run. Belongs to the event loop of the model layer."""

    def __init__(self, settings: Mapping[str, SystemRun]) -> None:
        self._settings = settings
        self._connections: dict[str, SystemConnection] = {}

    async def put(
        self,
        key: str,
        request: Request,
        send: Send,
        admit: Callable[[str], bool],
        record_entries: RecordEntries,
    ) -> dict[str, CallResult]:
        """Send one request to its system until it is answered or has failed; {} if it is not admitted.

        Raises ModelFailed if the system cannot be reached, BadInput if it is not set up.
        """
        call = SystemCall(self.connect(request.model), key, send, admit, record_entries)
        while True:
            result = await self._try(call)
            if result is None:
                return {}
            if isinstance(result, LedgerEntry):
                return {key: CallResult(result, live=True)}
            wait_s = choose_wait(call.attempts, result)
            if not call.may_go_on(result, wait_s):
                return {key: CallResult(await self._give_up(call, result), live=True)}
            await asyncio.sleep(wait_s)
            call.used_s += wait_s

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            await connection.transport.close()

    def list_failing(self) -> list[str]:
        """Describe the systems whose last calls all failed, a line each."""
        reports = [connection.limiter.failure_report for connection in list(self._connections.values())]
        return [report for report in reports if report]

    def connect(self, name: str) -> SystemConnection:
        """Return the connection to a system; one without an entry in `run.systems` has the defaults."""
        if name not in self._connections:
            self._connections[name] = SystemConnection(name, self._settings.get(name, SystemRun()))
        return self._connections[name]

    async def _try(self, call: SystemCall) -> LedgerEntry | Failure | None:
        """Make one attempt, once the rate limiter allows it; None if the call is no longer admitted."""
        connection = call.connection
        # Retries go first: else every question would be tried once before any is given up.
        permit = await connection.limiter.acquire(0, again=call.attempts > 0)
        try:
            reply = await self._send(call) if call.admit(call.key) else None
        except BaseException:
            connection.limiter.release_unsent(permit)
            raise
        if reply is None:
            connection.limiter.release_unsent(permit)
            return None
        if isinstance(reply, Failure):
            connection.limiter.release_failed(permit, reply, reply.wait_s or 0.0)
            return reply
        try:
            # The permit is released once the reply is on disk: a kill then loses only calls in flight.
            return await call.record(reply, "stop")
        finally:
            connection.limiter.release_answered(permit, 0)

    async def _send(self, call: SystemCall) -> str | Failure:
        # Time in the queue does not count against the deadline.
        started, limit = time.monotonic(), call.connection.settings
        call.attempts += 1
        try:
            async with asyncio.timeout(min(limit.timeout_s, limit.deadline_s - call.used_s)):
                return await call.send(call.connection.transport)
        except SendFailed as error:
            return error.failure
        except TimeoutError:
            return Failure("gave no reply in time", retry=True, paid=True)
        finally:
            call.used_s += time.monotonic() - started

    async def _give_up(self, call: SystemCall, failure: Failure) -> LedgerEntry:
        if not failure.paid:
            raise ModelFailed(
                f"{call.connection.name}: no answer after {call.attempts} tries; the system {failure.problem}"
            )
        return await call.record(f"the system {failure.problem}", FAILED)
