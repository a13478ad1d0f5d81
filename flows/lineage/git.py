"""Query git about a project's files. Without git, all answers are empty.

A file's name is bytes, of any encoding and with line breaks: it is read with `-z`, and decoded as `os` does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MARK = "/"
"""Before a commit: no name that is relative to a folder begins so."""
LAST = (
    "log",
    "-z",
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
    """The repository of a project, whose root may be above the project. Paths are relative to the project."""

    root: Path

    def find_head(self) -> str | None:
        """Return the commit of the working tree; None without git, or without a commit."""
        return _read(self._ask("rev-parse", "--verify", "--quiet", "HEAD"))

    def find_commit(self, revision: str) -> str | None:
        """Return the commit that a revision names (a branch, a tag, `HEAD~1`); None if it names none."""
        return _read(
            self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        )

    def read_file(self, commit: str, path: str) -> bytes | None:
        """Read a file as a commit has it; None if it has none of that path."""
        return self._ask("show", f"{commit}:./{path}")

    def list_branches(self, prefix: str) -> list[str]:
        """List the branches whose names begin with a prefix that ends with a slash, sorted."""
        output = self._ask("for-each-ref", "--format=%(refname:lstrip=2)", f"refs/heads/{prefix}")
        return sorted(filter(None, os.fsdecode(output or b"").split("\n")))

    def find_branch(self) -> str | None:
        """Return the name of the branch that is checked out; None if none is."""
        return _read(self._ask("symbolic-ref", "--quiet", "--short", "HEAD"))

    def list_uncommitted(self) -> tuple[str, ...]:
        """List the files that no commit has as they are, new ones too, sorted; ignored files are left out."""
        new = self._ask("ls-files", "--others", "--exclude-standard", "-z") or b""
        return tuple(sorted({*split_names(new), *self.list_changed()}))

    def list_changed(self) -> tuple[str, ...]:
        """List the tracked files with uncommitted changes, sorted."""
        output = self._ask("diff", "--name-only", "--relative", "-z", "HEAD", "--")
        return tuple(sorted(split_names(output or b"")))

    def find_last(self, paths: Iterable[str]) -> dict[str, str]:
        """Find the commit that last changed each file, or a file of each folder.

        Only first parents are followed: if two branches changed a file, neither's commit has it as merged.
        The history is read once, and only as far back as needed.
        """
        waiting, found = set(paths), dict[str, str]()
        command = self._command(*LAST)
        if command is None or not waiting:
            return found
        with subprocess.Popen(  # noqa: S603 - fixed words, and paths after --
            [*command, *sorted(waiting)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as log:
            commit, first = "", False
            for part in read_parts(log.stdout):
                name = part.removeprefix("\n") if first else part  # git begins a commit's names with a line
                first = part.startswith(MARK)
                if first:
                    commit = part.removeprefix(MARK)
                    continue
                for path in [path_ for path_ in waiting if name == path_ or name.startswith(f"{path_}/")]:
                    found[path] = commit
                    waiting.discard(path)
                if not waiting:
                    log.kill()
                    break
        return found

    def list_versions(self, path: str, most: int) -> Iterator[tuple[str, dict[str, bytes]]]:
        """Yield the commits that changed a file or folder, newest first, with the contents of its files.

        The content of a single file has the name ''.
        """
        words = ("log", "--full-history", "--format=%H", f"--max-count={most}")
        commits = (self._ask(*words, "--", path) or b"").decode().split()
        for commit in commits:
            listed = self._ask("ls-tree", "-r", "-z", "--name-only", commit, "--", path) or b""
            contents = {file: self._ask("show", f"{commit}:./{file}") for file in split_names(listed)}
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
        return [git, "-C", str(self.root), "--literal-pathspecs", *words] if git else None


def split_names(output: bytes) -> list[str]:
    """Split what git printed with `-z` into names."""
    return [name for name in os.fsdecode(output).split("\0") if name]


def show_name(name: str) -> str:
    """Write a name for a person, with what is not printable in it as Python escapes it."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in name
    )


def read_parts(output: IO[bytes] | None) -> Iterator[str]:
    """Read what git prints with `-z`, part by part, as it comes."""
    rest = b""
    while block := output.read(65536) if output is not None else b"":
        *parts, rest = (rest + block).split(b"\0")
        yield from map(os.fsdecode, parts)
    if rest:
        yield os.fsdecode(rest)


def _read(output: bytes | None) -> str | None:
    return os.fsdecode(output).strip() or None if output is not None else None
