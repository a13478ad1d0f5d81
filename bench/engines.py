"""Shards on engines against one process: reading a dump and scoring tables, in seconds by the clock.

The work takes a minute or more in one process. What starts a process counts; what opens a cluster is told
beside it, for it is paid once a run. `python -m bench.engines threads dask ray` takes the engines named;
without a name, threads and Dask. The sample must have been built: its tables are scored, over and over.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench.wikidata_shards import SELECTION, make_streams
from flows.run.computing import Computing
from flows.run.engine_settings import Cluster, EngineSettings
from flows.run.engines import THREADS, ClusterEngine
from flows.run.node import Node
from flows.run.prefect_server import server_folder, use_prefect
from flows.run.processes import Processes
from flows.run.servers import stop_servers
from flows.run.shards import Engine
from flows.run.stage_work import StageRun
from flows.wikidata_import import import_wikidata
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.tanq.rows import TanqItem
from tasks.tanq.solve.rows import Prediction

ENTITIES, PREDICTIONS = 60_000, 30_000
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
Work = Callable[[Engine | None, str], list[str]]
"""Does work on an engine, or in one process; gives the hashes of what it wrote. The text names its turn."""


def main(names: Sequence[str] = ()) -> None:
    """Print seconds and the ratio to one process, by engine."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for what, work in {"dump": make_dump(root), "scores": make_scores(root)}.items():
            whole, seconds = measure(work, None, "whole")
            print(f"engines: {what}: one process {seconds:.1f} s; load {os.getloadavg()[0]:.1f}", flush=True)
            for name in names or (THREADS, "dask"):
                with open_workers(root, name) as engine:
                    found, own = measure(work, engine, name)
                assert found == whole, f"{name} gave other bytes"
                print(
                    f"engines: {what}: {name}, {WORKERS} processes {own:.1f} s: {seconds / own:.2f} times; "
                    f"load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
        stop_servers(server_folder(root))


def measure(work: Work, engine: Engine | None, turn: str) -> tuple[list[str], float]:
    """Do work; give what it wrote, and the seconds."""
    begun = time.perf_counter()
    found = work(engine, turn)
    return found, time.perf_counter() - begun


@contextmanager
def open_workers(root: Path, name: str) -> Iterator[Engine]:
    """Open two processes of an engine; tell what it takes to open a cluster."""
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


def make_dump(root: Path) -> Work:
    """Make a dump of many streams, to be imported."""
    path, _ = make_streams(root / "dump.json.bz2", ENTITIES)

    def read(engine: Engine | None, turn: str) -> list[str]:
        import_wikidata(root, [str(path)], turn, SELECTION, engine=engine)
        folder = root / "data/raw/wikidata" / turn
        return [digest(folder / name) for name in ("entities.parquet", "claims.parquet")]

    return read


def make_scores(root: Path) -> Work:
    """Make predictions of tables, the sample's with other ids, to be scored."""
    items = read_rows(SAMPLE / "items.parquet", TanqItem)
    given = read_rows(SAMPLE / "sample/predictions.parquet", Prediction)
    rows = [replace(given[n % len(given)], id=f"{n:06}") for n in range(PREDICTIONS)]
    write_rows(root / "data/items.parquet", TanqItem, items)
    write_rows(root / "data/predictions.parquet", Prediction, rows)

    def score(engine: Engine | None, turn: str) -> list[str]:
        processes = Processes(1)
        run = StageRun(SCORES, {}, root, {}, "" if engine is None else turn)
        Computing(processes, engine, print).run(run)
        processes.close()
        return [digest(root / SCORES.outs[0])]

    return score


def digest(path: Path) -> str:
    """Hash a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main(sys.argv[1:])
