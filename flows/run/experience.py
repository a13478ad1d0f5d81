"""Read the calls that stages made in earlier runs: for the same entry, for other entries, and in previews.

The calls are read from artifacts, so a clone with pulled artifacts has the same information as the machine
that ran the stages.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import pyarrow.parquet as pq

from flows.run.binding import Places, find_function, name_files
from flows.run.node import CALLS, Node
from flows.run.outcomes import load_outcome
from flows.run.previewing import PREVIEW, shrink_params
from flows.run.record.recorder import Recorder
from flows.run.switches import is_off
from flows.settings import get_section

COLUMNS = ["id", "row", "role", "prompt", "model", "attempt", "prompt_tokens", "completion_tokens"]


@dataclass(frozen=True)
class SeenCall:
    """One call of an earlier run. id: the call's ledger key."""

    id: str
    row: str
    role: str
    prompt: str
    model: str
    attempt: int
    prompt_tokens: int
    completion_tokens: int

    @property
    def kind(self) -> tuple[str, str]:
        """The kind of the call: its role and prompt."""
        return self.role, self.prompt


@dataclass(frozen=True)
class SeenRun:
    """An earlier run of a stage, with its calls and the numbers of its input and output rows.

    `rows_in`: None if the stage reads no rows, or if the number is unknown.
    """

    rows_in: int | None
    rows_out: int
    calls: tuple[SeenCall, ...]


class Experience:
    """Finds and caches earlier runs of a project's stages."""

    def __init__(self, recorder: Recorder, params: Mapping[str, Any]) -> None:
        self._recorder, self._params = recorder, params
        self._runs: dict[tuple[str, str], list[SeenRun]] = {}
        self._by_stage = defaultdict[str, list[Node]](list)
        for node in recorder.nodes.values():
            self._by_stage[node.stage].append(node)
        self._shrunk: Mapping[str, Any] | None = None
        self._asking: dict[str, list[Node]] = {}
        """Stage -> the nodes that run the stage and may call models."""

    def find_own(self, node: Node) -> SeenRun | None:
        """Return the last run of a stage; None if its artifacts are missing."""
        found = self._read(node, Places(self._recorder.root, self._recorder.root))
        return found[0] if found else None

    def list_like(self, node: Node) -> list[SeenRun]:
        """List runs of the same stage for other entries."""
        root = self._recorder.root
        likes = [like for like in self._choose_likes(node) if like.name != node.name]
        return [run for like in likes for run in self._read(like, Places(root, root))]

    def list_previews(self, node: Node) -> list[SeenRun]:
        """List previews of the same stage, for any entry."""
        root = self._recorder.root
        previews = Places(root, root / PREVIEW)
        return [run for like in self._choose_likes(node) for run in self._read(like, previews)]

    def is_scaled(self, node: Node) -> bool:
        """Return whether a preview changes a stage's parameters. A change may affect the calls per row."""
        if self._shrunk is None:
            self._shrunk = shrink_params(self._params, 1)
        return bool(get_section(self._shrunk, node.stage) != get_section(self._params, node.stage))

    def find_row_input(self, node: Node) -> str:
        """Return the file with the rows over which a stage iterates; empty if the stage reads no rows."""
        _, function = find_function(node)
        hints, files = get_type_hints(function), name_files(node, self._params)
        for name in inspect.signature(function).parameters:
            if name in files and is_rows(hints[name]):
                return files[name]
        return ""

    def _choose_likes(self, node: Node) -> list[Node]:
        """Return the nodes that run a node's stage and may call models.

        If some of these nodes, other than `node` itself, use the same systems as `node`, the method returns
        only the nodes with these systems.
        """
        if node.stage not in self._asking:
            nodes = self._by_stage[node.stage]
            self._asking[node.stage] = [other for other in nodes if not is_off(other, self._params)]
        likes = self._asking[node.stage]
        same = [other for other in likes if list_systems(other) == list_systems(node)]
        return same if any(other.name != node.name for other in same) else likes

    def _read(self, node: Node, places: Places) -> list[SeenRun]:
        key = (node.name, str(places.outs_root))
        if key not in self._runs:
            self._runs[key] = list(self._read_run(node, places))
        return self._runs[key]

    def _read_run(self, node: Node, places: Places) -> Iterator[SeenRun]:
        if not (node.stage and node.artifact and places.place(node.artifact).is_file()):
            return
        paths = [places.place(out) for out in node.outs if out.endswith(CALLS)]
        tables = [pq.read_table(path, columns=COLUMNS).to_pylist() for path in paths if path.is_file()]
        calls = tuple(SeenCall(**call) for table in tables for call in table)
        yield SeenRun(self._count_input(node, places), count_rows(places.place(node.artifact)) or 0, calls)

    def _count_input(self, node: Node, places: Places) -> int | None:
        """Count the input rows of a run; a preview's count is read from its outcome. None if unknown."""
        if places.outs_root != self._recorder.root:
            outcome = load_outcome(places.outs_root, node.name)
            return None if outcome is None else outcome.rows_in
        read = self.find_row_input(node)
        return count_rows(places.find(read)) if read else None


def list_systems(node: Node) -> set[str]:
    """List the systems that a stage's parameters name."""
    return {name for name in node.params if name.startswith("systems.")}


def is_rows(hint: object) -> bool:
    """Return whether an argument's annotation is a collection of rows."""
    return getattr(get_origin(hint), "__name__", "") in ("list", "Iterable")


def count_rows(path: Path) -> int | None:
    """Count the rows of an artifact; None if it is missing or not a Parquet file."""
    if path.suffix != ".parquet" or not path.is_file():
        return None
    return int(pq.read_metadata(path).num_rows)
