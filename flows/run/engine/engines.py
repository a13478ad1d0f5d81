"""The engines on which shards run: local processes, a Dask cluster, a Ray cluster.

Dask and Ray are reached through Prefect's task runners: the shards of a stage are a flow run, each of them a
task. A cluster is opened when the first stage splits, once for a run.
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
"""The module that workers need."""
OWN_DASK = {
    # A worker that is killed costs a task one more try, no three.
    "distributed.scheduler.allowed-failures": 1,
    "distributed.worker.profile.enabled": False,
    # Each tick takes the interpreter from the shard at work; the defaults are 20 and 100 ms.
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    # Prefect takes seconds to import: a worker that stands has done so.
    "distributed.worker.preload": [SHARDS],
    # Dask's own has workers give every 64 kB back to the system, a seventh of the CPU of reading a dump.
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": 1,
        "MKL_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
    },
}
"""How a Dask cluster of the run's own is set."""
PATIENCE_S = 20.0
"""How long a cluster at an address is waited for."""


def require_engine(name: str) -> None:
    """Check that an engine is known, and what it needs installed. Raises BadInput."""
    if name not in NAMES:
        raise BadInput("--engine", f"{name!r} is not an engine", hint=f"use one of {', '.join(NAMES)}")
    package = PACKAGES.get(name)
    if package is not None and find_spec(package) is None:
        raise BadInput(
            f"--engine {name}",
            f"needs {package.replace('_', '-')}, which is not installed here",
            hint=f"pip install 'benchloom[{name}]'",
        )


def read_settings(params: Mapping[str, Any]) -> EngineSettings:
    """Read `run.engine` of params.yaml. Raises BadInput."""
    given = get_section(params, "run").get("engine", {})
    settings: EngineSettings = validate(EngineSettings, given, ["run", "engine"], params)
    return settings


def count_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def open_engine(
    root: Path, name: str, workers: int | None, say: Callable[[str], None]
) -> Iterator[ShardEngine | None]:
    """Open an engine for shards outside of a run; None where this process is to do them.

    workers: processes of this machine, one a core by default.
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
    """Does shards on a cluster, as tasks of Prefect's; on processes of this machine where that is lost.

    name: `dask` or `ray`. stopping: set where the run is to end.
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
        """Do shards; see `Engine`. Raises BadInput if no cluster answers at its address."""
        if not shards:
            return
        from flows.run.engine.prefect_shards import run_shards

        runner = self.open()
        try:
            lost = run_shards(shards, runner, self._workers, self._stopping)
        except BenchloomError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a cluster, Prefect or the way to them may raise
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
        """Processes of a cluster of this run's own; of one at an address nobody knows."""
        return None if self._cluster.address else self._cluster.workers or os.cpu_count() or 1

    def close(self) -> None:
        """End the cluster, if it is this run's own."""
        self._opened.close()

    def open(self) -> Any:
        """Open the cluster, unless it is; give a task runner of Prefect's."""
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
                except Exception as error:  # whatever Dask or Ray may raise
                    raise StageFailed(
                        f"--engine {self._name}: the cluster did not start on this machine "
                        f"({describe_error(error)}); run the command again, or use --engine threads"
                    ) from error
            return self._runner


@contextmanager
def open_dask(cluster: Cluster) -> Iterator[Any]:
    """Open a Dask cluster; give a task runner of Prefect's. One of our own is this run's alone, by TLS."""
    import dask.config
    import distributed
    from prefect_dask.task_runners import DaskTaskRunner

    if cluster.address:
        try:
            distributed.Client(cluster.address, timeout=PATIENCE_S, set_as_default=False).close()  # type: ignore[no-untyped-call] # untyped
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
    """Open Ray; give a task runner of Prefect's. Whoever speaks to a cluster of our own needs its token."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if cluster.address is None:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        os.environ.setdefault("RAY_worker_niceness", "0")  # 15, where nothing is said
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
            each = ray.remote(num_cpus=1)(warm_up)
            ray.get([each.remote() for _ in range(options["num_cpus"])])
        yield RayTaskRunner()
    finally:
        ray.shutdown()


def warm_up() -> None:
    """Import what shards need into a worker that stands."""
    import_module(SHARDS)


OPEN = {"dask": open_dask, "ray": open_ray}


def refuse_address(name: str, address: str, error: Exception) -> BadInput:
    """Make the error for a cluster that does not answer."""
    return BadInput(
        f"run.engine.{name}.address",
        f"no cluster answers at {address} ({' '.join(str(error).split())[:120]})",
        hint=(
            "start the cluster, or set the address to null to start one on this machine; see docs/engines.md"
        ),
    )
