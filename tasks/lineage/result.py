"""A finished lineage: what was asked for, all that it comes from, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tasks.lineage.nodes import Gap, Node, walk_nodes
from tasks.lineage.records import Graph


@dataclass(frozen=True)
class Trail:
    """Nodes walked back as far as they go. target: what they are, in one name."""

    target: str
    roots: tuple[Node, ...]
    gaps: tuple[Gap, ...] = ()
    graph: Graph | None = None

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, each once, the targets first."""
        return tuple(walk_nodes(*self.roots))

    def list_kind(self, kind: str) -> Iterator[Node]:
        """Give the nodes of a kind."""
        return (each for each in self.nodes if each.kind == kind)

    def tell_commit(self) -> list[str]:
        """Say in lines what git knows: the commit, where the record was committed, what is not."""
        graph = self.graph
        if graph is None:
            return []
        if graph.commit is None:
            return ["no commit: this project is in no git repository, or nothing is committed yet"]
        lines = [f"commit {graph.commit}"]
        lines.append(
            f"dvc.lock was last committed in {graph.recorded_in}"
            if graph.recorded_in
            else "dvc.lock is not committed"
        )
        if graph.dirty:
            some = ", ".join(graph.uncommitted[:4]) + (", ..." if len(graph.uncommitted) > 4 else "")
            lines.append(f"with changes that are not committed: {some}")
        else:
            lines.append("no uncommitted changes")
        return lines
