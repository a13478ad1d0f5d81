"""Run shards on an engine: local processes, a Dask cluster, or a Ray cluster.

Dask and Ray are used through Prefect's task runners: the shards of a stage form a flow run with one task per
group of shards. A run opens its cluster once, when a stage is first split into shards.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from flows.parameters import validate
from flows.run.engine.engine_settings import Cluster, EngineName, EngineSettings
from flows.run.engine.processes import STARTING, Processes, hidden_main
from flows.run.engine.shards import Shard, ShardEngine, list_left, make_lost_error
from flows.run.failures import Interrupted, describe_error
from flows.run.origin import lead_child
from flows.run.prefect_server import use_prefect
from flows.settings import get_section, load_params
from tasks.errors import BadInput, BenchloomError, StageFailed

THREADS = "threads"
NAMES: tuple[str, ...] = get_args(EngineName)
PACKAGES = {"dask": "prefect_dask", "ray": "prefect_ray"}
SHARDS = "flows.run.engine.prefect_shards"
"""The module that workers must import."""
OWN_DASK = {
    # Retry a task only once if its worker was killed; Dask's default is three retries.
    "distributed.scheduler.allowed-failures": 1,
    "distributed.worker.profile.enabled": False,
    # Each periodic callback interrupts the running shard; the default intervals are 20 and 100 ms.
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    # Importing Prefect takes seconds, so each worker imports it when it starts.
    "distributed.worker.preload": [SHARDS],
    # By default, Dask's workers return every 64 kB to the system, which uses a seventh of the CPU time for
    # reading a dump.
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": 1,
        "MKL_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
    },
}
"""Settings of a Dask cluster that a run starts."""
PATIENCE_S = 20.0
"""Seconds to wait for a response from a cluster at a configured address."""


def require_engine(name: str) -> None:
    """Raise BadInput for an unknown engine, or for an engine whose packages are not installed."""
    if name not in NAMES:
        raise BadInput("--engine", f"{name!r} is not an engine", hint=f"use one of {', '.join(NAMES)}")
    package = PACKAGES.get(name)
    if package is not None and find_spec(package) is None:
        raise BadInput(
            f"--engine {name}",
            f"needs {package.replace('_', '-')}, which is not installed here",
            hint=f"run pip install 'benchloom[{name}]'",
        )


def read_settings(params: Mapping[str, Any]) -> EngineSettings:
    """Read `run.engine` of params.yaml. Raises BadInput if a setting is invalid."""
    given = get_section(params, "run").get("engine", {})
    settings: EngineSettings = validate(EngineSettings, given, ["run", "engine"], params)
    return settings


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def open_engine(
    root: Path, name: str, workers: int | None, say: Callable[[str], None]
) -> Iterator[ShardEngine | None]:
    """Yield an engine for shards outside a run; None if this process should run the shards itself.

    `workers`: number of processes on this machine, by default one per core.
    """
    require_engine(name)
    processes = Processes(workers or count_cores(), say=say)
    if name == THREADS:
        yield None if workers == 1 else processes
        processes.close()
        return
    settings = read_settings(load_params(root))
    if workers is not None:
        own = getattr(settings, name).model_copy(update={"workers": workers})
        settings = settings.model_copy(update={name: own})
    with use_prefect(root, say, needed=True):
        engine = ClusterEngine(name, settings, processes, threading.Event(), say)
        try:
            yield engine
        finally:
            engine.close()


class ClusterEngine:
    """Runs shards on a cluster as Prefect tasks, or in local processes if the cluster is lost.

    `name`: `dask` or `ray`. `stopping`: event that is set when the run should end.
    """

    def __init__(
        self,
        name: str,
        settings: EngineSettings,
        processes: Processes,
        stopping: threading.Event,
        say: Callable[[str], None],
    ) -> None:
        self._name, self._cluster = name, getattr(settings, name)
        self._processes, self._stopping, self._say = processes, stopping, say
        self._opened = ExitStack()
        self._opening = threading.Lock()
        self._runner: Any = None

    def work(self, shards: Sequence[Shard]) -> None:
        """Run shards; see `ShardEngine`. Raises BadInput if no cluster answers at the configured address."""
        if not shards:
            return
        from flows.run.engine.prefect_shards import run_shards

        runner = self.open()
        try:
            lost = run_shards(shards, runner, self._workers, self._stopping)
        except BenchloomError:
            raise
        except Exception as error:  # noqa: BLE001 - any error of the cluster, of Prefect or of the network
            left = list_left(shards)
            self._say(
                f"{self._name} and Prefect: the connection was lost; {len(left)} of {len(shards)} shards "
                "continue in "
                f"processes on this machine ({describe_error(error)})"
            )
            self._processes.work(left)
            return
        if lost:
            raise make_lost_error(lost)

    @property
    def _workers(self) -> int | None:
        """The number of processes of a cluster that the run starts; None for an existing cluster."""
        return None if self._cluster.address else self._cluster.workers or os.cpu_count() or 1

    def close(self) -> None:
        """Stop the cluster, if this run started the cluster."""
        self._opened.close()

    def open(self) -> Any:
        """Open the cluster on first use; return a Prefect task runner."""
        with self._opening:
            if self._runner is None:
                if self._stopping.is_set():
                    raise Interrupted("the run was stopped")
                where = self._cluster.address or f"{self._workers} processes on this machine"
                self._say(f"shards run on {self._name}: {where}")
                try:
                    self._runner = self._opened.enter_context(OPEN[self._name](self._cluster))
                except BenchloomError:
                    raise
                except Exception as error:  # any error of Dask or Ray
                    raise StageFailed(
                        f"--engine {self._name}: the cluster did not start on this machine "
                        f"({describe_error(error)}); run the command again, or use --engine threads"
                    ) from error
            return self._runner


@contextmanager
def open_dask(cluster: Cluster) -> Iterator[Any]:
    """Open a Dask cluster; yield a Prefect task runner. A cluster that this run starts uses TLS."""
    import dask.config
    import distributed
    from prefect_dask.task_runners import DaskTaskRunner

    if cluster.address:
        # Connect once now: later, `work` would take a wrong address for a lost cluster, and use this machine.
        try:
            distributed.Client(  # type: ignore[no-untyped-call] # untyped
                cluster.address, timeout=PATIENCE_S, set_as_default=False
            ).close()
        except (OSError, ValueError) as error:
            raise refuse_address("dask", cluster.address, error) from error
        yield DaskTaskRunner(address=cluster.address)
        return
    with (
        dask.config.set(OWN_DASK),
        STARTING,
        hidden_main(),
    ):
        local = distributed.LocalCluster(  # type: ignore[no-untyped-call] # untyped
            n_workers=cluster.workers or os.cpu_count(),
            # A Python process uses only one core, however many threads it has.
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            security=True,
            silence_logs=logging.CRITICAL,
        )
    with local:
        yield DaskTaskRunner(address=local.scheduler_address, client_kwargs={"security": local.security})


@contextmanager
def open_ray(cluster: Cluster) -> Iterator[Any]:
    """Open Ray; yield a Prefect task runner. A cluster that this run starts is protected by a token."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if cluster.address is None:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        os.environ.setdefault("RAY_worker_niceness", "0")  # the default is 15
        # Ray's workers inherit this environment, and must import the code of this project.
        os.environ["PYTHONPATH"] = lead_child()["PYTHONPATH"]
    import ray
    from prefect_ray import RayTaskRunner

    options: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    if cluster.address is None:
        options |= {
            "num_cpus": cluster.workers or os.cpu_count(),
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
    try:
        ray.init(cluster.address, **options)
    except (ConnectionError, OSError, ValueError) as error:
        if cluster.address is None:
            raise
        raise refuse_address("ray", cluster.address, error) from error
    try:
        if cluster.address is None:
            # One task per core, so that each worker has imported the modules before its first shard.
            each = ray.remote(num_cpus=1)(warm_up)
            ray.get([each.remote() for _ in range(options["num_cpus"])])
        yield RayTaskRunner()
    finally:
        ray.shutdown()


def warm_up() -> None:
    """Import the modules that shards need, in each worker of a Ray cluster that this run starts."""
    import_module(SHARDS)


OPEN = {"dask": open_dask, "ray": open_ray}


def refuse_address(name: str, address: str, error: Exception) -> BadInput:
    """Return the error for a cluster that does not answer."""
    return BadInput(
        f"run.engine.{name}.address",
        f"no cluster answers at {address} ({' '.join(str(error).split())[:120]})",
        hint=(
            "start the cluster, or set the address to null to start one on this machine; see docs/engines.md"
        ),
    )
