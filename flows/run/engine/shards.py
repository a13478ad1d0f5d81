"""Define shards: units of work that any process with the project's code and files can run.

A shard writes a part: a file or folder that exists only when the shard is complete. Parts remain on disk, so
a killed run continues with the missing parts.
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
"""Maximum number of times that a shard is started, including restarts after its process was killed."""


@dataclass(frozen=True)
class Shard:
    """A unit of work that writes one part.

    `name`: a display name. `work`: the function that is called with `arguments`. `part`: the file or folder
    that the shard writes. `root`: the project that contains the code.
    """

    name: str
    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    part: Path
    root: Path


class ShardEngine(Protocol):
    """Runs shards in processes on this machine or on a cluster."""

    def work(self, shards: Sequence[Shard]) -> None:
        """Run shards; restart a shard once if the shard's process is killed.

        If a shard fails, this method raises the shard's error. If a shard's process is killed twice, the
        method raises StageFailed after all other shards have finished. The message names the shards that were
        killed.
        """

    def close(self) -> None:
        """Stop the processes and clusters that the engine started."""


def do_shard(shard: Shard) -> None:
    """Run a shard in this process, unless the shard's part exists.

    Raises BadInput if this process cannot access the shard's project, or has loaded another project's code.
    Any other error of the shard is converted to a BenchloomError.
    """
    require_project(shard.root)
    if shard.part.exists():
        return
    try:
        shard.work(*shard.arguments)
    except BenchloomError as error:
        # The main process receives the error without its cause, so the message must say if the disk is full.
        error.args = (describe_error(error),)
        raise
    except Exception as error:
        raise StageFailed(f"{shard.name}: {describe_error(error)}") from error


def require_project(root: Path) -> None:
    """Raise BadInput if this process cannot access the project, or has loaded another project's code."""
    if not root.is_dir():
        raise BadInput(
            root,
            f"is not a project on the machine {socket.gethostname()}, to which a shard was sent",
            hint="every machine that an engine uses needs the project at the same path; see docs/engines.md",
        )
    check_code(root)


def make_lost_error(shards: Iterable[Shard]) -> StageFailed:
    """Return the error for shards whose processes were killed twice."""
    return StageFailed(
        f"{'; '.join(shard.name for shard in shards)}: the process was killed twice, possibly because "
        "memory ran out; all other shards are complete: run the same command again with fewer workers"
    )


def list_left(shards: Iterable[Shard]) -> list[Shard]:
    """List the shards whose parts do not exist."""
    return [shard for shard in shards if not shard.part.exists()]
