"""Sends calls by the Batch API: gathered, submitted as a file, polled, collected; a kill loses none.

A batch is written into the ledger before it is created and leaves it with its answers, in one
commit. What a killed process had open the next one finds there, also the batch whose id never
came: a token of ours travels in its metadata. A lock on the token tells living owners from dead.
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

from tasks.errors import BadInput, ModelFailed
from tasks.models.ask import Request
from tasks.models.batch_files import Outcome, read_results, write_calls
from tasks.models.budget import Budget, Reservation
from tasks.models.call_locks import Claims
from tasks.models.client import Client, Line, Sent, worst_case
from tasks.models.entries import Entry
from tasks.models.failures import FAILED_SENDING, Failure, choose_wait, judge
from tasks.models.ledger import Doubt, Ledger, OpenBatch
from tasks.models.replies import Unusable, find_path
from tasks.models.settings import BatchMode

TOKEN = "benchloom"  # noqa: S105 - the name of a metadata field
FINAL = frozenset({"completed", "failed", "expired", "cancelled"})
CLOCKS_APART_S = 3600.0


@dataclass
class Wish:
    """A call that waits for a batch."""

    key: str
    request: Request
    outcome: asyncio.Future[Outcome]


@dataclass
class Pile:
    """What waits at one endpoint for the next batch, by the path that it is posted to."""

    line: Line
    path: str
    wishes: list[Wish] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Batcher:
    """Sends calls by batches, many callers' in one. Lives in one event loop."""

    def __init__(
        self, client: Client, ledger: Ledger, budget: Budget, mode: BatchMode, claims: Claims
    ) -> None:
        self._client, self._ledger, self._budget, self._mode = client, ledger, budget, mode
        self._claims = claims
        self._piles: dict[tuple[str, str], Pile] = {}
        self._open: dict[str, OpenBatch] = {}
        self._wishes: dict[str, list[Wish]] = {}
        """Who waits for what is in an open batch, by key."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def send(self, parcel: Mapping[str, Request], admit: Callable[[str], bool]) -> dict[str, Sent]:
        """Send requests by the next batch; see `Client.send`. Answers are in the ledger when it returns.

        Raises ModelFailed, BudgetSpent, and BadInput where the endpoint has no Batch API.
        """
        answers = await asyncio.gather(*(self._send(key, request, admit) for key, request in parcel.items()))
        return {key: sent for key, sent in zip(parcel, answers, strict=True) if sent is not None}

    async def close(self) -> None:
        """Stop waiting; open batches stay in the ledger for the next run."""
        for pile in self._piles.values():
            if pile.timer is not None:
                pile.timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _send(self, key: str, request: Request, admit: Callable[[str], bool]) -> Sent | None:
        line = self._client.line(request.model)
        if line.endpoint.kind == "embedded":
            raise BadInput("params.yaml: run.batch.stages", f"{line.name} is embedded and has no Batch API")
        sendings = 0
        while admit(key):
            sendings += 1
            reservation = await self._budget.reserve(line.name, *worst_case([request]), batch=True)
            try:
                outcome = await self._queue(line, key, request)
            except BaseException:
                # An open batch is paid for by the run that collects it.
                self._budget.release(reservation)
                raise
            if isinstance(outcome, Entry):
                cost = self._budget.settle(reservation, outcome.prompt_tokens, outcome.completion_tokens)
                return Sent(outcome, live=True, cost=cost)
            self._account(reservation, key, outcome)
            if not outcome.retry or sendings > line.endpoint.retries:
                raise ModelFailed(f"{line.name}: by batch, the endpoint {line.scrub(outcome.problem)}")
        return None

    def _account(self, reservation: Reservation, key: str, failure: Failure) -> None:
        if not failure.paid:
            self._budget.release(reservation)
            return
        self._budget.book_doubt(reservation)
        held = reservation
        doubt = Doubt(key, held.model, failure.problem, held.prompt_tokens, held.max_tokens, time.time())
        self._ledger.book_doubt(doubt)

    async def _queue(self, line: Line, key: str, request: Request) -> Outcome:
        loop = asyncio.get_running_loop()
        path = find_path(request)
        pile = self._piles.setdefault((line.name, path), Pile(line, path))
        wish = Wish(key, request, loop.create_future())
        pile.wishes.append(wish)
        if pile.timer is not None:
            pile.timer.cancel()
        pile.timer = loop.call_later(self._mode.gather_s, lambda: self._start(self._flush(pile)))
        return await wish.outcome

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _flush(self, pile: Pile) -> None:
        """Submit what has gathered, but for what an open batch of a killed process brings anyway."""
        async with pile.turn:
            wishes, pile.wishes = [wish for wish in pile.wishes if not wish.outcome.done()], []
            try:
                api = await self._connect(pile.line)
                await self._adopt(pile.line, api)
                new = [wish for wish in wishes if not self._is_under_way(wish)]
                for start in range(0, len(new), self._mode.calls):
                    await self._submit(pile, api, new[start : start + self._mode.calls])
            except Exception as error:  # noqa: BLE001 - those who wait must hear of it
                fail(wishes, describe(error, pile.line))

    async def _connect(self, line: Line) -> AsyncOpenAI:
        api = line.open(await self._client.find_url(line))
        # Neither looking nor uploading costs anything, so the library may try these again by itself.
        return api.with_options(max_retries=line.endpoint.retries)

    def _is_under_way(self, wish: Wish) -> bool:
        """Settle or attach a wish that needs no batch of its own."""
        if (entry := self._ledger.get(wish.key)) is not None:
            wish.outcome.set_result(entry)
            return True
        if any(wish.key in batch.keys for batch in self._open.values()):
            self._wishes.setdefault(wish.key, []).append(wish)
            return True
        return False

    async def _adopt(self, line: Line, api: AsyncOpenAI) -> None:
        for batch in self._ledger.list_batches():
            if batch.model != line.name or batch.token in self._open or not self._claims.take(batch.token):
                continue
            # Its owner may have named it, or collected it and ended, since the list was read.
            now = next((each for each in self._ledger.list_batches() if each.token == batch.token), None)
            if now is not None and not now.id:
                now = await self._find_lost(api, now)
            if now is None:
                self._claims.release(batch.token)
            else:
                self._follow(line, api, now)

    async def _find_lost(self, api: AsyncOpenAI, batch: OpenBatch) -> OpenBatch | None:
        found = await find_batch(api, batch)
        if found is None:
            await self._ledger.close_batch(batch.token)
            return None
        return replace(batch, id=found.id)

    async def _submit(self, pile: Pile, api: AsyncOpenAI, wishes: Sequence[Wish]) -> None:
        keys = tuple(wish.key for wish in wishes)
        batch = OpenBatch(uuid.uuid4().hex, pile.line.name, "", keys, time.time())
        self._claims.take(batch.token)
        calls = {wish.key: wish.request for wish in wishes}
        upload = write_calls(calls, pile.path, pile.line.endpoint.served_model)
        file = await api.files.create(file=("calls.jsonl", upload), purpose="batch")
        await self._ledger.book_batch(batch)
        try:
            created = await self._create(pile, api, batch, file.id)
        except ModelFailed:
            await self._ledger.close_batch(batch.token)
            raise
        batch = replace(batch, id=created.id)
        await self._ledger.book_batch(batch)
        for wish in wishes:
            self._wishes.setdefault(wish.key, []).append(wish)
        self._follow(pile.line, api, batch)

    async def _create(self, pile: Pile, api: AsyncOpenAI, batch: OpenBatch, file: str) -> Batch:
        """Create a batch once: where a reply is lost, the batch may be there, and is looked for."""
        for tries in range(1, pile.line.endpoint.retries + 2):
            try:
                return await api.with_options(max_retries=0).batches.create(
                    input_file_id=file,
                    endpoint=f"/v1{pile.path}",  # type: ignore[arg-type] # one of two of its literals
                    completion_window="24h",
                    metadata={TOKEN: batch.token},
                )
            except FAILED_SENDING as error:
                failure = judge(error)
                if not failure.retry:
                    raise
                await asyncio.sleep(choose_wait(tries, failure))
            if (found := await find_batch(api, batch)) is not None:
                return found
        raise ModelFailed(f"{pile.line.name}: no batch could be created after {tries} tries")

    def _follow(self, line: Line, api: AsyncOpenAI, batch: OpenBatch) -> None:
        self._open[batch.token] = batch
        self._start(self._collect(line, api, batch))

    async def _collect(self, line: Line, api: AsyncOpenAI, batch: OpenBatch) -> None:
        """Poll a batch until it has ended, record its answers, and hand them out."""
        try:
            outcomes = {
                key: replace(outcome, at=time.time(), model=line.name, batch=True)
                if isinstance(outcome, Entry)
                else outcome
                for key, outcome in (await self._wait_for(line, api, batch)).items()
            }
            entries = [outcome for outcome in outcomes.values() if isinstance(outcome, Entry)]
            await self._ledger.close_batch(batch.token, entries)
        except Exception as error:  # noqa: BLE001 - those who wait must hear of it; the batch stays open
            outcomes = dict.fromkeys(batch.keys, describe(error, line))
        del self._open[batch.token]
        self._claims.release(batch.token)
        for key in batch.keys:
            for wish in self._wishes.pop(key, ()):
                if not wish.outcome.done():
                    wish.outcome.set_result(outcomes[key])

    async def _wait_for(self, line: Line, api: AsyncOpenAI, batch: OpenBatch) -> dict[str, Outcome]:
        requests = {key: wishes[0].request for key in batch.keys if (wishes := self._wishes.get(key))}
        tries = 0
        while True:
            state = await api.batches.retrieve(batch.id)
            if state.status in FINAL:
                try:
                    texts = [
                        (await api.files.content(file)).text
                        for file in (state.output_file_id, state.error_file_id)
                        if file
                    ]
                    return read_results(texts, batch.keys, requests, state)
                except Unusable:
                    tries += 1
                    if tries > line.endpoint.retries:
                        raise
            await asyncio.sleep(self._mode.poll_s)


async def find_batch(api: AsyncOpenAI, batch: OpenBatch) -> Batch | None:
    """Look for a batch of ours whose id never came, newest first."""
    async for each in api.batches.list(limit=100):
        if (each.metadata or {}).get(TOKEN) == batch.token:
            return each
        if each.created_at < batch.at - CLOCKS_APART_S:
            return None
    return None


def describe(error: Exception, line: Line) -> Failure:
    """Say what kept a batch from its end. It is not tried again here; the same command goes on with it."""
    problem = judge(error).problem if isinstance(error, FAILED_SENDING) else line.scrub(str(error))
    return Failure(f"{problem}; run the same command again to go on with the batch", retry=False, paid=False)


def fail(wishes: Sequence[Wish], failure: Failure) -> None:
    """Tell all who still wait."""
    for wish in wishes:
        if not wish.outcome.done():
            wish.outcome.set_result(failure)
