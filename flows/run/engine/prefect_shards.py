"""Run the shards of a stage as a Prefect flow, several shards per task, on the task runner's machines.

A task costs 0.2 s of CPU time, about as much as a short shard, so a task contains several shards.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.run.collection import collecting_seldom
from flows.run.engine.shards import TRIES, Shard, do_shard, require_project
from flows.run.failures import Interrupted
from tasks.errors import BenchloomError

POLL_S = 0.5
"""Seconds between two checks for whether the run was stopped."""
LOST = ("KilledWorker", "WorkerCrashedError", "OutOfMemoryError", "NodeDiedError")
"""Names of the errors that Dask and Ray raise if a task's process was killed repeatedly."""
TASKS = 6
"""Number of tasks per worker into which the shards of a stage are divided.

More tasks balance the load better, but each task has a cost.
"""
WORK: ContextVar[tuple[Sequence[Shard], int, threading.Event]] = ContextVar("work")
"""The flow's shards, shards per task and stop event.

These values are not parameters of the flow, because Prefect sends a flow's parameters to the server.
"""


@task(persist_result=False, cache_policy=NO_CACHE, task_run_name="{name}")
def do_some(name: str, content: bytes) -> None:
    """Run the shards of one task on a worker.

    `name`: the task's name in Prefect's UI. `content`: the pickled shards. If shards were passed unpickled,
    Prefect would search them for futures.
    """
    del name
    for shard in pickle.loads(content):  # noqa: S301 - sent by the run, over the task's channel
        require_project(shard.root)
        mark = find_mark(shard)
        mark.parent.mkdir(parents=True, exist_ok=True)
        with mark.open("ab") as file:
            file.write(b".")
        try:
            with collecting_seldom():
                do_shard(shard)
        finally:  # not executed if the process is killed
            mark.unlink(missing_ok=True)


@flow(name="shards", flow_run_name="shards of {stage}", persist_result=False, validate_parameters=False)
def do_all(stage: str) -> list[int]:
    """Run the shards of a stage; return the indices of the lost shards (see `submit_shards`).

    Errors from a shard propagate.
    """
    del stage
    # The flow is sent to other processes by value, so it may refer only to objects that can be pickled.
    return submit_shards()


def submit_shards() -> list[int]:
    """Submit the flow's shards and wait for them; return the indices of the shards that were lost.

    If a Dask worker is killed, Dask reports all tasks assigned to it as failed, including tasks that had not
    started. Unfinished shards are therefore submitted again, one per task. A shard is lost if its process was
    killed twice, or if all shards were submitted one per task and none finished.
    """
    shards, at_once, stopping = WORK.get()
    clear_marks(shards)
    lost: list[int] = []
    left = list(range(len(shards)))
    while left:
        blamed = submit_some(shards, divide(left, at_once), stopping)
        ended = [number for number in blamed if count_begun(shards[number]) >= TRIES]
        lost += ended
        again = [number for number in blamed if number not in ended]
        # If each shard was submitted alone and none finished or reached TRIES, stop.
        if len(again) == len(left) and at_once == 1:
            lost += again
            break
        left, at_once = again, 1
    clear_marks(shards)
    return sorted(lost)


def divide(numbers: Sequence[int], at_once: int) -> list[Sequence[int]]:
    """Divide numbers into groups of `at_once`; the last group may be smaller."""
    return [numbers[place : place + at_once] for place in range(0, len(numbers), at_once)]


def submit_some(
    shards: Sequence[Shard], parts: Sequence[Sequence[int]], stopping: threading.Event
) -> list[int]:
    """Submit groups of shards as tasks, and wait for them; return the indices of the unfinished shards.

    Raises the error of a shard, except errors that only report a killed process.
    """
    with try_once_more():
        futures = [do_some.submit(*pack([shards[number] for number in part])) for part in parts]
    blamed = []
    for part, future in zip(parts, futures, strict=True):
        try:
            wait_for(future, stopping)
        except BenchloomError:
            raise
        except Exception as error:
            if type(error).__name__ not in LOST:
                raise
            blamed += [number for number in part if not shards[number].part.exists()]
    return blamed


def pack(shards: Sequence[Shard]) -> tuple[str, bytes]:
    """Return a task's name for Prefect's UI, and the pickled shards."""
    more = f" and {len(shards) - 1} more" if len(shards) > 1 else ""
    return f"{shards[0].name}{more}", pickle.dumps(shards)


def find_mark(shard: Shard) -> Path:
    """Return the file whose size in bytes is the number of times that a shard's process was killed."""
    return shard.part.with_name(f".{shard.part.name}.begun")


def count_begun(shard: Shard) -> int:
    """Return the number of times that a shard's process was killed."""
    mark = find_mark(shard)
    return mark.stat().st_size if mark.exists() else 0


def clear_marks(shards: Sequence[Shard]) -> None:
    """Remove the files that count how often the processes of shards were killed."""
    for shard in shards:
        find_mark(shard).unlink(missing_ok=True)


def run_shards(
    shards: Sequence[Shard], runner: Any, workers: int | None, stopping: threading.Event
) -> list[Shard]:
    """Run shards with a task runner; return the shards that were lost (see `submit_shards`).

    `workers`: number of processes that share the shards; if None, each shard is a separate task. Raises
    errors from shards, and any error from Prefect or the cluster if the connection is lost.
    """
    at_once = 1 if workers is None else max(1, len(shards) // (workers * TASKS))

    def run() -> list[int]:
        WORK.set((shards, at_once, stopping))
        stage = shards[0].name.partition(", ")[0]
        found: list[int] = do_all.with_options(task_runner=runner)(stage)
        return found

    # Use a separate flow run: the context of a subflow's tasks cannot be pickled.
    return [shards[number] for number in Context().run(run)]


def wait_for(future: Any, stopping: threading.Event) -> None:
    """Wait for a task. Raises the task's error, and Interrupted if the run is stopped meanwhile."""
    while True:
        if stopping.is_set():
            raise Interrupted("the run was stopped; the next run skips complete shards")
        try:
            future.result(timeout=POLL_S)
        except TimeoutError:
            continue
        return


@contextmanager
def try_once_more() -> Iterator[None]:
    """Make Ray retry a task only once if its process was killed; Ray's default is three retries."""
    try:
        from prefect_ray.context import remote_options
    except ModuleNotFoundError:
        yield
        return
    with remote_options(max_retries=1):
        yield
