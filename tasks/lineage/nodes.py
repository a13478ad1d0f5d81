"""What a lineage is made of: nodes that come from nodes, and the gaps between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Node:
    """One thing, and what it comes from.

    kind: `figure`, `row` of an artifact, `call` of a model, `prompt`, `source` (a row of a database),
    `raw` (a row of the file that the database was made from), `evidence`, `stage`, `file` or `gap`.
    reference: what it is found by, with paths relative to the project (docs/lineage.md lists them).
    parents: what it comes from; nothing for a source.
    """

    kind: str
    reference: str
    summary: Mapping[str, Any]
    parents: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Gap:
    """A reference that leads nowhere, or no longer to what it led to. at: the node that names it."""

    at: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.at}: {self.what}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True)
class Finding:
    """What a tracer found beyond the artifacts: it becomes a node. files: paths it was found in."""

    kind: str
    reference: str
    summary: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """What should be behind it and is not."""


def walk_nodes(*nodes: Node) -> Iterator[Node]:
    """Yield nodes and all they come from, each once, nearest first along every path."""
    seen: set[tuple[str, str]] = set()
    waiting = list(reversed(nodes))
    while waiting:
        each = waiting.pop()
        if (each.kind, each.reference) not in seen:
            seen.add((each.kind, each.reference))
            yield each
            waiting.extend(reversed(each.parents))


def count_kinds(nodes: Iterable[Node]) -> dict[str, int]:
    """Count nodes by kind, in the order in which the kinds are met."""
    counts: dict[str, int] = {}
    for each in nodes:
        counts[each.kind] = counts.get(each.kind, 0) + 1
    return counts
