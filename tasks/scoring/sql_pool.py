"""Judge pairs of queries on SQLite files in worker processes; one that never ends delays only itself."""

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
from tasks.scoring.sql_worker import COMPARED, GOLD, LENGTH, POSITION, SLOW_SECONDS, Verdict

ROOT = Path(__file__).parents[2]
START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tasks.scoring.sql_worker import main; main()"
START_SECONDS = 60.0
GRACE_SECONDS = 0.3
"""How much later than its own limit a query is killed: one that SQLite stops needs no new process."""
POLL_SECONDS = 0.05
BATCH = 64


class Pair(NamedTuple):
    """Two queries to be compared by a rule on one database or more."""

    rule: str
    uris: tuple[str, ...]
    gold: str
    predicted: str
    ordered: bool = False


class Numbered(NamedTuple):
    """A pair and its place in the order of the answers."""

    number: int
    pair: Pair


class SqlPool:
    """Worker processes that only read, each with its connections kept open; a context manager.

    `seconds`: what one query may take. `memory_mb`: what one worker may take, in MiB.
    """

    def __init__(self, *, workers: int = 2, seconds: float = 30.0, memory_mb: int = 1024) -> None:
        self._setup = {"seconds": seconds, "memory": memory_mb << 20}
        self._size = workers
        self._workers: list[_Worker] = []
        self._queue: deque[Numbered] = deque()

    def judge(self, pairs: Iterable[Pair]) -> Iterator[Verdict]:
        """Give a verdict for each pair, in their order.

        An outcome is what the rule says (correct, wrong, empty), or error, timeout, gold-error. Raises
        BenchloomError where no worker starts, never for what a query does.
        """
        source = map(Numbered, count(), pairs)
        waiting: dict[int, Verdict] = {}
        following = 0
        self._fill_up(source)
        while self._hand_out():
            # What follows, reading on and the caller's own work, is done while the workers are at theirs.
            self._fill_up(source)
            while following in waiting:
                yield waiting.pop(following)
                following += 1
            for number, verdict in self._collect():
                waiting.setdefault(number, verdict)
        while following in waiting:
            yield waiting.pop(following)
            following += 1

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        while self._workers:
            self._workers.pop().kill()

    def __enter__(self) -> SqlPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fill_up(self, source: Iterator[Numbered]) -> None:
        self._queue.extend(islice(source, max(0, 4 * BATCH * self._size - len(self._queue))))

    def _hand_out(self) -> bool:
        """Give every idle worker a batch; tell whether any is at work."""
        while self._queue:
            worker = self._find_idle()
            if worker is None:
                break
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

    def _collect(self) -> Iterator[tuple[int, Verdict]]:
        """Wait for an answer for a moment; look after the workers that give none."""
        poll = select.poll()
        for worker in self._workers:
            if worker.batch:
                poll.register(worker.descriptor, select.POLLIN | select.POLLHUP)
        ready = {descriptor for descriptor, _ in poll.poll(POLL_SECONDS * 1000)}
        for worker in [each for each in self._workers if each.batch]:
            if worker.descriptor in ready:
                verdicts = worker.receive()
                yield from verdicts
                if not worker.alive:
                    yield from self._bury(worker, "error", "the engine ended by itself")
                elif any(verdict.lost for _, verdict in verdicts):
                    self._remove(worker)
            else:
                yield from self._look_after(worker)
            self._queue.extendleft(reversed(worker.take_leftovers()))

    def _look_after(self, worker: _Worker) -> Iterator[tuple[int, Verdict]]:
        silent = worker.measure_silence()
        if silent > 2 * SLOW_SECONDS:
            worker.share()
        if silent > (self._setup["seconds"] if worker.started else START_SECONDS) + GRACE_SECONDS:
            yield from self._bury(worker, "timeout", f"no end within {self._setup['seconds']:g} s")

    def _bury(self, worker: _Worker, outcome: str, reason: str) -> Iterator[tuple[int, Verdict]]:
        """End a worker; the pair that it was at gets a verdict, the others of its batch another worker."""
        self._remove(worker)
        culprit, step = worker.locate()
        if step == GOLD:
            outcome, reason = "gold-error", f"the gold query: {reason}"
        if culprit is not None:
            worker.batch.remove(culprit)
            yield culprit.number, Verdict(outcome, reason)
        worker.leftovers += worker.batch

    def _remove(self, worker: _Worker) -> None:
        worker.kill()
        self._workers.remove(worker)


class _Worker:
    """The parent's side of one process."""

    def __init__(self, setup: dict[str, float]) -> None:
        self.batch: list[Numbered] = []
        self.leftovers: list[Numbered] = []
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
            raise OSError("no pipes")
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._steps_before = self._steps_seen = 0
        self._since = time.monotonic()

    @property
    def descriptor(self) -> int:
        """What becomes readable when there is an answer."""
        return self._replies.fileno()

    @property
    def started(self) -> bool:
        """Whether the batch's first query was begun."""
        return self._read_position()[0] != self._steps_before

    def send(self, batch: list[Numbered]) -> None:
        """Give the process its next batch."""
        self.batch = batch
        self._steps_before = self._steps_seen = self._read_position()[0]
        self._since = time.monotonic()
        body = marshal.dumps([tuple(each.pair) for each in batch])
        # A process that has just ended is noticed when its answer is read.
        with contextlib.suppress(OSError):
            self._requests.write(LENGTH.pack(len(body)) + body)
            self._requests.flush()

    def receive(self) -> list[tuple[int, Verdict]]:
        """Read the batch's verdicts; what has none is left over. `alive` tells whether there was an end."""
        header = self._replies.read(LENGTH.size)
        body = self._replies.read(*LENGTH.unpack(header)) if len(header) == LENGTH.size else b""
        if not body:
            self.alive = False
            return []
        verdicts = [Verdict(*each) for each in json.loads(body)]
        batch, self.batch = self.batch, []
        self.leftovers += batch[len(verdicts) :]
        return [(each.number, verdict) for each, verdict in zip(batch, verdicts, strict=False)]

    def measure_silence(self) -> float:
        """Tell for how many seconds the process has been seen at one step."""
        steps = self._read_position()[0]
        if steps != self._steps_seen:
            self._steps_seen, self._since = steps, time.monotonic()
        return time.monotonic() - self._since

    def share(self) -> None:
        """Leave what comes after the pair under way to others; the process will stop there, too."""
        if self.started:
            place = self._read_position()[1]
            self.leftovers += self.batch[place + 1 :]
            del self.batch[place + 1 :]

    def locate(self) -> tuple[Numbered | None, int]:
        """Give the pair under way, and the step within it. Raises BenchloomError: it never began at all."""
        steps, place, step = self._read_position()
        if not steps:
            raise BenchloomError("a worker process for SQL does not start")
        if not self.started:
            return None, COMPARED
        return (self.batch[place] if place < len(self.batch) else None), step

    def take_leftovers(self) -> list[Numbered]:
        """Give up what others must do."""
        leftovers, self.leftovers = self.leftovers, []
        return leftovers

    def kill(self) -> None:
        """End the process."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                pipe.close()

    def _read_position(self) -> tuple[int, int, int]:
        steps, place, step = POSITION.unpack_from(self._page)
        return steps, place, step
