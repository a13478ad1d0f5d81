"""Puts requests to systems under test: their queue, retries, a deadline, and what a failure means.

A system that gives a wrong reply, or none in time, has failed at that question: the call is recorded
as failed, with the reason as its text. One that cannot be reached, does not let us in, or only says that
it has too much to do, says nothing about itself: then the stage fails, and goes on from there when it is
run again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tasks.errors import ModelFailed
from tasks.models.ask import Request, Send
from tasks.models.client import Keep, Sent
from tasks.models.entries import Entry
from tasks.models.failures import Failure, choose_wait
from tasks.models.rate_limiter import Gate
from tasks.models.settings import SystemRun
from tasks.models.system_calls import FAILED
from tasks.models.transport import LiveDoor, SendFailed


class SystemLine:
    """One system with its queue."""

    def __init__(self, name: str, settings: SystemRun) -> None:
        self.name, self.settings = name, settings
        self.gate, self.door = Gate(name, settings), LiveDoor(name, settings)


@dataclass
class Visit:
    """One call of `Systems.put`: what is to be sent, and what it has taken so far."""

    line: SystemLine
    key: str
    send: Send
    admit: Callable[[str], bool]
    keep: Keep
    sendings: int = 0
    used_s: float = 0.0
    """The system's time and the waits between sendings."""

    def may_go_on(self, failure: Failure, wait_s: float) -> bool:
        """Tell whether it may be sent again after a wait."""
        limit = self.line.settings
        return failure.retry and self.sendings <= limit.retries and self.used_s + wait_s < limit.deadline_s

    async def record(self, text: str, finish_reason: str) -> Entry:
        """Record what came of it. It has no tokens: what a system costs is its owner's to know."""
        seconds = round(self.used_s, 3)
        entry = Entry(
            self.key, text, finish_reason, 0, 0,
            latency_s=seconds, attempts=self.sendings, at=time.time(),
        )  # fmt: skip
        await self.keep([entry])
        return entry


class Systems:
    """All systems of a run. Lives in one event loop, the models'."""

    def __init__(self, settings: Mapping[str, SystemRun]) -> None:
        self._settings = settings
        self._lines: dict[str, SystemLine] = {}

    async def put(
        self, key: str, request: Request, send: Send, admit: Callable[[str], bool], keep: Keep
    ) -> dict[str, Sent]:
        """Put one request to its system until it is answered or has failed; nothing where not admitted.

        Raises ModelFailed where the system cannot be reached, BadInput where it is not set up.
        """
        visit = Visit(self.line(request.model), key, send, admit, keep)
        while True:
            result = await self._try(visit)
            if result is None:
                return {}
            if isinstance(result, Entry):
                return {key: Sent(result, live=True)}
            wait_s = choose_wait(visit.sendings, result)
            if not visit.may_go_on(result, wait_s):
                return {key: Sent(await self._give_up(visit, result), live=True)}
            await asyncio.sleep(wait_s)
            visit.used_s += wait_s

    async def close(self) -> None:
        """Close all connections."""
        for line in self._lines.values():
            await line.door.close()

    def list_troubles(self) -> list[str]:
        """Say which systems give nothing but failures."""
        return [each for line in list(self._lines.values()) if (each := line.gate.trouble)]

    def line(self, name: str) -> SystemLine:
        """Give a system's queue and door; one that `run.systems` does not name has the defaults."""
        if name not in self._lines:
            self._lines[name] = SystemLine(name, self._settings.get(name, SystemRun()))
        return self._lines[name]

    async def _try(self, visit: Visit) -> Entry | Failure | None:
        """Send once, in turn; None where it is not to be sent any more."""
        line = visit.line
        # Else every question would be tried once, at an ever longer interval, before one is given up.
        ticket = await line.gate.enter(0, again=visit.sendings > 0)
        try:
            came = await self._send(visit) if visit.admit(visit.key) else None
        except BaseException:
            line.gate.leave_unsent(ticket)
            raise
        if came is None:
            line.gate.leave_unsent(ticket)
            return None
        if isinstance(came, Failure):
            line.gate.leave_failed(ticket, came, came.wait_s or 0.0)
            return came
        try:
            # Its place is given away once it is on disk: a kill then loses no more than was in flight.
            return await visit.record(line.door.scrub(came), "stop")
        finally:
            line.gate.leave_answered(ticket, 0)

    async def _send(self, visit: Visit) -> str | Failure:
        # The queue is not the system's time: the clock starts behind it.
        started, limit = time.monotonic(), visit.line.settings
        visit.sendings += 1
        try:
            async with asyncio.timeout(min(limit.timeout_s, limit.deadline_s - visit.used_s)):
                return await visit.send(visit.line.door)
        except SendFailed as error:
            return error.failure
        except TimeoutError:
            return Failure("gave no reply in time", retry=True, paid=True)
        finally:
            visit.used_s += time.monotonic() - started

    async def _give_up(self, visit: Visit, failure: Failure) -> Entry:
        problem = visit.line.door.scrub(failure.problem)
        if not failure.paid:
            raise ModelFailed(
                f"{visit.line.name}: no answer after {visit.sendings} tries; the system {problem}"
            )
        return await visit.record(f"the system {problem}", FAILED)
