"""Benchmark shards on engines against one process: importing a dump and scoring tables, in wall-clock time.

Each workload takes at least a minute in one process. The time to start processes counts. The time to open a
cluster is printed separately, since a run opens a cluster only once. `python -m bench.engines scores threads
ray` runs the named workloads and engines; the default is both workloads with threads and Dask. The sample
must have been built: its tables are scored repeatedly.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from bench.wikidata_shards import SELECTION, make_streams
from flows.importing import bring_in
from flows.run.engine.computing import Computing
from flows.run.engine.engine_settings import Cluster, EngineSettings
from flows.run.engine.engines import THREADS, ClusterEngine
from flows.run.engine.processes import Processes
from flows.run.engine.shards import ShardEngine
from flows.run.engine.stage_work import StageRun
from flows.run.node import Node
from flows.run.prefect_server import server_folder, use_prefect
from flows.run.servers import stop_servers
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.sources.importers.wikidata import Wikidata
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.solve.prediction import Prediction

ENTITIES, PREDICTIONS = 200_000, 200_000
WORKERS = 2
SAMPLE = Path("data/tanq/sample")
SCORES = Node(
    "tanq-scores@bench",
    "tanq.scores",
    "bench",
    ("data/items.parquet", "data/predictions.parquet"),
    ("data/scores.parquet",),
    (),
)
Work = Callable[[ShardEngine | None, str], list[str]]
"""A function that runs a workload on an engine (None: in one process) and returns the outputs' hashes."""


def main(names: Sequence[str] = ()) -> None:
    """Print the times of each workload in one process and on each engine."""
    engines = [name for name in names if name not in WORKS] or [THREADS, "dask"]
    works = [name for name in names if name in WORKS] or list(WORKS)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)  # shared by all workloads: Prefect reads its server's address only once
        writer = Processes(1)  # runs whole stages and joins parts
        for what in works:
            compare(what, engines, root, writer)
        writer.close()
        stop_servers(server_folder(root))


def compare(what: str, engines: Sequence[str], root: Path, writer: Processes) -> None:
    """Print the times of one workload in one process and on each engine."""
    work = WORKS[what](root, writer)
    number = writer.call("writer", os.getpid)
    whole = measure(work, None, "whole", number)
    print(f"engines: {what}: one process {whole}", flush=True)
    for name in engines:
        with open_workers(root, name) as engine:
            own = measure(work, engine, name, number)
        assert own.found == whole.found, f"{name} gave other bytes"
        print(
            f"engines: {what}: {name}, {WORKERS} processes {own}: "
            f"{whole.seconds / own.seconds:.2f} times by the clock, "
            f"{whole.longest / own.longest:.2f} by CPU on the longest way",
            flush=True,
        )


@dataclass(frozen=True)
class Measured:
    """The measurements of a workload: hashes of its outputs, wall-clock seconds and CPU seconds.

    longest: CPU seconds of the critical path, that is, of this process, the writer, and the busiest shard
    process. On idle cores, the workload would take this time.
    """

    found: list[str]
    seconds: float
    cpu: float
    longest: float

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s ({self.cpu:.1f} s of CPU, {self.longest:.1f} s on the longest way; "
            f"load {os.getloadavg()[0]:.1f})"
        )


def measure(work: Work, engine: ShardEngine | None, turn: str, writer: int = 0) -> Measured:
    """Run and measure a workload. writer: id of the process that joins parts, if not this process."""
    before, begun = count_cpu(), time.perf_counter()
    found = work(engine, turn)
    seconds = time.perf_counter() - begun
    used = {number: cpu - before.get(number, 0) for number, cpu in count_cpu().items()}
    alone = [used.pop(number, 0.0) for number in (os.getpid(), writer)]
    return Measured(
        found, seconds, sum(alone) + sum(used.values()), sum(alone) + max(used.values(), default=0)
    )


def count_cpu() -> dict[int, float]:
    """Return process id -> CPU seconds, for this process and its child processes."""
    found = {}
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.Error):
            used = process.cpu_times()
            found[process.pid] = used.user + used.system
    return found


@contextmanager
def open_workers(root: Path, name: str) -> Iterator[ShardEngine]:
    """Open an engine with two processes; print the time to open its cluster."""
    if name == THREADS:
        processes = Processes(WORKERS)
        yield processes
        processes.close()
        return
    cluster = Cluster(workers=WORKERS)
    settings = EngineSettings(dask=cluster, ray=cluster)
    with use_prefect(root, lambda line: None, needed=True):
        engine = ClusterEngine(name, settings, Processes(WORKERS), threading.Event(), print)
        begun = time.perf_counter()
        engine.open()
        print(f"engines: {name} stands after {time.perf_counter() - begun:.1f} s")
        try:
            yield engine
        finally:
            engine.close()


def make_dump(root: Path, writer: Processes) -> Work:
    """Write a dump of many bzip2 streams; return the workload that imports the dump."""
    path, _ = make_streams(root / "dump.json.bz2", ENTITIES)

    def read(engine: ShardEngine | None, turn: str) -> list[str]:
        bring_in(root, Wikidata(places=[str(path)], called=turn, workers=1, **SELECTION), engine)
        folder = root / "data/raw/wikidata" / turn
        return [digest(folder / name) for name in ("entities.parquet", "claims.parquet")]

    return read


def make_scores(root: Path, writer: Processes) -> Work:
    """Copy the sample's table predictions with new ids; return the workload that scores the copies."""
    items = read_rows(SAMPLE / "items.parquet", TanqItem)
    given = read_rows(SAMPLE / "sample/predictions.parquet", Prediction)
    rows = [replace(given[n % len(given)], id=f"{n:06}") for n in range(PREDICTIONS)]
    write_rows(root / "data/items.parquet", TanqItem, items)
    write_rows(root / "data/predictions.parquet", Prediction, rows)

    def score(engine: ShardEngine | None, turn: str) -> list[str]:
        run = StageRun(SCORES, {}, root, {}, "" if engine is None else turn)
        Computing(writer, engine, print).run(run)
        return [digest(root / SCORES.outs[0])]

    return score


def digest(path: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


WORKS = {"dump": make_dump, "scores": make_scores}


if __name__ == "__main__":
    main(sys.argv[1:])
