"""Processes of this machine for what computes: Python computes on one core a process.

What asks a model waits for replies instead, and stays in the threads of the run, beside the one ledger.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from queue import Empty, LifoQueue
from types import ModuleType
from typing import TypeVar

from flows.run.failures import Interrupted
from flows.run.progress import say_line
from flows.run.shards import TRIES, Shard, do_shard, make_lost_error
from tasks.errors import StageFailed

Result = TypeVar("Result")

COLLECT = (200_000, 20, 100)
"""When Python looks for circles of objects that nothing else refers to; 700, 10 and 10 by default."""

STARTING = threading.Lock()


class ProcessEnded(StageFailed):
    """What was done in a process came to no end, since the process was ended from outside."""


class Processes:
    """At most `count` processes, each started when it is first wanted, with one thing to do at a time.

    They are the engine `threads`: a thread of the run waits for each.
    """

    def __init__(self, count: int, stopping: threading.Event, say: Callable[[str], None] = say_line) -> None:
        self.count = count
        self._stopping, self._say = stopping, say
        self._free: LifoQueue[ProcessPoolExecutor | None] = LifoQueue()
        for _ in range(count):
            self._free.put(None)

    def call(self, name: str, function: Callable[..., Result], *arguments: object) -> Result:
        """Call a function of a module in a process; waits for one that is free. name: for errors.

        Raises what the function raises, ProcessEnded where its process was ended, and Interrupted where the
        run was stopped before it had one.
        """
        process = self._free.get()
        try:
            if self._stopping.is_set():
                raise Interrupted("the run was stopped")
            process = process or start_process()
            return process.submit(function, *arguments).result()
        except BrokenProcessPool as error:
            process = None
            raise ProcessEnded(
                f"{name}: its process was ended from outside, as where memory runs out; run it again"
            ) from error
        finally:
            self._free.put(process)

    def work(self, shards: Sequence[Shard]) -> None:
        """Do shards; see `Engine`."""
        failed = threading.Event()

        def try_shard(shard: Shard) -> bool:
            for tried in range(TRIES):
                if failed.is_set():
                    return True
                try:
                    self.call(shard.name, do_shard, shard)
                except ProcessEnded:
                    if tried + 1 < TRIES:
                        self._say(f"{shard.name}: its process was ended from outside; it is done again")
                    continue
                except BaseException:
                    failed.set()
                    raise
                return True
            return False

        with ThreadPoolExecutor(self.count, "shards") as threads:
            done = list(threads.map(try_shard, shards))
        if lost := [shard for shard, ended in zip(shards, done, strict=True) if not ended]:
            raise make_lost_error(lost)

    def close(self) -> None:
        """End the processes that have nothing to do."""
        with suppress(Empty):
            while True:
                if (process := self._free.get_nowait()) is not None:
                    process.shutdown(wait=False)


def start_process() -> ProcessPoolExecutor:
    """Start one process. It is forked from a server of its own, never from a process with threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["flows.run.binding", "flows.run.stage_work", __name__])
    process = ProcessPoolExecutor(1, context, initializer=attach_to_parent)
    with STARTING, hidden_main():
        process.submit(os.getpid).result()
    return process


@contextmanager
def hidden_main() -> Iterator[None]:
    """Have no process that starts meanwhile import the script of this one: unguarded, it would run again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def attach_to_parent() -> None:
    """Leave Ctrl-C to the run, and end with it however it ends: what it holds on paths ends then, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A stage holds millions of cells that refer to nothing: looking through them took a sixth of its time.
    gc.set_threshold(*COLLECT)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
