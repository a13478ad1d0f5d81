"""Parts of a Wikidata dump are read by processes, each in one of its own, and joined when all are there."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from flows.run.processes import STARTING, attach_to_parent, hidden_main
from tasks.errors import BadInput, BenchloomError, StageFailed
from tasks.sources.streams import say
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.join import PartJoiner
from tasks.sources.wikidata.parts import read_part
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.shards import SIZE, DumpPart, PartSize, identify, plan_parts

PARTS = ".parts"
"""Folder of what was read of a dump, until all of it was."""
TRIES = 2
"""How often a part is read whose process is ended from outside."""


@dataclass(frozen=True)
class _Worker:
    part: DumpPart
    tried: int
    process: BaseProcess
    errors: Connection


def count_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def import_shards(
    paths: Sequence[Path],
    selection: EntitySelection,
    folder: Path,
    report: ReadingReport,
    *,
    workers: int | None = None,
    size: PartSize = SIZE,
    say_progress: Callable[[str], None] = lambda line: None,
) -> tuple[int, int]:
    """Read a dump's files into entities.parquet and claims.parquet of `folder`; return their numbers of rows.

    workers: processes, by default one a core; 1 = this one alone. What was read stays in `folder`/.parts
    until the end, and is not read again. Raises BadInput, also where a file was changed meanwhile;
    StageFailed where a part's process was ended twice, after all others were read.
    """
    parts = plan_parts(paths, selection, size)
    before = [identify(path) for path in paths]
    store = folder / PARTS
    wanted = {part.key: part for part in parts}
    for old in store.iterdir() if store.is_dir() else ():
        if old.name not in wanted:
            shutil.rmtree(old, ignore_errors=True)
    left = [part for key, part in wanted.items() if not (store / key).is_dir()]
    if len(left) < len(wanted):
        say_progress(f"{len(wanted) - len(left)} of {len(wanted)} parts were read before")
    count = min(workers or count_cores(), len(left))
    if count > 1:
        PartReaders(selection, store, say_progress).read(left, count)
    else:
        for part in left:
            read_part(part, selection, store)
    for path, found in zip(paths, before, strict=True):
        if identify(path) != found:
            raise BadInput(path, "was changed while it was read", hint="import it again")
    counts = PartJoiner(store, report).join(parts, folder)
    shutil.rmtree(store)
    return counts


class PartReaders:
    """Processes that read parts, each one part. `store`: the folder of parts."""

    def __init__(self, selection: EntitySelection, store: Path, say_progress: Callable[[str], None]) -> None:
        self._selection, self._store, self._say = selection, store, say_progress
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__])

    def read(self, parts: Sequence[DumpPart], count: int) -> None:
        """Read parts in at most `count` processes. Raises what reading raises, and StageFailed."""
        left = [(part, 1) for part in reversed(parts)]
        running: list[_Worker] = []
        lost: list[str] = []
        try:
            while left or running:
                while left and len(running) < count:
                    running.append(self._start(*left.pop()))
                for worker in wait_for_any(running):
                    running.remove(worker)
                    if self._is_read(worker):
                        continue
                    name = name_part(worker.part)
                    if worker.tried < TRIES:
                        self._say(f"{name}: its process was ended from outside; it is read again")
                        left.append((worker.part, worker.tried + 1))
                    else:
                        lost.append(name)
        finally:
            for worker in running:
                worker.process.kill()
                worker.process.join()
        if lost:
            raise StageFailed(
                f"{'; '.join(lost)}: the process was ended from outside twice, as where memory runs out; "
                "all other parts were read: run it again, with fewer --workers"
            )

    def _start(self, part: DumpPart, tried: int) -> _Worker:
        errors, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=work, args=(part, self._selection, self._store, sender), daemon=True
        )
        with STARTING, hidden_main():
            process.start()
        sender.close()
        return _Worker(part, tried, process, errors)

    def _is_read(self, worker: _Worker) -> bool:
        """Tell whether a process that ends has read its part. Raises what it raised."""
        with worker.errors:
            try:
                error = worker.errors.recv() if worker.errors.poll() else None
            except EOFError:
                error = None
        if error is not None:
            worker.process.kill()
        worker.process.join()
        if error is not None:
            raise error
        return (self._store / worker.part.key).is_dir()


def wait_for_any(workers: Sequence[_Worker]) -> list[_Worker]:
    """Wait for processes that ended, or have an error to send: a long one they cannot, before it is read."""
    ready = wait([end for worker in workers for end in (worker.process.sentinel, worker.errors)])
    return [worker for worker in workers if worker.process.sentinel in ready or worker.errors in ready]


def work(part: DumpPart, selection: EntitySelection, store: Path, errors: Connection) -> None:
    """Read a part in a process of its own; send what it raises."""
    attach_to_parent()
    try:
        read_part(part, selection, store)
    except BenchloomError as error:
        errors.send(error)
    except Exception as error:  # noqa: BLE001 (whatever it is, the one who waits must know)
        errors.send(StageFailed(f"{name_part(part)}: {say(error)}"))


def name_part(part: DumpPart) -> str:
    """Name a part by its file and bytes."""
    end = "the end" if part.end is None else f"{part.end:,}"
    return f"{part.path.name}, bytes {part.begin:,} to {end}"
