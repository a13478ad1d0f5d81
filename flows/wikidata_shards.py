"""Parts of a Wikidata dump are the shards of its import: read by an engine, and joined when all are there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from flows.run.shards import Shard, ShardEngine
from tasks.errors import BadInput
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.join import PartJoiner
from tasks.sources.wikidata.parts import read_part
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.shards import SIZE, DumpPart, PartSize, identify, plan_parts

PARTS = ".parts"
"""Folder of what was read of a dump, until all of it was."""


def import_shards(
    paths: Sequence[Path],
    selection: EntitySelection,
    folder: Path,
    report: ReadingReport,
    *,
    root: Path,
    engine: ShardEngine | None = None,
    size: PartSize = SIZE,
    say_progress: Callable[[str], None] = lambda line: None,
) -> tuple[int, int]:
    """Read a dump's files into entities.parquet and claims.parquet of `folder`; return their numbers of rows.

    engine: what reads parts; without one, this process does. root: the project. What was read stays in
    `folder`/.parts until the end, and is not read again. Raises BadInput, also where a file was changed
    meanwhile; StageFailed where a part's process was ended twice, after all others were read.
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
    if engine is not None and len(left) > 1:
        engine.work([make_shard(part, selection, store, root) for part in left])
    else:
        for part in left:
            read_part(part, selection, store)
    for path, found in zip(paths, before, strict=True):
        if identify(path) != found:
            raise BadInput(path, "was changed while it was read", hint="import it again")
    counts = PartJoiner(store, report).join(parts, folder)
    shutil.rmtree(store)
    return counts


def make_shard(part: DumpPart, selection: EntitySelection, store: Path, root: Path) -> Shard:
    """Make the shard that reads a part."""
    return Shard(name_part(part), read_part, (part, selection, store), store / part.key, root)


def name_part(part: DumpPart) -> str:
    """Name a part by its file and bytes."""
    end = "the end" if part.end is None else f"{part.end:,}"
    return f"{part.path.name}, bytes {part.begin:,} to {end}"
