"""The shards of a stage as a flow of Prefect's: a task each, on whatever its task runner reaches."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.run.failures import Interrupted
from flows.run.shards import TRIES, Shard, do_shard, require_project
from tasks.errors import BenchloomError

POLL_S = 0.5
LOST = ("KilledWorker", "WorkerCrashedError", "OutOfMemoryError", "NodeDiedError")
"""What Dask and Ray raise where the process of a task was ended more often than it is tried."""
WORK: ContextVar[tuple[Sequence[Shard], threading.Event]] = ContextVar("work")
"""What the flow does. As a parameter it would be sent to Prefect's server, too."""


@task(persist_result=False, cache_policy=NO_CACHE, task_run_name="{name}")
def do_one(name: str, content: bytes) -> None:
    """Do a shard, wherever this is. content: pickled, so that Prefect does not look for futures in it."""
    del name
    shard = pickle.loads(content)  # noqa: S301 - from the run, by the channel that the task itself came by
    require_project(shard.root)
    mark = find_mark(shard)
    mark.parent.mkdir(parents=True, exist_ok=True)
    with mark.open("ab") as file:
        file.write(b".")
    try:
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

    Dask blames every task that a worker held when it ended, those that it had not begun, too: what was not
    begun twice is submitted again.
    """
    shards, stopping = WORK.get()
    clear_marks(shards)
    lost: list[int] = []
    left = list(range(len(shards)))
    while left:
        blamed = submit_some({number: shards[number] for number in left}, stopping)
        ended = [number for number in blamed if count_begun(shards[number]) >= TRIES]
        lost += ended
        again = [number for number in blamed if number not in ended]
        # Where nothing was begun at all, or nobody is to blame, another round would be no other.
        if len(again) == len(left):
            lost += again
            break
        left = again
    clear_marks(shards)
    return sorted(lost)


def submit_some(shards: Mapping[int, Shard], stopping: threading.Event) -> list[int]:
    """Submit shards by number, and wait for them; list those that the engine gave up."""
    with try_once_more():
        futures = {number: do_one.submit(shard.name, pickle.dumps(shard)) for number, shard in shards.items()}
    blamed = []
    for number, future in futures.items():
        try:
            wait_for(future, stopping)
        except BenchloomError:
            raise
        except Exception as error:
            if type(error).__name__ not in LOST:
                raise
            blamed.append(number)
    return blamed


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


def run_shards(shards: Sequence[Shard], runner: Any, stopping: threading.Event) -> list[Shard]:
    """Do shards by a task runner; list those whose process was ended too often.

    Raises what a shard raises, and whatever Prefect or the cluster does where it is lost.
    """

    def run() -> list[int]:
        WORK.set((shards, stopping))
        stage = shards[0].name.partition(", ")[0]
        found: list[int] = do_all.with_options(task_runner=runner)(stage)
        return found

    # A flow run of its own: below the run's, tasks would take along what cannot be sent to another process.
    return [shards[number] for number in Context().run(run)]


def wait_for(future: Any, stopping: threading.Event) -> None:
    """Wait for a task. Raises what it raises, and Interrupted where the run is stopped meanwhile."""
    while True:
        if stopping.is_set():
            raise Interrupted("the run was stopped; shards that are done are not done again")
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
