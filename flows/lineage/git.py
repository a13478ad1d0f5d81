"""Query git about a project's files. Without git, every query returns an empty result.

File names are bytes in any encoding and may contain line breaks, so names are read with `-z` and decoded as
the `os` module decodes them.
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
"""Prefix of each commit's hash in the output of `git log`.

File names in the log are relative to a folder, so they never begin with a slash.
"""
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
    """The git repository that contains a project; paths are relative to the project's folder."""

    root: Path

    def find_head(self) -> str | None:
        """Return the commit of the working tree; None without git, or if there is no commit."""
        return _read(self._ask("rev-parse", "--verify", "--quiet", "HEAD"))

    def find_commit(self, revision: str) -> str | None:
        """Return the commit of a revision (a branch, a tag, `HEAD~1`); None if there is none."""
        return _read(
            # A revision from the command line may begin with a dash, and must not be read as an option.
            self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        )

    def read_file(self, commit: str, path: str) -> bytes | None:
        """Return a file's content in a commit; None if the commit does not contain the path."""
        return self._ask("show", f"{commit}:./{path}")

    def list_branches(self, prefix: str) -> list[str]:
        """List the branches whose names begin with a prefix, sorted; the prefix ends with a slash."""
        output = self._ask("for-each-ref", "--format=%(refname:lstrip=2)", f"refs/heads/{prefix}")
        return sorted(filter(None, os.fsdecode(output or b"").split("\n")))

    def find_branch(self) -> str | None:
        """Return the name of the checked-out branch; None for a detached HEAD."""
        return _read(self._ask("symbolic-ref", "--quiet", "--short", "HEAD"))

    def list_uncommitted(self) -> tuple[str, ...]:
        """List untracked files and files with uncommitted changes, sorted; ignored files are omitted."""
        new = self._ask("ls-files", "--others", "--exclude-standard", "-z") or b""
        return tuple(sorted({*split_names(new), *self.list_changed()}))

    def list_changed(self) -> tuple[str, ...]:
        """List the tracked files with uncommitted changes, sorted."""
        output = self._ask("diff", "--name-only", "--relative", "-z", "HEAD", "--")
        return tuple(sorted(split_names(output or b"")))

    def find_last(self, paths: Iterable[str]) -> dict[str, str]:
        """Map each path to the last commit that changed the file or, for a folder, any file in it.

        Only first parents are followed: if two branches changed a file, neither branch's commit contains the
        merged file. Paths without a commit are omitted. The history is read once, and only as far back as
        necessary.
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
                name = part.removeprefix("\n") if first else part  # git begins the first name with "\n"
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
        """Yield each commit that changed a file or folder, newest first, with the contents of the files.

        File names are relative to `path`; if `path` is a file, the name is ''. `most`: maximum number of
        commits.
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
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - fixed words and paths
        return done.stdout if done.returncode == 0 else None

    def _command(self, *words: str) -> list[str] | None:
        git = shutil.which("git")
        # A path may contain characters that Git would read as a pattern, such as `*` or `[`.
        return [git, "-C", str(self.root), "--literal-pathspecs", *words] if git else None


def split_names(output: bytes) -> list[str]:
    """Split the NUL-separated output of a `git ... -z` command into names."""
    return [name for name in os.fsdecode(output).split("\0") if name]


def show_name(name: str) -> str:
    """Return a file name for display, with unprintable characters escaped as in Python strings."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in name
    )


def read_parts(output: IO[bytes] | None) -> Iterator[str]:
    """Yield the NUL-terminated parts of git's output (`-z`) while git is still writing."""
    rest = b""
    while block := output.read(65536) if output is not None else b"":
        *parts, rest = (rest + block).split(b"\0")
        yield from map(os.fsdecode, parts)
    if rest:
        yield os.fsdecode(rest)


def _read(output: bytes | None) -> str | None:
    return os.fsdecode(output).strip() or None if output is not None else None
