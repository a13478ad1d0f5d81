"""Run stages that call no model: in a local process, or in shards on an engine.

Stages that call models run in the run's main process, which alone accesses the ledger and DVC. A stage's
artifacts are written on this machine, from the parts that the shards wrote.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows.run.engine.processes import Processes
from flows.run.engine.shards import Shard, ShardEngine, list_left
from flows.run.engine.stage_work import PARTS, Cut, StageRun, begin_stage, join_parts, work_on
from flows.run.node import Node
from tasks.lines import say_line

if TYPE_CHECKING:
    from flows.run.binding import Work


@dataclass
class Computing:
    """Runs stages that call no model.

    `engine`: the engine for shards; None runs the shards in `processes`, which also run whole stages.
    """

    processes: Processes
    engine: ShardEngine | None = None
    say: Callable[[str], None] = say_line

    def run(self, run: StageRun) -> Work:
        """Run a stage and write its artifacts.

        If the stage raises an error, the error is raised here unchanged. Raises StageFailed if the stage's
        processes were killed, and Interrupted if the run was stopped before a process was free for the stage.
        """
        name = run.node.name
        forget_parts(run.root, run.node, keep=run.inputs)
        begun = self.processes.call(name, begin_stage, run)
        if not isinstance(begun, Cut):
            return begun
        shards = [
            Shard(
                f"{name}, shard {number + 1} of {begun.shards}",
                work_on,
                (run, number),
                run.name_part(number),
                run.root,
            )
            for number in range(begun.shards)
        ]
        left = list_left(shards)
        if len(left) < len(shards):
            self.say(f"{name}: {len(shards) - len(left)} of {len(shards)} shards were already complete")
        (self.engine or self.processes).work(left)
        return self.processes.call(name, join_parts, run, begun)

    def close(self) -> None:
        """End idle processes, and the cluster if this run started one."""
        self.processes.close()
        if self.engine is not None:
            self.engine.close()


def forget_parts(root: Path, node: Node, keep: str = "") -> None:
    """Remove the parts of a stage, except the parts computed from the inputs with the hash `keep`."""
    folder = root / PARTS / node.name
    for old in folder.iterdir() if folder.is_dir() else ():
        if old.name != keep:
            shutil.rmtree(old, ignore_errors=True)
