"""Settings `run.engine` of params.yaml: where shards of stages run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tasks.settings import Settings

EngineName = Literal["threads", "dask", "ray"]


class Cluster(Settings):
    """Where processes are found: at an address, or as many as are wanted on this machine."""

    address: str | None = None
    """Of a cluster that runs; null starts one on this machine, for as long as the run."""
    workers: int | None = Field(default=None, gt=0)
    """Processes of one that is started; null is one a core."""


class EngineSettings(Settings):
    """`run.engine`."""

    name: EngineName = "threads"
    """What does shards unless `--engine` says otherwise: processes of this machine, Dask or Ray."""
    dask: Cluster = Cluster()
    ray: Cluster = Cluster()
