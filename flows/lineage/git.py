"""What git knows of a project's files. Where there is no git, nothing is known."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = "\x01"
LAST = (
    "log",
    f"--format={MARK}%H",
    "--first-parent",
    "-m",
    "--name-only",
    "--no-renames",
    "--relative",
    "--",
)


@dataclass(frozen=True)
class Git:
    """A project's repository, which may begin above the project. Paths are relative to the project."""

    root: Path

    def find_head(self) -> str | None:
        """Find the commit of the working tree; None where there is no git, or no commit yet."""
        return _read(self._ask("rev-parse", "--verify", "--quiet", "HEAD"))

    def list_changed(self) -> tuple[str, ...]:
        """List the tracked files whose content is not committed, sorted."""
        told = self._ask("diff", "--name-only", "--relative", "-z", "HEAD", "--")
        return tuple(sorted(name for name in (told or b"").decode(errors="replace").split("\0") if name))

    def find_last(self, paths: Iterable[str]) -> dict[str, str]:
        """Find the commit that brought each file, or a file of each folder, to where it is now.

        Along first parents alone: a file that two branches changed is in neither's commit as their merge left
        it. The history is read once, and only as far back as is needed.
        """
        waiting, found = set(paths), dict[str, str]()
        command = self._command(*LAST)
        if command is None or not waiting:
            return found
        with subprocess.Popen(  # noqa: S603 - fixed words, and paths after --
            [*command, *sorted(waiting)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as log:
            commit = ""
            for line in log.stdout or ():
                name = line.rstrip("\n")
                if name.startswith(MARK):
                    commit = name[len(MARK) :]
                    continue
                for path in [path_ for path_ in waiting if name == path_ or name.startswith(f"{path_}/")]:
                    found[path] = commit
                    waiting.discard(path)
                if not waiting:
                    log.kill()
                    break
        return found

    def list_versions(self, path: str, most: int) -> Iterator[tuple[str, dict[str, bytes]]]:
        """Yield the commits that touched a file or folder, newest first, with its files' content there.

        A file's own content stands under the name ''.
        """
        words = ("log", "--full-history", "--format=%H", f"--max-count={most}")
        commits = (self._ask(*words, "--", path) or b"").decode().split()
        for commit in commits:
            listed = self._ask("ls-tree", "-r", "-z", "--name-only", commit, "--", path) or b""
            names = [file for file in listed.decode(errors="replace").split("\0") if file]
            contents = {file: self._ask("show", f"{commit}:./{file}") for file in names}
            yield (
                commit,
                {
                    name.removeprefix(path).removeprefix("/"): content
                    for name, content in contents.items()
                    if content is not None
                },
            )

    def _ask(self, *words: str) -> bytes | None:
        command = self._command(*words)
        if command is None:
            return None
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - fixed words and own paths
        return done.stdout if done.returncode == 0 else None

    def _command(self, *words: str) -> list[str] | None:
        git = shutil.which("git")
        return [git, "-C", str(self.root), "-c", "core.quotePath=false", *words] if git else None


def _read(told: bytes | None) -> str | None:
    return told.decode().strip() or None if told is not None else None
