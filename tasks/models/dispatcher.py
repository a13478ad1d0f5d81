"""Gets requests answered: from the ledger, or from their endpoint into the ledger.

All model traffic of a process runs in one event loop in a thread of its own, so that stages in
several threads share each endpoint's queue, the budget, and the calls in flight.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tasks.models.ask import Request, Send
from tasks.models.batching import Batcher
from tasks.models.budget import Budget
from tasks.models.call_locks import Claims
from tasks.models.client import Client, Sent
from tasks.models.entries import Entry
from tasks.models.ledger import Ledger
from tasks.models.progress import Progress, Tally
from tasks.models.settings import BatchMode
from tasks.models.systems import Systems

Result = TypeVar("Result")
GRACE_S = 30.0
"""How long a stopping run waits for calls in flight: they are paid for, so their replies are kept."""
FIRST_LOOK_S, LONGEST_LOOK_S = 0.05, 1.0
"""How often it is looked whether another process has got the answer that it is asking for."""


@dataclass
class Flight:
    """A call under way, perhaps with others in one parcel, and how many wait for it."""

    task: asyncio.Task[dict[str, Sent]]
    batch: bool
    waiting: int = 0


class Caller:
    """Answers requests for any number of stages, threads and event loops."""

    def __init__(
        self,
        ledger: Ledger,
        client: Client | None,
        budget: Budget | None = None,
        batch: BatchMode | None = None,
        systems: Systems | None = None,
    ) -> None:
        """client, systems: None under `--replay`: then nothing can open a connection."""
        self.ledger, self.budget = ledger, budget or Budget()
        self.batch = batch or BatchMode()
        self.tally = Tally()
        self._client, self._systems = client, systems
        self._claims = Claims(ledger.path.with_name(ledger.path.name + "-claims"))
        self._batcher = (
            Batcher(client, ledger, self.budget, self.batch, self._claims) if client is not None else None
        )
        self._flights: dict[str, Flight] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def replay(self) -> bool:
        """Whether only recorded calls may be used."""
        return self._client is None

    def look(self) -> Progress:
        """Look how far the calls are, and which endpoints fail."""
        doors = [each for each in (self._client, self._systems) if each is not None]
        return replace(
            self.tally.look(), troubles=tuple(line for door in doors for line in door.list_troubles())
        )

    def recall(self, key: str) -> Entry | None:
        """Look a call up without asking anybody."""
        return self.ledger.get(key)

    def texts_per_call(self, model: str) -> int:
        """Say how many texts one embeddings call to a model carries."""
        assert self._client is not None, "a replay asks nobody"  # noqa: S101
        return self._client.line(model).endpoint.texts_per_call

    async def ask(self, request: Request) -> Sent:
        """Ask one request; see `ask_all`."""
        key = request.key()
        return (await self.ask_all({key: request}))[key]

    async def ask_all(self, requests: Mapping[str, Request], *, batch: bool = False) -> dict[str, Sent]:
        """Ask requests of one model, by key: one question, or texts that are embedded in one call.

        Equal requests at one time are sent once. batch: by the Batch API, with others that are asked
        about the same time. Raises what `Client.send` raises. Its return means that the ledger's
        commit has returned.
        """
        return await asyncio.wrap_future(self._submit(self._join(requests, batch, None)))

    async def ask_system(self, request: Request, send: Send) -> Sent:
        """Put one request to a system under test; see `ask_all`. Raises what `Systems.put` raises."""
        key = request.key()
        answers = await asyncio.wrap_future(self._submit(self._join({key: request}, False, send)))
        return answers[key]

    def close(self, grace_s: float = GRACE_S) -> None:
        """Let calls in flight end and be recorded (within `grace_s`); queued ones are not sent.

        Open batches are not waited for: the next run that needs them goes on waiting.
        """
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._wind_down(grace_s), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        self._claims.close()

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _join(self, requests: Mapping[str, Request], batch: bool, send: Send | None) -> dict[str, Sent]:
        ours = {key: request for key, request in requests.items() if key not in self._flights}
        if ours:
            task = asyncio.create_task(self._fly(ours, batch, send))
            self._flights |= {key: Flight(task, batch) for key in ours}
        flights = {key: self._flights[key] for key in requests}
        for flight in flights.values():
            flight.waiting += 1
        answers: dict[str, Sent] = {}
        try:
            for key, flight in flights.items():
                # Shielded: one stage's end must not take another's call away, nor lose a paid reply.
                sent = (await asyncio.shield(flight.task))[key]
                answers[key] = sent if key in ours else Sent(sent.entry, live=False)
        finally:
            for flight in flights.values():
                flight.waiting -= 1
        return answers

    async def _fly(self, parcel: Mapping[str, Request], batch: bool, send: Send | None) -> dict[str, Sent]:
        answers: dict[str, Sent] = {}
        self.tally.begin(len(parcel))
        try:
            while missing := {key: request for key, request in parcel.items() if key not in answers}:
                answers |= await self._fly_once(missing, batch, send)
                if busy := parcel.keys() - answers.keys():
                    await self._wait_elsewhere(next(iter(busy)))
            return answers
        finally:
            self.tally.end(len(parcel), answers.values())
            for key in parcel:
                del self._flights[key]

    async def _fly_once(
        self, parcel: Mapping[str, Request], batch: bool, send: Send | None
    ) -> dict[str, Sent]:
        """Get what is recorded meanwhile or can be claimed; what another process asks is left out."""
        assert self._client is not None, "a replay asks nobody"  # noqa: S101
        assert self._batcher is not None  # noqa: S101
        answers: dict[str, Sent] = {}
        claimed: set[str] = set()

        def admit(key: str) -> bool:
            if not any(self._flights[each].waiting for each in parcel):
                raise asyncio.CancelledError  # nobody waits for it any more, so it is not sent
            if not self._claims.take(key):
                return False
            claimed.add(key)
            if (entry := self.ledger.get(key)) is None:
                return True
            answers[key] = Sent(entry, live=False)
            return False

        try:
            if send is not None:
                assert self._systems is not None  # noqa: S101 - opened with the client
                ((key, request),) = parcel.items()
                return answers | await self._systems.put(key, request, send, admit, self.ledger.put_soon)
            if batch:
                return answers | await self._batcher.send(parcel, admit)
            return answers | await self._client.send(parcel, admit, self.ledger.put_soon)
        finally:
            for key in claimed:
                self._claims.release(key)

    async def _wait_elsewhere(self, key: str) -> None:
        wait_s = FIRST_LOOK_S
        while self.ledger.get(key) is None and not self._claims.take(key):
            await asyncio.sleep(wait_s)
            wait_s = min(LONGEST_LOOK_S, 2 * wait_s)
        self._claims.release(key)

    async def _wind_down(self, grace_s: float) -> None:
        for flight in self._flights.values():
            flight.waiting = 0
        tasks = {flight.task for flight in self._flights.values()}
        for task in {flight.task for flight in self._flights.values() if flight.batch}:
            task.cancel()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._batcher is not None:
            await self._batcher.close()
        if self._systems is not None:
            await self._systems.close()
        if self._client is not None:
            await self._client.close()

    def _submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="models", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)
