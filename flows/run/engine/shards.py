"""Shards: units of work that any process with the project's code and files can run, in any order.

A shard leaves a part, a folder or file that is there when all of it is done. What is done stays on disk, so
that a killed run, or a shard whose process was ended, is taken up again at the parts that are missing.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flows.run.failures import describe_error
from flows.run.origin import check_code
from tasks.errors import BadInput, BenchloomError, StageFailed

TRIES = 2
"""How often a shard is begun whose process is ended from outside."""


@dataclass(frozen=True)
class Shard:
    """A piece of work. name: for people. work: a function of a module, called with the arguments.

    part: what it leaves. root: the project whose code it is.
    """

    name: str
    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    part: Path
    root: Path


class ShardEngine(Protocol):
    """Processes that do shards: of this machine, or of a cluster."""

    def work(self, shards: Sequence[Shard]) -> None:
        """Do shards; one whose process is ended from outside is begun once more.

        Raises what a shard raises; StageFailed that names shards whose process was ended twice, after all
        others were done.
        """

    def close(self) -> None:
        """End processes and clusters of its own."""


def do_shard(shard: Shard) -> None:
    """Do a shard in this process, unless its part is there. Raises one of our errors.

    BadInput where this process sees another project than the run does.
    """
    require_project(shard.root)
    if shard.part.exists():
        return
    try:
        shard.work(*shard.arguments)
    except BenchloomError as error:
        error.args = (describe_error(error),)
        raise
    except Exception as error:
        raise StageFailed(f"{shard.name}: {describe_error(error)}") from error


def require_project(root: Path) -> None:
    """Check that this process sees a project, and runs its code. Raises BadInput."""
    if not root.is_dir():
        raise BadInput(
            root,
            f"is not a project on {socket.gethostname()}, to which a shard was sent",
            hint="every machine of an engine needs the project at the same path; see docs/engines.md",
        )
    check_code(root)


def make_lost_error(shards: Iterable[Shard]) -> StageFailed:
    """Make the error for shards whose processes were ended twice."""
    return StageFailed(
        f"{'; '.join(shard.name for shard in shards)}: the process was killed twice, possibly because "
        "memory ran out; all other shards are complete: run the same command again with fewer workers"
    )


def list_left(shards: Iterable[Shard]) -> list[Shard]:
    """List the shards whose parts are not there."""
    return [shard for shard in shards if not shard.part.exists()]
