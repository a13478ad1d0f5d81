"""Run, in one process, a stage that calls no model: the whole stage, one shard, or the merge of the parts.

The division of a stage into shards (`tasks/artifacts/splitting.py`) depends only on the stage's inputs, so
all engines run the same shards. The parts are Parquet files sorted by id. Merging the parts gives the same
bytes as a run without shards.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.loaded_code import is_loaded_otherwise
from flows.run.engine.shards import require_project
from flows.run.failures import describe_error
from flows.run.node import CALLS, Node
from flows.run.record.path_marks import mark_path
from tasks.artifacts.part_folders import write_folder_beside
from tasks.artifacts.splitting import Blocks, find_splitting
from tasks.errors import BenchloomError, ChangedWhileRunning, StageFailed

if TYPE_CHECKING:
    from flows.run.binding import Bound, Work

PARTS = Path(".benchloom/parts")
FORMAT = 1
"""Version of the parts' format; increase it when existing parts can no longer be read."""
DROPPED = ".dropped.parquet"
ROWS = "rows.parquet"


@dataclass(frozen=True)
class StageRun:
    """The current run of a stage.

    `code`: the path of each module that the stage depends on -> the module's SHA-256. `inputs`: the hash of
    all of the stage's dependencies; if this hash is empty, the stage is not split. `marks`: the path of each
    data file -> the hash of the file's metadata (from `mark_inputs`), which changes with the data.
    """

    node: Node
    params: Mapping[str, Any]
    root: Path
    code: Mapping[str, str]
    inputs: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        """The folder for the stage's parts; each value of `inputs` has its own folder."""
        return self.root / PARTS / self.node.name / self.inputs

    def name_part(self, number: int) -> Path:
        """Return the folder of the part with the given number."""
        return self.store / f"{number:06d}"

    def require_code(self) -> None:
        """Raise ChangedWhileRunning if the loaded code differs from the code that the run hashed."""
        for path, digest in self.code.items():
            if is_loaded_otherwise(self.root / path, digest):
                raise ChangedWhileRunning(self.node.name, path)

    def require_inputs(self) -> None:
        """Raise ChangedWhileRunning if the data have changed since they were hashed."""
        for path, mark in self.marks.items():
            if digest_mark(self.root / path) != mark:
                raise ChangedWhileRunning(self.node.name, path)


@dataclass(frozen=True)
class Cut:
    """The division of a stage into shards: the number of shards and the number of input rows."""

    shards: int
    rows_in: int | None


def digest_inputs(hashes: Mapping[str, str]) -> str:
    """Return one hash of all of a stage's dependencies (data, parameters and code), given their hashes."""
    return hashlib.sha256(json.dumps([FORMAT, hashes], sort_keys=True).encode()).hexdigest()[:16]


def mark_inputs(root: Path, node: Node) -> dict[str, str]:
    """Return path -> metadata hash of a stage's data.

    Call this function before the data are hashed, so that later changes are detected.
    """
    return {dep: digest_mark(root / dep) for dep in node.deps if not dep.startswith("tasks/")}


def digest_mark(path: Path) -> str:
    """Return a hash of the metadata that reveal a change to a file or folder."""
    return hashlib.sha256(repr(mark_path(path)).encode()).hexdigest()[:16]


def begin_stage(run: StageRun) -> Work | Cut:
    """Run a stage, or return the stage's division into shards if there is more than one shard.

    Every error is converted to a BenchloomError, whose message also reports a full disk.
    """
    try:
        bound, _, blocks = _bind(run)
        if len(blocks) > 1:
            return Cut(len(blocks), bound.rows_in)
        work = bound.call()
    except BenchloomError as error:
        error.args = (describe_error(error),)
        raise
    except Exception as error:
        raise StageFailed(describe_error(error)) from error
    # Checked at the end, because a stage may import further modules while it runs.
    run.require_code()
    return work


def work_on(run: StageRun, number: int) -> None:
    """Run one shard of a stage. The shard's part is a folder with the output rows and the dropped rows."""
    from flows.run.loading import row_type_of
    from tasks.artifacts.parquet import write_rows
    from tasks.artifacts.rows import Dropped

    bound, over, blocks = _bind_once(_Held(run))
    drafts = bound.function(**{**bound.arguments, over: blocks[number]})
    with write_folder_beside(run.name_part(number)) as draft:
        write_rows(draft / ROWS, row_type_of(bound.function), drafts.rows)
        write_rows(draft / DROPPED, Dropped, drafts.dropped)
        # Checked before the folder gets its final name: a part that exists counts as complete.
        run.require_code()
        run.require_inputs()


def join_parts(run: StageRun, cut: Cut) -> Work:
    """Write a stage's artifacts from its parts; at most a few thousand rows of each part are in memory."""
    from flows.run.binding import Work

    parts = [run.name_part(number) for number in range(cut.shards)]
    written, dropped = 0, Counter[str]()
    for out in run.node.outs:
        name = DROPPED if out.endswith(DROPPED) else ROWS
        count = merge_parts([part / name for part in parts], run.root / out)
        if name == ROWS:
            written = count
    for part in parts:
        dropped.update(count_reasons(part / DROPPED))
    run.require_code()
    return Work(cut.rows_in, written, dict(sorted(dropped.items())))


def merge_parts(paths: Sequence[Path], out: Path) -> int:
    """Merge files of rows that are sorted by id; return the number of rows."""
    import tempfile

    import pyarrow.parquet as pq

    from tasks.artifacts.sorted_tables import merge_files, write_tables

    with tempfile.TemporaryDirectory(prefix=".join-", dir=paths[0].parents[1]) as scratch:
        return write_tables(out, pq.read_schema(paths[0]), merge_files(paths, Path(scratch)))


def count_reasons(path: Path) -> dict[str, int]:
    """Count dropped rows by reason."""
    import pyarrow.parquet as pq

    return Counter(pq.read_table(path, columns=["reason"])["reason"].to_pylist())


def refuse_ask(stage: str, prompts: Path, epoch: str) -> Any:
    """Raise StageFailed: the stage calls a model, but dvc.yaml declares no output for its calls."""
    raise StageFailed(
        f"{stage}: calls a model, but has no output `{CALLS}` for its calls; run `benchloom graph`"
    )


def _bind(run: StageRun) -> tuple[Bound, str, Blocks]:
    """Return a stage's bound function, the name of the argument to split, and the argument's row blocks.

    If the stage is not split, the name is empty and there are no blocks.
    """
    from flows.run.binding import Places, bind

    bound = bind(run.node, run.params, Places(run.root, run.root), refuse_ask, split=bool(run.inputs))
    splitting = find_splitting(bound.function) if run.inputs else None
    if splitting is None:
        return bound, "", Blocks([], 1)
    blocks = splitting.cut(bound.arguments)
    if len(blocks) <= 1 and splitting.arrange is None:
        bound.arguments[splitting.over] = list(bound.arguments[splitting.over])
    return bound, splitting.over, blocks


@dataclass(frozen=True)
class _Held:
    """A cache key for a stage run: two keys are equal if both runs store their parts in the same folder."""

    run: StageRun

    def __hash__(self) -> int:
        return hash(self.run.store)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.run.store == self.run.store


@lru_cache(maxsize=1)
def _bind_once(held: _Held) -> tuple[Bound, str, Blocks]:
    """Read a stage's arguments once for all shards that this process runs in sequence."""
    require_project(held.run.root)
    return _bind(held.run)
