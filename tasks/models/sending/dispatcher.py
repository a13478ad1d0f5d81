"""Answer requests from the ledger, or send them to the endpoint and record the answers.

All model traffic of a process runs in one event loop in a separate thread. Stages in several threads
therefore share the rate limits, the budget and the calls in flight.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from tasks.models.ask import Request, Send
from tasks.models.recording.asked_again import AskedAgain
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger
from tasks.models.sending.budget import Budget
from tasks.models.sending.progress import CallCounter, Progress
from tasks.models.sending.results import CallResult, RecordEntries
from tasks.models.settings import BatchMode

if TYPE_CHECKING:
    from tasks.models.sending.batching import Batcher
    from tasks.models.sending.client import ModelClient
    from tasks.models.sending.systems import SystemClient

Result = TypeVar("Result")
GRACE_S = 30.0
"""Seconds that a stopping run waits for calls in flight, whose replies are paid for and must be recorded."""
FIRST_POLL_S, MAX_POLL_S = 0.05, 1.0
"""First and maximum interval, in seconds, at which the ledger is polled for another process's answer."""


@dataclass
class CallInFlight:
    """A call in flight: its task, which several callers may share, and the number of waiting callers."""

    task: asyncio.Task[dict[str, CallResult]]
    batch: bool
    waiting: int = 0


class Dispatcher:
    """Answers requests for any number of stages, threads and event loops."""

    def __init__(
        self,
        ledger: Ledger,
        client: ModelClient | None,
        budget: Budget | None = None,
        batch: BatchMode | None = None,
        systems: SystemClient | None = None,
    ) -> None:
        """Store the settings; the event loop starts with the first request.

        `client`, `systems`: None under `--replay`, so that no connection can be opened.
        """
        self.ledger, self.budget = ledger, budget or Budget()
        self.batch = batch or BatchMode()
        self.counter = CallCounter()
        self.require_needs: Callable[[], None] = lambda: None
        """Called once, before the first call that is not recorded; raises an error if calls cannot be
        sent."""
        self.again: AskedAgain | None = None
        """The recorded calls to repeat; None if there are none."""
        self._client, self._systems = client, systems
        self._locks = ledger.open_locks()
        self._batcher: Batcher | None = None
        if client is not None:
            from tasks.models.sending.batching import Batcher

            self._batcher = Batcher(client, ledger, self.budget, self.batch, self._locks)
        self._in_flight: dict[str, CallInFlight] = {}
        self._room: asyncio.Task[None] | None = None
        """The task that checks, once per run, whether calls can be sent and recorded."""
        self._unanswered: dict[str, LedgerEntry] = {}
        """Key -> the entry of a call that got no answer in this run."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def replay(self) -> bool:
        """Return whether only recorded calls may be used."""
        return self._client is None

    def read_progress(self) -> Progress:
        """Return the progress of live calls, with failing endpoints and systems, and the budget's limits."""
        clients = [client for client in (self._client, self._systems) if client is not None]
        failing = tuple(report for client in clients for report in client.list_failing())
        limits = self.budget.limits
        return replace(
            self.counter.read_progress(), failing=failing, limit_usd=limits.usd, limit_tokens=limits.tokens
        )

    def list_notes(self) -> list[str]:
        """Return a line for each parameter that is removed or renamed for an endpoint."""
        return self._client.list_notes() if self._client is not None else []

    def find_recorded(self, key: str) -> LedgerEntry | None:
        """Return a call's ledger entry; None if the call is not recorded.

        An earlier run's entry without an answer is returned only in a replay, because a live run repeats the
        call. A call that `--ask-again` repeats counts as not recorded until the new answer arrives.
        """
        if self.again is not None and self.again.is_waiting(key):
            return self._unanswered.get(key)
        entry = self.ledger.get(key)
        if entry is None or not entry.is_unanswered or self.replay:
            return entry
        return self._unanswered.get(key)

    def choose(self, stage: str, variants: Sequence[Request]) -> Request:
        """Return the variant of a request to use for a stage; see `choose_recorded`.

        If `--ask-again` repeats the stage's calls, return the current (first) variant, and register the call
        as repeated.
        """
        if self.again is None or not self.again.covers(stage):
            return self.choose_recorded(variants)
        self.again.meet(stage, [variants[0].key()])
        return variants[0]

    def choose_recorded(self, variants: Sequence[Request]) -> Request:
        """Return the variant of a request whose answer is recorded, otherwise the first (current) variant.

        The last variant does not name the served model. Its answer was recorded before `served_model` was
        set, or is from a different model. This answer is used only if the reply names no model or the current
        model.
        """
        today, *earlier = variants
        if not earlier or self.find_recorded(today.key()) is not None:
            return today
        for variant in earlier:
            entry = self.find_recorded(variant.key())
            is_same = variant is not earlier[-1] or (
                entry is not None and (not entry.model_named or today.identity.endswith(entry.model_named))
            )
            if entry is not None and is_same:
                return variant
        return today

    def texts_per_call(self, model: str) -> int:
        """Return the maximum number of texts per embeddings call to a model."""
        assert self._client is not None, "a replay asks nobody"  # noqa: S101
        return self._client.find_endpoint(model).settings.texts_per_call

    async def ask(self, request: Request) -> CallResult:
        """Answer one request; see `ask_all`."""
        key = request.key()
        return (await self.ask_all({key: request}))[key]

    async def ask_all(self, requests: Mapping[str, Request], *, batch: bool = False) -> dict[str, CallResult]:
        """Answer requests to one model (key -> request): one question, or texts to embed in one call.

        Equal requests in flight are sent once. `batch`: use the Batch API, together with other calls made at
        about the same time. Raises the errors of `ModelClient.send`. On return, the answers are committed to
        the ledger.
        """
        return await asyncio.wrap_future(self._submit(self._share(requests, batch, None)))

    async def ask_system(self, request: Request, send: Send) -> CallResult:
        """Send one request to a system under test; see `ask_all`. Raises the errors of `SystemClient.put`."""
        key = request.key()
        answers = await asyncio.wrap_future(self._submit(self._share({key: request}, False, send)))
        return answers[key]

    def close(self, grace_s: float = GRACE_S) -> None:
        """Wait up to `grace_s` seconds for calls in flight and record them; cancel queued calls.

        Open batches are left for the next run that needs their answers.
        """
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._shut_down(grace_s), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        self._locks.close()

    def __enter__(self) -> Dispatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _share(
        self, requests: Mapping[str, Request], batch: bool, send: Send | None
    ) -> dict[str, CallResult]:
        new = {key: request for key, request in requests.items() if key not in self._in_flight}
        if new:
            task = asyncio.create_task(self._complete(new, batch, send))
            task.add_done_callback(_take_error)
            self._in_flight |= {key: CallInFlight(task, batch) for key in new}
        calls = {key: self._in_flight[key] for key in requests}
        for call in calls.values():
            call.waiting += 1
        answers: dict[str, CallResult] = {}
        try:
            for key, call in calls.items():
                # The shield ensures that a shared call continues if one stage stops, and that its paid reply
                # is recorded.
                sent = (await asyncio.shield(call.task))[key]
                answers[key] = sent if key in new else CallResult(sent.entry, live=False)
        finally:
            for call in calls.values():
                call.waiting -= 1
        return answers

    async def _complete(
        self, requests: Mapping[str, Request], batch: bool, send: Send | None
    ) -> dict[str, CallResult]:
        answers: dict[str, CallResult] = {}
        self.counter.begin(len(requests))
        try:
            await self._require_room()
            while missing := {key: request for key, request in requests.items() if key not in answers}:
                answers |= await self._complete_once(missing, batch, send)
                if busy := requests.keys() - answers.keys():
                    await self._wait_for_other_process(next(iter(busy)))
            return answers
        finally:
            self._unanswered |= {
                key: answer.entry for key, answer in answers.items() if answer.entry.is_unanswered
            }
            self.counter.end(len(requests), answers.values())
            for key in requests:
                del self._in_flight[key]

    async def _complete_once(
        self, requests: Mapping[str, Request], batch: bool, send: Send | None
    ) -> dict[str, CallResult]:
        """Answer the requests that are recorded or can be locked; skip requests locked by other processes."""
        assert self._client is not None, "a replay asks nobody"  # noqa: S101
        assert self._batcher is not None  # noqa: S101
        answers: dict[str, CallResult] = {}
        locked: set[str] = set()

        def admit(key: str) -> bool:
            if not any(self._in_flight[requested].waiting for requested in requests):
                raise asyncio.CancelledError  # no caller waits for the answers any more
            if not self._locks.acquire(key):
                return False
            locked.add(key)
            # Another process may have recorded the answer before it released the lock.
            if (entry := self.find_recorded(key)) is None:
                return True
            answers[key] = CallResult(entry, live=False)
            return False

        try:
            if send is not None:
                assert self._systems is not None  # noqa: S101 - opened with the client
                ((key, request),) = requests.items()
                return answers | await self._systems.put(key, request, send, admit, self._record)
            if batch:
                return answers | await self._batcher.send(requests, admit)
            return answers | await self._client.send(requests, admit, self._record)
        finally:
            for key in locked:
                self._locks.release(key)

    @property
    def _record(self) -> RecordEntries:
        return self.ledger.put_async if self.again is None else self.again.record

    async def _require_room(self) -> None:
        """Check, once per run, that calls can be sent and recorded. Raises BadInput."""
        if self._room is None:
            self._room = asyncio.create_task(asyncio.to_thread(self._prepare))
            self._room.add_done_callback(_take_error)
        await asyncio.shield(self._room)

    def _prepare(self) -> None:
        self.require_needs()
        self.ledger.require_room()

    async def _wait_for_other_process(self, key: str) -> None:
        wait_s = FIRST_POLL_S
        # A free lock without an answer means that the other process failed or has exited.
        while self.find_recorded(key) is None and not self._locks.acquire(key):
            await asyncio.sleep(wait_s)
            wait_s = min(MAX_POLL_S, 2 * wait_s)
        self._locks.release(key)

    async def _shut_down(self, grace_s: float) -> None:
        # If no caller waits, `admit` cancels a call that is still queued.
        for call in self._in_flight.values():
            call.waiting = 0
        tasks = {call.task for call in self._in_flight.values()}
        # A batch may take hours, and the next run can collect its answers.
        for task in {call.task for call in self._in_flight.values() if call.batch}:
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


def _take_error(task: asyncio.Task[Any]) -> None:
    """Retrieve the error of a task that no caller awaits; otherwise, asyncio prints it with a traceback."""
    if not task.cancelled():
        task.exception()
