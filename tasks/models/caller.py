"""Gets a request answered: from the ledger, or from its endpoint into the ledger.

All model traffic of a process runs in one event loop in a thread of its own, so that stages in
several threads share each endpoint's queue, the budget, and the calls in flight.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from tasks.models.ask import Request
from tasks.models.budget import Budget
from tasks.models.client import Client, Sent
from tasks.models.entries import Entry
from tasks.models.ledger import Ledger

Result = TypeVar("Result")
GRACE_S = 30.0
"""How long a stopping run waits for calls in flight: they are paid for, so their replies are kept."""


@dataclass
class Flight:
    """A call under way, and how many wait for it."""

    task: asyncio.Task[Sent]
    waiting: int = 0


class Caller:
    """Answers requests for any number of stages, threads and event loops."""

    def __init__(self, ledger: Ledger, client: Client | None, budget: Budget | None = None) -> None:
        """client: None under `--replay`: then nothing can open a connection."""
        self.ledger, self.budget = ledger, budget or Budget()
        self._client = client
        self._flights: dict[str, Flight] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def replay(self) -> bool:
        """Whether only recorded calls may be used."""
        return self._client is None

    def recall(self, key: str) -> Entry | None:
        """Look a call up without asking anybody."""
        return self.ledger.get(key)

    async def ask(self, request: Request) -> Sent:
        """Ask live and record the answer; equal requests at one time are sent once.

        Raises what `Client.send` raises. Its return means that the ledger's commit has returned.
        """
        return await asyncio.wrap_future(self._submit(self._join(request)))

    def close(self, grace_s: float = GRACE_S) -> None:
        """Let calls in flight end and be recorded (within `grace_s`); queued ones are not sent."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._wind_down(grace_s), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _join(self, request: Request) -> Sent:
        key = request.key()
        flight = self._flights.get(key)
        first = flight is None
        if flight is None:
            flight = self._flights[key] = Flight(asyncio.create_task(self._fly(request, key)))
        flight.waiting += 1
        try:
            # Shielded: one stage's end must not take another's call away, nor lose a paid reply.
            sent = await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
        return sent if first else Sent(sent.entry, live=False)

    async def _fly(self, request: Request, key: str) -> Sent:
        assert self._client is not None, "a replay asks nobody"  # noqa: S101

        def find() -> Entry | None:
            # Another process may have recorded it while this one stood in the queue.
            if (entry := self.ledger.get(key)) is not None:
                return entry
            if self._flights[key].waiting == 0:
                raise asyncio.CancelledError  # nobody waits for it any more, so it is not sent
            return None

        try:
            sent = await self._client.send(request, find)
            if sent.live:
                await self.ledger.put_soon(sent.entry)
            return sent
        finally:
            del self._flights[key]

    async def _wind_down(self, grace_s: float) -> None:
        for flight in self._flights.values():
            flight.waiting = 0
        tasks = [flight.task for flight in self._flights.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    def _submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="models", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)
