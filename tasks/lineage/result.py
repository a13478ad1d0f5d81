"""Define a finished lineage: the target, the nodes traced from it, and the gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tasks.lineage.nodes import Gap, LineageNode, walk_nodes
from tasks.lineage.records import Graph


@dataclass(frozen=True)
class LineageResult:
    """Nodes traced back to their sources.

    `target`: the reference of the root, or the path that contains all roots.
    """

    target: str
    roots: tuple[LineageNode, ...]
    gaps: tuple[Gap, ...] = ()
    graph: Graph | None = None

    @cached_property
    def nodes(self) -> tuple[LineageNode, ...]:
        """Return the roots and all their ancestors, roots first, without duplicates."""
        return tuple(walk_nodes(*self.roots))

    def list_kind(self, kind: str) -> Iterator[LineageNode]:
        """Yield the nodes of a kind."""
        return (node for node in self.nodes if node.kind == kind)

    def describe_commit(self) -> list[str]:
        """Describe git's state in lines: current commit, last commit of `dvc.lock`, uncommitted changes."""
        graph = self.graph
        if graph is None:
            return []
        if graph.commit is None:
            return ["no commit: this project is not in a git repository, or the repository has no commits"]
        lines = [f"commit {graph.commit}"]
        lines.append(
            f"dvc.lock was last committed in {graph.recorded_in}"
            if graph.recorded_in
            else "dvc.lock is not committed"
        )
        if graph.dirty:
            some = ", ".join(graph.uncommitted[:4]) + (", ..." if len(graph.uncommitted) > 4 else "")
            lines.append(f"uncommitted changes: {some}")
        else:
            lines.append("no uncommitted changes")
        return lines
