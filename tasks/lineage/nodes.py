"""Define the parts of a lineage: nodes with parents, and gaps for references that cannot be resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

Record = dict[str, object]
"""A row of any artifact: column -> value."""


class FigureRows(TypedDict):
    """An entry of `rows` in a figure's summary: the figure's source rows in one artifact."""

    artifact: str
    where: dict[str, object]
    count: int
    ids: list[str]


class CodeFile(TypedDict):
    """An entry of `code` in a stage's summary: a code file, as recorded when the stage ran.

    `now`: the file's current state, as returned by `FileHistory.check`.
    """

    path: str
    md5: str | None
    now: str
    commit: str | None


@dataclass(frozen=True)
class LineageNode:
    """A node of a lineage: one object and its direct sources.

    `kind`: `figure`, `row`, `call`, `prompt`, `source`, `raw`, `evidence`, `stage`, `file` or `gap`. A
    `source` is a row of a database; `raw` is a row of the file that the database was made from. `reference`:
    the node's identifier, unique within its kind, with paths relative to the project (docs/lineage.md).
    `summary`: details of the node, in JSON types. `parents`: the nodes of the direct sources.
    """

    kind: str
    reference: str
    summary: Mapping[str, object]
    parents: tuple[LineageNode, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Return the kind and the reference, which together identify the node."""
        return (self.kind, self.reference)


@dataclass(frozen=True)
class Gap:
    """A reference that cannot be resolved, or whose target has changed.

    `at`: name of the node that has the reference, such as `PATH#ID` for a row or `call KEY` for a call.
    """

    at: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.at}: {self.what}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True)
class TracedSource:
    """A source that a tracer found outside the artifacts; it becomes a node.

    `parents`: sources that this source was made from. `files`: project files that contain the source. `gaps`:
    descriptions of missing parents.
    """

    kind: str
    reference: str
    summary: Mapping[str, object] = field(default_factory=dict)
    parents: tuple[TracedSource, ...] = ()
    files: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def walk_nodes(*nodes: LineageNode) -> Iterator[LineageNode]:
    """Yield nodes and all their ancestors, each once, depth first."""
    seen: set[tuple[str, str]] = set()
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if node.key not in seen:
            seen.add(node.key)
            yield node
            waiting.extend(reversed(node.parents))


def count_kinds(nodes: Iterable[LineageNode]) -> dict[str, int]:
    """Count nodes by kind; kinds are in the order in which they first occur."""
    counts: dict[str, int] = {}
    for node in nodes:
        counts[node.kind] = counts.get(node.kind, 0) + 1
    return counts
