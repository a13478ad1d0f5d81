"""The settings `run.engine` of params.yaml: where shards of stages run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tasks.settings import Settings

EngineName = Literal["threads", "dask", "ray"]


class Cluster(Settings):
    """Settings of a cluster: a running cluster, or processes to start on this machine."""

    address: str | None = None
    """The address of a running cluster; null starts a cluster on this machine for the run."""
    workers: int | None = Field(default=None, gt=0)
    """Number of processes to start; null starts one per core."""


class EngineSettings(Settings):
    """`run.engine` in params.yaml: the engine on which shards of stages run."""

    name: EngineName = "threads"
    """The engine that is used without the option `--engine`: threads, dask or ray."""
    dask: Cluster = Cluster()
    ray: Cluster = Cluster()
