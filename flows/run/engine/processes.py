"""Run stages that call no models in local processes, since a single Python process uses only one core.

Stages that call models mostly wait for replies, so these stages run in threads of the main process. Only the
main process accesses the ledger.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_all
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import wait
from queue import Empty, LifoQueue
from types import ModuleType
from typing import TypeVar

from flows.run.collection import collect_seldom
from flows.run.engine.shards import TRIES, Shard, do_shard, make_lost_error
from flows.run.failures import Interrupted
from tasks.errors import StageFailed
from tasks.lines import say_line

Result = TypeVar("Result")

STARTING = threading.Lock()


class ProcessEnded(StageFailed):
    """A process was killed before its work finished."""


class Processes:
    """A pool of at most `count` processes, started on demand; each process runs one task at a time.

    The class implements the engine `threads`: one thread of the run waits for each process.
    """

    def __init__(
        self,
        count: int,
        stopping: threading.Event | None = None,
        say: Callable[[str], None] = say_line,
    ) -> None:
        self._stopping, self._say = stopping or threading.Event(), say
        self._count = count
        # Last in, first out: a running process is used again before another process is started.
        self._free: LifoQueue[tuple[ProcessPoolExecutor, int] | None] = LifoQueue()
        for _ in range(count):
            self._free.put(None)

    def call(
        self,
        name: str,
        function: Callable[..., Result],
        *arguments: object,
        begun: Callable[[int], None] = lambda process: None,
    ) -> Result:
        """Call a function of a module in a process, after waiting for a free process.

        `name`: name of the work in error messages. `begun`: called with the process's id when the call
        begins. Errors from the function propagate. Raises ProcessEnded if the process was killed, and
        Interrupted if the run was stopped before the call.
        """
        process = self._free.get()
        try:
            if self._stopping.is_set():
                raise Interrupted("the run was stopped")
            process = process or start_process()
            begun(process[1])
            return process[0].submit(function, *arguments).result()
        except BrokenProcessPool as error:
            process = None
            raise ProcessEnded(
                f"{name}: its process was killed, possibly because memory ran out; run the same command again"
            ) from error
        finally:
            self._free.put(process)

    def work(self, shards: Sequence[Shard]) -> None:
        """Run shards; see `ShardEngine`. If a shard fails, the processes of the other shards are killed."""
        failed = threading.Event()
        running: dict[str, int] = {}

        def try_shard(shard: Shard) -> bool:
            for tried in range(TRIES):
                if failed.is_set():
                    break
                try:
                    self.call(shard.name, do_shard, shard, begun=partial(running.__setitem__, shard.name))
                except ProcessEnded:
                    if tried + 1 < TRIES and not failed.is_set():
                        self._say(f"{shard.name}: its process was killed; the shard is run again")
                else:
                    return True
                finally:
                    running.pop(shard.name, None)
            return False

        with ThreadPoolExecutor(self._count, "shards") as threads:
            tries = [threads.submit(try_shard, shard) for shard in shards]
            try:
                wait_for_all(tries, return_when=FIRST_EXCEPTION)
                done = [future.result() for future in tries if future.done()]
            except BaseException:
                failed.set()
                # A call that has begun cannot be cancelled.
                for process in list(running.values()):
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                raise
        if lost := [shard for shard, ended in zip(shards, done, strict=True) if not ended]:
            raise make_lost_error(lost)

    def close(self) -> None:
        """Stop the idle processes."""
        with suppress(Empty):
            while True:
                if (process := self._free.get_nowait()) is not None:
                    process[0].shutdown(wait=False)


def start_process() -> tuple[ProcessPoolExecutor, int]:
    """Start a process; return its executor and its process id.

    The process is forked from a separate server process, since forking a process with threads is unsafe.
    """
    context = multiprocessing.get_context("forkserver")
    # The server imports these modules once, so that each forked process starts without importing them.
    context.set_forkserver_preload(["flows.run.binding", "flows.run.engine.stage_work", __name__])
    process = ProcessPoolExecutor(1, context, initializer=attach_to_parent)
    # The first call starts the process, which then reads `__main__`.
    with STARTING, hidden_main():
        number = process.submit(os.getpid).result()
    return process, number


@contextmanager
def hidden_main() -> Iterator[None]:
    """Hide this process's main script while a child process starts.

    Otherwise, the child process would import and run the script.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def attach_to_parent() -> None:
    """Make this process ignore Ctrl-C, which the run handles, and end when the run ends.

    DVC releases the run's path locks when the run ends, so the process must not outlive the run.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_seldom()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)  # `sys.exit` would end only this thread
