"""If a stage that must have rows is empty, report in one line which stage lost the rows.

The artifacts of the empty stage remain on disk for inspection, but are not recorded.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows.discovery import find_stage
from flows.run.node import Node
from tasks.errors import StageFailed

if TYPE_CHECKING:
    from flows.run.binding import Work

LONGEST = 160
"""Maximum length of a dropped row's text in the message, in characters."""
DROPPED = ".dropped.parquet"
SHARED = ("databases.", "roles", "models")
"""Parameters shared by several stages; the message does not suggest changing them."""


def require_rows(
    nodes: Mapping[str, Node],
    node: Node,
    work: Work,
    root: Path,
    find: Callable[[str], Path] | None = None,
) -> None:
    """Raise StageFailed if a stage that must have rows has no rows.

    `nodes`: the graph, which is searched for the first stage that lost the rows. `find`: function that
    maps a path to its file; by default, paths are relative to `root`.
    """
    if work.rows_out != 0 or may_be_empty(node):
        return
    search = Search(nodes, find or root.joinpath)
    first = search.find_first(node)
    there = "" if first is node else f", because {first.artifact}, the output of {first.name}, is empty"
    raise StageFailed(f"{node.name} has no rows{there}; {search.describe_loss(first)}; {advise(first)}")


def list_empty(nodes: Mapping[str, Node], targets: Iterable[str], root: Path) -> list[str]:
    """Return a line for each target that is empty because a stage dropped rows: which stage, and why."""
    search = Search(nodes, root.joinpath)
    lines = []
    for node in (nodes[name] for name in targets if name in nodes):
        if node.artifact and search.count(node.artifact) == 0:
            first = search.find_first(node)
            if search.read_drops(first):
                there = "" if first is node else f": {first.name} has none"
                lines.append(f"{node.name} has no rows{there}; {search.describe_loss(first)}")
    return lines


def may_be_empty(node: Node) -> bool:
    """Return whether an empty result is valid for a stage; always True for a stage that no flow declares."""
    declared = find_stage(node.stage)
    return declared is None or declared.may_be_empty


@dataclass(frozen=True)
class Search:
    """Searches the artifacts of a graph for lost rows."""

    nodes: Mapping[str, Node]
    find: Callable[[str], Path]

    def find_first(self, node: Node) -> Node:
        """Follow empty inputs upstream to the first stage that dropped all rows."""
        for upstream in (self.nodes[name] for name in node.upstream):
            path = upstream.artifact
            if path in node.deps and self.count(path) == 0 and self.read_drops(upstream):
                return self.find_first(upstream)
        return node

    def count(self, path: str) -> int | None:
        """Count the rows of an artifact; None if it is not an existing Parquet file."""
        if not path.endswith(".parquet") or not self.find(path).is_file():
            return None
        from tasks.artifacts.parquet import count_rows

        return count_rows(self.find(path))

    def read_drops(self, node: Node) -> list[tuple[str, str]]:
        """Read the reason and detail of each row that a stage dropped."""
        path = next((out for out in node.outs if out.endswith(DROPPED)), "")
        if not self.count(path):
            return []
        import pyarrow.parquet as pq

        table = pq.read_table(self.find(path), columns=["reason", "detail"])
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def describe_loss(self, node: Node) -> str:
        """Return why a stage dropped its rows, with an example for the most frequent reason."""
        drops = self.read_drops(node)
        if not drops:
            read = [dep for dep in node.deps if not dep.startswith("tasks/")]
            return f"no rows could be made from {' or '.join(read) or 'its parameters'}"
        counts = Counter(reason for reason, _ in drops).most_common()
        detail = " ".join(next(detail for reason, detail in drops if reason == counts[0][0]).split())
        shown = detail if len(detail) <= LONGEST else f"{detail[:LONGEST]} ..."
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in counts)
        path = next(out for out in node.outs if out.endswith(DROPPED))
        return (
            f"rows were dropped: {reasons}"
            + (f" (for example: {shown})" if shown else "")
            + f", see {os.path.relpath(self.find(path))}"
        )


def advise(node: Node) -> str:
    """Return a hint that suggests which parameters to change."""
    own = [
        f"`{name}`" for name in node.params if not name.startswith(SHARED) and node.key not in name.split(".")
    ]
    entries = [f"`{name}`" for name in node.params if node.key and name.endswith(f".{node.key}")]
    models = [f"the model of `{name}`" for name in node.params if name.startswith("roles.")]
    what = [*own, *models, *(f"the source in {name}" for name in entries)]
    change = f"change {' or '.join(what)} in params.yaml" if what else "change the stage's inputs"
    return f"{change}, and run the same command again"
