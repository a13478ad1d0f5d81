"""Compare pairs of queries on SQLite files in worker processes, which are killed if a query hangs."""

from __future__ import annotations

import contextlib
import json
import marshal
import mmap
import select
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tasks.errors import BenchloomError
from tasks.scoring.outcome import Outcome
from tasks.scoring.sql_worker import COMPARED, GOLD, LENGTH, POSITION, SLOW_SECONDS, SqlVerdict

ROOT = Path(__file__).parents[2]
START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tasks.scoring.sql_worker import main; main()"
START_SECONDS = 60.0
"""Maximum time in seconds for a worker to start."""
GRACE_SECONDS = 0.3
"""Seconds from a query's time limit until its process is killed; SQLite may stop the query before then."""
POLL_SECONDS = 0.05
"""Seconds to wait for verdicts before checking the workers."""
BATCH = 64
"""Maximum number of pairs in a worker's batch."""


class QueryPair(NamedTuple):
    """Two queries to compare by a rule on one or more databases."""

    rule: str
    uris: tuple[str, ...]
    gold: str
    predicted: str
    ordered: bool = False
    soft: bool = False
    """Whether to compute soft F1 in addition to the outcome."""


class NumberedPair(NamedTuple):
    """A pair of queries and its position in the order of the verdicts."""

    number: int
    pair: QueryPair


class SqlPool:
    """A context manager for read-only worker processes, which keep their connections open.

    `seconds`: the time limit per query. `memory_mb`: the memory limit per worker, in MiB.
    """

    def __init__(self, *, workers: int = 2, seconds: float = 30.0, memory_mb: int = 1024) -> None:
        self._setup = {"seconds": seconds, "memory": memory_mb << 20}
        self._size = workers
        self._workers: list[_Worker] = []
        self._queue: deque[NumberedPair] = deque()

    def judge(self, pairs: Iterable[QueryPair]) -> Iterator[SqlVerdict]:
        """Yield a verdict for each pair, in the order of the pairs.

        The outcome is correct, wrong or empty according to the rule, or error, timeout or gold-error. Raises
        BenchloomError if a worker does not start, but never because of a query.
        """
        source = map(NumberedPair, count(), pairs)
        waiting: dict[int, SqlVerdict] = {}
        following = 0
        self._fill_queue(source)
        while self._distribute():
            # While the workers are busy, read more pairs and let the caller process verdicts.
            self._fill_queue(source)
            while following in waiting:
                yield waiting.pop(following)
                following += 1
            for number, verdict in self._collect():
                waiting.setdefault(number, verdict)
        while following in waiting:
            yield waiting.pop(following)
            following += 1

    def close(self) -> None:
        """Kill the workers, even if they are busy."""
        while self._workers:
            self._workers.pop().kill()

    def __enter__(self) -> SqlPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fill_queue(self, source: Iterator[NumberedPair]) -> None:
        self._queue.extend(islice(source, max(0, 4 * BATCH * self._size - len(self._queue))))

    def _distribute(self) -> bool:
        """Send a batch to every idle worker; return whether any worker is busy."""
        while self._queue:
            worker = self._find_idle()
            if worker is None:
                break
            # Smaller batches near the end keep all workers busy until the last pair.
            fair = len(self._queue) // (2 * self._size)
            count = min(max(1, fair), BATCH)
            worker.send([self._queue.popleft() for _ in range(min(count, len(self._queue)))])
        return any(worker.batch for worker in self._workers)

    def _find_idle(self) -> _Worker | None:
        for worker in self._workers:
            if not worker.batch:
                return worker
        if len(self._workers) == self._size:
            return None
        self._workers.append(_Worker(self._setup))
        return self._workers[-1]

    def _collect(self) -> Iterator[tuple[int, SqlVerdict]]:
        """Yield verdicts that arrive within POLL_SECONDS, and end the other workers if they hang."""
        poll = select.poll()
        for worker in self._workers:
            if worker.batch:
                poll.register(worker.descriptor, select.POLLIN | select.POLLHUP)
        ready = {descriptor for descriptor, _ in poll.poll(POLL_SECONDS * 1000)}
        for worker in [busy for busy in self._workers if busy.batch]:
            if worker.descriptor in ready:
                verdicts = worker.receive()
                yield from verdicts
                if not worker.alive:
                    yield from self._end_worker(worker, Outcome.ERROR, "the engine ended by itself")
                elif any(verdict.lost for _, verdict in verdicts):
                    self._remove(worker)
            else:
                yield from self._check_silent(worker)
            # Verdicts are yielded in order, so released pairs go first: later verdicts wait for them.
            self._queue.extendleft(reversed(worker.pop_leftovers()))

    def _check_silent(self, worker: _Worker) -> Iterator[tuple[int, SqlVerdict]]:
        silent = worker.measure_silence()
        if silent > 2 * SLOW_SECONDS:
            worker.release_rest()
        if silent > (self._setup["seconds"] if worker.started else START_SECONDS) + GRACE_SECONDS:
            yield from self._end_worker(
                worker, Outcome.TIMEOUT, f"no end within {self._setup['seconds']:g} s"
            )

    def _end_worker(self, worker: _Worker, outcome: Outcome, reason: str) -> Iterator[tuple[int, SqlVerdict]]:
        """Kill a worker; its current pair gets `outcome`, and its other pairs go to other workers."""
        self._remove(worker)
        culprit, step = worker.locate()
        if step == GOLD:
            outcome, reason = Outcome.GOLD_ERROR, f"the gold query: {reason}"
        if culprit is not None:
            worker.batch.remove(culprit)
            yield culprit.number, SqlVerdict(outcome, reason)
        worker.leftovers += worker.batch

    def _remove(self, worker: _Worker) -> None:
        worker.kill()
        self._workers.remove(worker)


class _Worker:
    """The parent process's handle to one worker process."""

    def __init__(self, setup: dict[str, float]) -> None:
        self.batch: list[NumberedPair] = []
        self.leftovers: list[NumberedPair] = []
        self.alive = True
        with tempfile.TemporaryFile() as file:
            file.truncate(POSITION.size)
            self._page = mmap.mmap(file.fileno(), POSITION.size)
            self._process = subprocess.Popen(  # noqa: S603 (our own script, no shell)
                [sys.executable, "-I", "-S", "-c", START, json.dumps({**setup, "page": file.fileno()})],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[file.fileno()],
                cwd="/",
                env={},
                start_new_session=True,
            )
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("the process has no pipes")
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._steps_before = self._steps_seen = 0
        self._since = time.monotonic()

    @property
    def descriptor(self) -> int:
        """The file descriptor that becomes readable when a reply arrives."""
        return self._replies.fileno()

    @property
    def started(self) -> bool:
        """Whether the first query of the batch has started."""
        return self._read_position()[0] != self._steps_before

    def send(self, batch: list[NumberedPair]) -> None:
        """Send the next batch to the process."""
        self.batch = batch
        self._steps_before = self._steps_seen = self._read_position()[0]
        self._since = time.monotonic()
        body = marshal.dumps([tuple(numbered.pair) for numbered in batch])
        # If the process has ended, `receive` detects this.
        with contextlib.suppress(OSError):
            self._requests.write(LENGTH.pack(len(body)) + body)
            self._requests.flush()

    def receive(self) -> list[tuple[int, SqlVerdict]]:
        """Return the verdicts on the batch; pairs without a verdict become leftovers.

        If the process has ended, `alive` becomes False and no verdicts are returned.
        """
        header = self._replies.read(LENGTH.size)
        body = self._replies.read(*LENGTH.unpack(header)) if len(header) == LENGTH.size else b""
        if not body:
            self.alive = False
            return []
        verdicts = [SqlVerdict(Outcome.read(word), *rest) for word, *rest in json.loads(body)]
        batch, self.batch = self.batch, []
        self.leftovers += batch[len(verdicts) :]
        return [(numbered.number, verdict) for numbered, verdict in zip(batch, verdicts, strict=False)]

    def measure_silence(self) -> float:
        """Return the number of seconds since the current step began."""
        steps = self._read_position()[0]
        if steps != self._steps_seen:
            self._steps_seen, self._since = steps, time.monotonic()
        return time.monotonic() - self._since

    def release_rest(self) -> None:
        """Make the pairs after the current pair available to other workers.

        This worker process does not run these pairs, because the current slow pair ends the batch.
        """
        if self.started:
            place = self._read_position()[1]
            self.leftovers += self.batch[place + 1 :]
            del self.batch[place + 1 :]

    def locate(self) -> tuple[NumberedPair | None, int]:
        """Return the current pair and its step; the pair is None if no query of the batch has started.

        Raises BenchloomError if the process never started.
        """
        steps, place, step = self._read_position()
        if not steps:
            raise BenchloomError("a worker process for SQL did not start")
        if not self.started:
            return None, COMPARED
        return (self.batch[place] if place < len(self.batch) else None), step

    def pop_leftovers(self) -> list[NumberedPair]:
        """Return the pairs that need another worker, and clear the list."""
        leftovers, self.leftovers = self.leftovers, []
        return leftovers

    def kill(self) -> None:
        """Kill the process and close its pipes."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                pipe.close()

    def _read_position(self) -> tuple[int, int, int]:
        steps, place, step = POSITION.unpack_from(self._page)
        return steps, place, step
