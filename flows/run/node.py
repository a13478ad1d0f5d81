"""A stage of a project's graph, as resolved from dvc.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tasks.errors import BadInput

PARAMS = "params.yaml"
CALLS = ".calls.parquet"
WORD = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class Node:
    """A stage of the graph. Paths are relative to the project."""

    name: str
    """DVC's name for the stage, such as `grammar-schema@films`."""
    stage: str
    """Benchloom's name for the stage (`grammar.schema`); empty for a user's own stage.

    The name determines the stage's module under tasks/.
    """
    key: str
    """The key of the stage's entry, such as a database's name; empty if the stage runs only once."""
    deps: tuple[str, ...]
    outs: tuple[str, ...]
    upstream: tuple[str, ...]
    command: str = ""
    folder: str = ""
    """The folder in which the stage's command runs; empty means the project's folder."""
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Parameters that the stage depends on: file -> dotted names."""

    @property
    def asks(self) -> bool:
        """Whether the stage calls models, so that its outputs include a file of calls."""
        return any(out.endswith(CALLS) for out in self.outs)

    @property
    def artifact(self) -> str:
        """The file with the stage's rows; if there is no such file, the first output.

        The path is empty if the stage has no outputs.
        """
        rows = (out for out in self.outs if out.endswith(".parquet") and out.count(".") == 1)
        return next(rows, self.outs[0] if self.outs else "")

    @property
    def params(self) -> tuple[str, ...]:
        """Sections of params.yaml that the stage depends on."""
        return self.settings.get(PARAMS, ())


def normalise(path: str) -> str:
    """Return a path from dvc.yaml or dvc.lock without `./`, repeated slashes and a trailing slash."""
    odd = path.startswith("./") or path.endswith("/") or "//" in path or "/./" in path
    return str(PurePosixPath(path)) if odd else path


def split_command(command: str) -> tuple[str, str]:
    """Return a stage's name and key from a `benchloom stage` command; two empty strings for other commands.

    Raises BadInput for a malformed `benchloom stage` command, so that a crafted name is never passed to a
    shell.
    """
    words = command.split()
    if words[:2] != ["benchloom", "stage"]:
        return "", ""
    if len(words) not in (3, 4) or not all(WORD.fullmatch(word) for word in words[2:]):
        raise BadInput(
            "dvc.yaml",
            f"`{command[:80]}` is not the command of a stage",
            hint="expected benchloom stage NAME [KEY]",
        )
    return words[2], words[3] if len(words) == 4 else ""
