"""A stage of a project's graph, as dvc.yaml resolves it."""

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
    """DVC's name: `grammar-schema@films`."""
    stage: str
    """Ours: `grammar.schema`, the module below tasks/ and the section of params.yaml; or nothing."""
    key: str
    """What the stage is fanned out over (a database's name), or nothing."""
    deps: tuple[str, ...]
    outs: tuple[str, ...]
    upstream: tuple[str, ...]
    command: str = ""
    folder: str = ""
    """Where the command runs; nothing = in the project's own."""
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Parameters that the stage depends on, by dotted name: file -> names."""

    @property
    def asks(self) -> bool:
        """Return whether the stage asks a model: it then keeps its calls."""
        return any(out.endswith(CALLS) for out in self.outs)

    @property
    def artifact(self) -> str:
        """The file of its rows, or its first output; nothing where it writes none."""
        rows = (out for out in self.outs if out.endswith(".parquet") and out.count(".") == 1)
        return next(rows, self.outs[0] if self.outs else "")

    @property
    def params(self) -> tuple[str, ...]:
        """Sections of params.yaml that the stage depends on."""
        return self.settings.get(PARAMS, ())


def normalise(path: str) -> str:
    """Write a path without `./`, `//` and a slash at its end, as it may stand in dvc.yaml and dvc.lock."""
    odd = path.startswith("./") or path.endswith("/") or "//" in path or "/./" in path
    return str(PurePosixPath(path)) if odd else path


def split_command(command: str) -> tuple[str, str]:
    """Read a stage's name and key from the command in its block; both are empty where it is not ours.

    Raises BadInput for one that begins as ours do and is none: a shell must not see what a name brings along.
    """
    words = command.split()
    if words[:2] != ["benchloom", "stage"]:
        return "", ""
    if len(words) not in (3, 4) or not all(WORD.fullmatch(word) for word in words[2:]):
        raise BadInput(
            "dvc.yaml", f"`{command[:80]}` is not a stage's command", hint="benchloom stage NAME [KEY]"
        )
    return words[2], words[3] if len(words) == 4 else ""
