"""Run the shards of a stage as a Prefect flow, a few in each task, on the task runner's machines.

A task costs 0.2 s of CPU beside its shards, which may be as short as that; so there are several in one.
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
LOST = ("KilledWorker", "WorkerCrashedError", "OutOfMemoryError", "NodeDiedError")
"""What Dask and Ray raise where the process of a task was ended more often than it is tried."""
TASKS = 6
"""How many tasks a worker is given of a stage: few, since each costs, and enough for all to end together."""
WORK: ContextVar[tuple[Sequence[Shard], int, threading.Event]] = ContextVar("work")
"""What the flow does. As a parameter it would be sent to Prefect's server, too."""


@task(persist_result=False, cache_policy=NO_CACHE, task_run_name="{name}")
def do_some(name: str, content: bytes) -> None:
    """Do shards, wherever this is. content: pickled, so that Prefect does not look for futures in it."""
    del name
    for shard in pickle.loads(content):  # noqa: S301 - from the run, by the channel that the task itself came by
        require_project(shard.root)
        mark = find_mark(shard)
        mark.parent.mkdir(parents=True, exist_ok=True)
        with mark.open("ab") as file:
            file.write(b".")
        try:
            with collecting_seldom():
                do_shard(shard)
        finally:  # not where the process is ended from outside
            mark.unlink(missing_ok=True)


@flow(name="shards", flow_run_name="shards of {stage}", persist_result=False, validate_parameters=False)
def do_all(stage: str) -> list[int]:
    """Do the shards of a stage; list those whose process was ended too often. Raises what one raises."""
    del stage
    # The flow goes to the processes of its tasks by value: what it names must be what can be sent there.
    return submit_shards()


def submit_shards() -> list[int]:
    """Submit what the flow is to do, and wait for it.

    Dask blames every task that a worker held when it ended, those that it had not begun, too: what is not
    done and was not begun twice is submitted again, each shard by itself.
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
        # Where nothing was begun at all, or nobody is to blame, another round would be no other.
        if len(again) == len(left) and at_once == 1:
            lost += again
            break
        left, at_once = again, 1
    clear_marks(shards)
    return sorted(lost)


def divide(numbers: Sequence[int], at_once: int) -> list[Sequence[int]]:
    """Divide numbers into runs of a length; the last may be shorter."""
    return [numbers[place : place + at_once] for place in range(0, len(numbers), at_once)]


def submit_some(
    shards: Sequence[Shard], parts: Sequence[Sequence[int]], stopping: threading.Event
) -> list[int]:
    """Submit shards by their numbers, a task a part, and wait for them; list those that are not done.

    Raises what one raises that the engine did not give up.
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
    """Name a task of shards, for Prefect's pages, and pickle them."""
    more = f" and {len(shards) - 1} more" if len(shards) > 1 else ""
    return f"{shards[0].name}{more}", pickle.dumps(shards)


def find_mark(shard: Shard) -> Path:
    """Find the file with a byte for each time that a shard was begun and its process ended from outside."""
    return shard.part.with_name(f".{shard.part.name}.begun")


def count_begun(shard: Shard) -> int:
    """Count how often a shard was begun and its process ended from outside."""
    mark = find_mark(shard)
    return mark.stat().st_size if mark.exists() else 0


def clear_marks(shards: Sequence[Shard]) -> None:
    """Remove all marks."""
    for shard in shards:
        find_mark(shard).unlink(missing_ok=True)


def run_shards(
    shards: Sequence[Shard], runner: Any, workers: int | None, stopping: threading.Event
) -> list[Shard]:
    """Do shards by a task runner; list those whose process was ended too often.

    workers: processes that share them; None, where nobody knows, sends each shard as a task of its own.
    Raises what a shard raises, and whatever Prefect or the cluster does where it is lost.
    """
    at_once = 1 if workers is None else max(1, len(shards) // (workers * TASKS))

    def run() -> list[int]:
        WORK.set((shards, at_once, stopping))
        stage = shards[0].name.partition(", ")[0]
        found: list[int] = do_all.with_options(task_runner=runner)(stage)
        return found

    # A flow run of its own: below the run's, tasks would take along what cannot be sent to another process.
    return [shards[number] for number in Context().run(run)]


def wait_for(future: Any, stopping: threading.Event) -> None:
    """Wait for a task. Raises what it raises, and Interrupted where the run is stopped meanwhile."""
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
    """Have Ray begin a task once more, and no three times, whose process is ended."""
    try:
        from prefect_ray.context import remote_options
    except ModuleNotFoundError:
        yield
        return
    with remote_options(max_retries=1):
        yield
