"""Check that the code on disk, which DVC hashes, is still the code that runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flows.loaded_code import hash_file, is_loaded_otherwise
from flows.run.node import Node
from flows.run.origin import check_code
from flows.run.record.path_marks import Mark, mark_path
from tasks.errors import ChangedWhileRunning


class CodeWatch:
    """Stores the hashes of the modules that stages depend on, as of the beginning of a run."""

    def __init__(self, root: Path, nodes: Mapping[str, Node]) -> None:
        self.root = root
        paths = {dep for node in nodes.values() for dep in node.deps if dep.endswith(".py")}
        self.known = {path: self._look_at(path) for path in sorted(paths) if (root / path).is_file()}

    def check(self, node: Node) -> None:
        """Check that a stage's code on disk is the code that this process and its children run.

        Even a reverted edit is an error, since a child process may have loaded the edited code. Raises
        ChangedWhileRunning, or BadInput if a module belongs to another project.
        """
        check_code(self.root)
        for path in node.deps:
            known = self.known.get(path)
            if known is None:
                continue
            if self._look_at(path) != known or is_loaded_otherwise(self.root / path, known[0]):
                raise ChangedWhileRunning(node.name, path)

    def list_known(self, node: Node) -> dict[str, str]:
        """Return path -> SHA-256 of the modules that a stage depends on, as of the beginning of the run."""
        return {path: self.known[path][0] for path in node.deps if path in self.known}

    def _look_at(self, path: str) -> tuple[str, Mark | None]:
        file = self.root / path
        return hash_file(file), mark_path(file)
