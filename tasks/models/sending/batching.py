"""Send calls through the Batch API: gather the calls, submit them as a file, poll, and collect the answers.

No batch is lost if the process is killed. A batch is recorded in the ledger before it is created, and removed
in the commit that records its answers. A later process finds a killed process's open batches in the ledger.
If a batch's id never arrived, a random token in the batch's metadata identifies the batch. A lock on the
token shows whether the process that submitted the batch is still running.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from openai import AsyncOpenAI
from openai.types import Batch

from tasks.errors import BadInput, BenchloomError, ModelFailed
from tasks.models.ask import Request
from tasks.models.incoming import plain
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger, OpenBatch, PossiblyPaid
from tasks.models.recording.stores import CallLocks
from tasks.models.sending.batch_files import BatchOutcome, read_results, write_calls
from tasks.models.sending.budget import Budget, Reservation
from tasks.models.sending.client import (
    EndpointClient,
    ModelClient,
    make_unanswered,
)
from tasks.models.sending.failures import SENDING_ERRORS, Failure, choose_wait, classify_failure
from tasks.models.sending.replies import UnusableReply, estimate_worst_case, find_path
from tasks.models.sending.results import CallResult
from tasks.models.settings import BatchMode

TOKEN = "benchloom"  # noqa: S105 - the name of a metadata field
"""The metadata field with the random token that identifies a Benchloom batch."""
FINAL = frozenset({"completed", "failed", "expired", "cancelled"})
"""Statuses of a batch that has ended."""
MAX_CLOCK_SKEW_S = 3600.0
"""Allowed difference in seconds between the local clock and the provider's clock, in a search for a batch
by its submission time."""
MAX_LISTED = 10_000
"""Maximum number of batches to list at the provider in a search for a batch whose id was lost."""


@dataclass
class PendingCall:
    """A call that waits for its answer in a batch."""

    key: str
    request: Request
    outcome: asyncio.Future[BatchOutcome]


@dataclass
class PendingBatch:
    """The calls for one endpoint and URL path that wait for the next batch."""

    endpoint: EndpointClient
    path: str
    calls: list[PendingCall] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None
    flush_lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Batcher:
    """Sends calls in batches that all stages share. Must be used from a single event loop."""

    def __init__(
        self, client: ModelClient, ledger: Ledger, budget: Budget, mode: BatchMode, locks: CallLocks
    ) -> None:
        self._client, self._ledger, self._budget, self._mode = client, ledger, budget, mode
        self._locks = locks
        self._pending: dict[tuple[str, str], PendingBatch] = {}
        self._open: dict[str, OpenBatch] = {}
        self._waiting: dict[str, list[PendingCall]] = {}
        """Ledger key -> the calls that wait for this answer from an open batch."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def send(
        self, requests: Mapping[str, Request], admit: Callable[[str], bool]
    ) -> dict[str, CallResult]:
        """Send requests in the next batch; see `ModelClient.send`. On return, the answers are in the ledger.

        Raises ModelFailed, BudgetSpent, and BadInput if the endpoint has no Batch API.
        """
        results = await asyncio.gather(
            *(self._send(key, request, admit) for key, request in requests.items())
        )
        return {key: result for key, result in zip(requests, results, strict=True) if result is not None}

    async def close(self) -> None:
        """Stop waiting for open batches; the next run can collect them."""
        for pending in self._pending.values():
            if pending.timer is not None:
                pending.timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _send(self, key: str, request: Request, admit: Callable[[str], bool]) -> CallResult | None:
        endpoint = self._client.find_endpoint(request.model)
        if (kind := endpoint.settings.kind) != "openai":
            what = f"{endpoint.name} has the kind {kind}, which has no Batch API"
            raise BadInput("params.yaml: run.batch.stages", what)
        attempts = 0
        while admit(key):
            attempts += 1
            reservation = await self._budget.reserve(
                endpoint.name, *estimate_worst_case([request]), batch=True
            )
            try:
                outcome = await self._queue(endpoint, key, request)
            except BaseException:
                # The cost of an open batch is charged to the run that collects it.
                self._budget.release(reservation)
                raise
            if isinstance(outcome, LedgerEntry):
                cost = self._budget.settle(reservation, outcome.prompt_tokens, outcome.completion_tokens)
                return CallResult(outcome, live=True, cost=cost)
            self._account(reservation, key, outcome)
            if not outcome.retry or attempts > endpoint.settings.retries:
                if outcome.item:
                    entry = make_unanswered(key, endpoint.name, outcome, attempts)
                    await self._ledger.put_async([entry])
                    return CallResult(entry, live=True)
                raise ModelFailed(f"{endpoint.name}: in batch mode, the endpoint {outcome.problem}")
        return None

    def _account(self, reservation: Reservation, key: str, failure: Failure) -> None:
        if not failure.paid:
            self._budget.release(reservation)
            return
        self._budget.record_possibly_paid(reservation)
        self._ledger.record_possibly_paid(
            PossiblyPaid(
                key,
                reservation.model,
                failure.problem,
                reservation.prompt_tokens,
                reservation.max_tokens,
                time.time(),
            )
        )

    async def _queue(self, endpoint: EndpointClient, key: str, request: Request) -> BatchOutcome:
        loop = asyncio.get_running_loop()
        path = find_path(request)
        pending = self._pending.setdefault((endpoint.name, path), PendingBatch(endpoint, path))
        call = PendingCall(key, request, loop.create_future())
        self._gather(pending, [call], self._mode.gather_s)
        return await call.outcome

    def _gather(self, pending: PendingBatch, calls: Sequence[PendingCall], wait_s: float) -> None:
        """Add calls to the next batch, and submit it once no call has been added for `wait_s` seconds."""
        pending.calls += calls
        if pending.timer is not None:
            pending.timer.cancel()
        loop = asyncio.get_running_loop()
        pending.timer = loop.call_later(wait_s, lambda: self._start(self._flush(pending)))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _flush(self, pending: PendingBatch) -> None:
        """Submit the gathered calls, except calls that are already in an open batch."""
        async with pending.flush_lock:
            calls, pending.calls = [call for call in pending.calls if not call.outcome.done()], []
            try:
                api = await self._connect(pending.endpoint)
                followed = await self._adopt_open_batches(pending.endpoint, api)
                new = [call for call in calls if not self._is_under_way(call)]
                # Another process collects the batch with these calls, so the ledger will have the answers.
                if late := [call for call in new if call.key in followed]:
                    new = [call for call in new if call.key not in followed]
                    self._gather(pending, late, self._mode.poll_s)
                for start in range(0, len(new), self._mode.calls):
                    await self._submit(pending, api, new[start : start + self._mode.calls])
            except Exception as error:  # noqa: BLE001 - report the error to the waiting calls
                fail(calls, describe(error))

    async def _connect(self, endpoint: EndpointClient) -> AsyncOpenAI:
        api = endpoint.open(await self._client.find_url(endpoint))
        # Reads and uploads are free, so the openai library may retry them automatically.
        return api.with_options(max_retries=endpoint.settings.retries)

    def _is_under_way(self, call: PendingCall) -> bool:
        """Answer a call from the ledger or let it wait for its open batch; return False if neither exists."""
        if (entry := self._ledger.get(call.key)) is not None and not entry.is_unanswered:
            call.outcome.set_result(entry)
            return True
        if any(call.key in batch.keys for batch in self._open.values()):
            self._waiting.setdefault(call.key, []).append(call)
            return True
        return False

    async def _adopt_open_batches(self, endpoint: EndpointClient, api: AsyncOpenAI) -> set[str]:
        """Take over batches of ended processes; return the keys of calls in running processes' batches."""
        followed: set[str] = set()
        for batch in self._ledger.list_batches():
            if batch.model != endpoint.name or batch.token in self._open:
                continue
            if not self._locks.acquire(batch.token):
                followed.update(batch.keys)
                continue
            # Since the list was read, the batch's process may have recorded the id, or collected the batch.
            current = next(
                (open_ for open_ in self._ledger.list_batches() if open_.token == batch.token), None
            )
            if current is not None and not current.id:
                current = await self._find_lost(api, current)
            if current is None:
                self._locks.release(batch.token)
            else:
                self._follow(endpoint, api, current)
        return followed

    async def _find_lost(self, api: AsyncOpenAI, batch: OpenBatch) -> OpenBatch | None:
        found = await find_batch(api, batch)
        if found is None:
            await self._ledger.close_batch(batch.token)
            return None
        return replace(batch, id=found.id)

    async def _submit(self, pending: PendingBatch, api: AsyncOpenAI, calls: Sequence[PendingCall]) -> None:
        keys = tuple(call.key for call in calls)
        batch = OpenBatch(uuid.uuid4().hex, pending.endpoint.name, "", keys, time.time())
        self._locks.acquire(batch.token)
        requests = {call.key: call.request for call in calls}
        settings = pending.endpoint.settings
        upload = write_calls(requests, pending.path, settings)
        file = await api.files.create(file=("calls.jsonl", upload), purpose="batch")
        await self._ledger.book_batch(batch)
        try:
            created = await self._create(pending, api, batch, file.id)
        except ModelFailed:
            await self._ledger.close_batch(batch.token)
            raise
        batch = replace(batch, id=created.id)
        await self._ledger.book_batch(batch)
        for call in calls:
            self._waiting.setdefault(call.key, []).append(call)
        self._follow(pending.endpoint, api, batch)

    async def _create(self, pending: PendingBatch, api: AsyncOpenAI, batch: OpenBatch, file: str) -> Batch:
        """Create a batch exactly once: after a lost reply, search for the batch before retrying."""
        for tries in range(1, pending.endpoint.settings.retries + 2):
            try:
                return await api.with_options(max_retries=0).batches.create(
                    input_file_id=file,
                    endpoint=f"/v1{pending.path}",  # type: ignore[arg-type] # one of two of its literals
                    # The only window that the API accepts.
                    completion_window="24h",
                    metadata={TOKEN: batch.token},
                )
            except SENDING_ERRORS as error:
                failure = classify_failure(error)
                if not failure.retry:
                    raise
                await asyncio.sleep(choose_wait(tries, failure))
            if (found := await find_batch(api, batch)) is not None:
                return found
        raise ModelFailed(f"{pending.endpoint.name}: no batch could be created after {tries} tries")

    def _follow(self, endpoint: EndpointClient, api: AsyncOpenAI, batch: OpenBatch) -> None:
        self._open[batch.token] = batch
        self._start(self._collect(endpoint, api, batch))

    async def _collect(self, endpoint: EndpointClient, api: AsyncOpenAI, batch: OpenBatch) -> None:
        """Poll a batch until it has ended, record its answers, and return them to the waiting calls."""
        try:
            outcomes = {
                key: replace(outcome, at=time.time(), model=endpoint.name, batch=True)
                if isinstance(outcome, LedgerEntry)
                else outcome
                for key, outcome in (await self._wait_for(endpoint, api, batch)).items()
            }
            entries = [outcome for outcome in outcomes.values() if isinstance(outcome, LedgerEntry)]
            await self._ledger.close_batch(batch.token, entries)
        except Exception as error:  # noqa: BLE001 - report the error to the calls; the batch stays open
            outcomes = dict.fromkeys(batch.keys, describe(error))
        del self._open[batch.token]
        self._locks.release(batch.token)
        for key in batch.keys:
            for call in self._waiting.pop(key, ()):
                if not call.outcome.done():
                    call.outcome.set_result(outcomes[key])

    async def _wait_for(
        self, endpoint: EndpointClient, api: AsyncOpenAI, batch: OpenBatch
    ) -> dict[str, BatchOutcome]:
        requests = {key: calls[0].request for key in batch.keys if (calls := self._waiting.get(key))}
        tries = 0
        while True:
            state = await api.batches.retrieve(batch.id)
            if state.status in FINAL:
                names = [file for file in (state.output_file_id, state.error_file_id) if file]
                files = [(await api.files.content(str(file))).content for file in names]
                tries += 1
                try:
                    return read_results(
                        files,
                        batch.keys,
                        requests,
                        state,
                        strips_reasoning=endpoint.settings.reasoning == "strip",
                        # After the last retry, skip unreadable lines, because the readable answers are paid
                        # for.
                        skips_broken=tries > endpoint.settings.retries,
                    )
                except UnusableReply:
                    pass
            await asyncio.sleep(self._mode.poll_s)


async def find_batch(api: AsyncOpenAI, batch: OpenBatch) -> Batch | None:
    """Return the provider's batch with the token of `batch`, whose id is unknown; None if not found.

    The search covers the newest MAX_LISTED batches, back to MAX_CLOCK_SKEW_S seconds before `batch.at`.
    """
    seen = 0
    async for listed in api.batches.list(limit=100):
        seen += 1
        if (listed.metadata or {}).get(TOKEN) == batch.token:
            return listed
        if listed.created_at < batch.at - MAX_CLOCK_SKEW_S or seen == MAX_LISTED:
            return None
    return None


def describe(error: Exception) -> Failure:
    """Return a failure that states why a batch was not submitted or collected.

    The failure also says to rerun the command.
    """
    problem = (
        classify_failure(error).problem
        if isinstance(error, SENDING_ERRORS)
        else plain(str(error) if isinstance(error, BenchloomError) else f"{type(error).__name__}: {error}")
    )
    return Failure(f"{problem}; run the same command again to continue the batch", retry=False, paid=False)


def fail(calls: Sequence[PendingCall], failure: Failure) -> None:
    """Set a failure as the outcome of all calls that are still waiting."""
    for call in calls:
        if not call.outcome.done():
            call.outcome.set_result(failure)
