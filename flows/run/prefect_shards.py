"""The shards of a stage as a flow of Prefect's: a task each, on whatever its task runner reaches."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.run.failures import Interrupted
from flows.run.shards import Shard, do_shard
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
    do_shard(pickle.loads(content))  # noqa: S301 - from the run, by the channel that the task itself came by


@flow(name="shards", flow_run_name="shards of {stage}", persist_result=False, validate_parameters=False)
def do_all(stage: str) -> list[int]:
    """Do the shards of a stage; list those whose process was ended too often. Raises what one raises."""
    del stage
    # The flow goes to the processes of its tasks by value: what it names must be what can be sent there.
    return submit_shards()


def submit_shards() -> list[int]:
    """Submit what the flow is to do, and wait for it."""
    shards, stopping = WORK.get()
    with try_once_more():
        futures = [do_one.submit(shard.name, pickle.dumps(shard)) for shard in shards]
    lost = []
    for number, future in enumerate(futures):
        try:
            wait_for(future, stopping)
        except BenchloomError:
            raise
        except Exception as error:
            if type(error).__name__ not in LOST:
                raise
            lost.append(number)
    return lost


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
