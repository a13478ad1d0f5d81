"""Processes for the stages that ask no model: they compute, and Python computes on one core a process.

What asks a model waits for replies instead, and stays in the threads of the run, beside the one ledger.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from pathlib import Path
from queue import Empty, LifoQueue
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flows.loaded_code import is_loaded_otherwise
from flows.run.failures import Interrupted, describe_error
from flows.run.node import Node
from tasks.errors import BenchloomError, ChangedWhileRunning, StageFailed

if TYPE_CHECKING:
    from flows.run.binding import Work

COLLECT = (200_000, 20, 100)
"""When Python looks for circles of objects that nothing else refers to; 700, 10 and 10 by default."""

STARTING = threading.Lock()


class StageProcesses:
    """At most `count` processes, each started when it is first wanted, and each with one stage at a time."""

    def __init__(self, root: Path, count: int, stopping: threading.Event) -> None:
        self._root, self._stopping = root, stopping
        self._free: LifoQueue[ProcessPoolExecutor | None] = LifoQueue()
        for _ in range(count):
            self._free.put(None)

    def call(self, node: Node, params: Mapping[str, Any], code: Mapping[str, str]) -> Work:
        """Run a stage and write its artifacts; waits for a process that is free.

        code: SHA-256 of each module that the stage stands on. Raises what the stage raises, StageFailed where
        its process was ended, and Interrupted where the run was stopped before it had one.
        """
        process = self._free.get()
        try:
            if self._stopping.is_set():
                raise Interrupted("the run was stopped")
            process = process or start_process()
            return process.submit(run_stage, node, dict(params), self._root, dict(code)).result()
        except BrokenProcessPool as error:
            process = None
            raise StageFailed(
                f"{node.name}: its process was ended from outside, as where memory runs out; run it again"
            ) from error
        finally:
            self._free.put(process)

    def close(self) -> None:
        """End the processes that have nothing to do."""
        with suppress(Empty):
            while True:
                if (process := self._free.get_nowait()) is not None:
                    process.shutdown(wait=False)


def start_process() -> ProcessPoolExecutor:
    """Start one process. It is forked from a server of its own, never from a process with threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["flows.run.binding", __name__])
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


def run_stage(node: Node, params: Mapping[str, Any], root: Path, code: Mapping[str, str]) -> Work:
    """Run a stage in this process. Raises one of our errors, whose text says all that its causes told."""
    from flows.run.binding import Places, bind

    try:
        work = bind(node, params, Places(root, root), refuse_ask).call()
    except BenchloomError as error:
        error.args = (describe_error(error),)
        raise
    except Exception as error:
        raise StageFailed(describe_error(error)) from error
    for path, digest in code.items():
        if is_loaded_otherwise(root / path, digest):
            raise ChangedWhileRunning(node.name, path)
    return work


def refuse_ask(stage: str, prompts: Path, epoch: str) -> Any:
    """Refuse a model to a stage that dvc.yaml gives no place for its calls."""
    raise StageFailed(
        f"{stage}: asks a model, and no output of it is `.calls.parquet`; run `benchloom graph`"
    )
