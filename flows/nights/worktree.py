"""Manage a nightly run's git worktree, which has its own branch, outside the user's working tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.lineage.git import Git, show_name
from flows.night_settings import BRANCH, find_evaluation
from flows.nights.service_files import FOLDER
from flows.run.node import PARAMS
from flows.settings import load_params
from tasks.disk import is_disk_full
from tasks.errors import BadInput, BenchloomError
from tasks.files import write_text

TREE = f"{FOLDER}/tree"
WHOLE = f"{FOLDER}/tree.branch"
"""The file with the branch's name; the file exists only while the worktree is complete."""
SUMMARY = "nightly/summary.md"
"""The nightly run's summary in Markdown, on its branch: the text of a pull request."""
OVERLAID = ("nightly", "run")
"""Sections read from the user's params.yaml even if uncommitted, since no stage depends on these sections."""
AUTHOR = ("-c", "user.name=benchloom", "-c", "user.email=benchloom@localhost")
"""Git options that set the author of commits if git has no configured name."""
NAMED = 5
"""Maximum number of file names in one line of output."""


@dataclass(frozen=True)
class NightTree:
    """A nightly run's worktree. home: the user's project. label: the nightly run's label."""

    home: Path
    label: str

    @property
    def folder(self) -> Path:
        """The top folder of the worktree."""
        return self.home / TREE

    @property
    def root(self) -> Path:
        """The project's folder in the worktree."""
        return self.folder / run_git(self.home, "rev-parse", "--show-prefix")

    @property
    def branch(self) -> str:
        """The nightly run's branch."""
        return f"{BRANCH}{self.label}"

    def has_branch(self) -> bool:
        """Return whether the nightly run's branch exists."""
        return Git(self.home).find_commit(f"refs/heads/{self.branch}") is not None

    def open(self, *, replace: bool) -> None:
        """Open the worktree: reuse a complete worktree, otherwise create it from the run's existing branch.

        `replace`: whether to replace any existing worktree and to reset or create its branch at HEAD.
        """
        if not replace and self._is_open():
            return
        self.close()
        made = ("-B", self.branch, str(self.folder), "HEAD") if replace else (str(self.folder), self.branch)
        run_git(self.home, "worktree", "add", "--quiet", *made)
        write_text(self.home / WHOLE, self.branch)

    def close(self) -> None:
        """Remove the worktree, but not its branch."""
        (self.home / WHOLE).unlink(missing_ok=True)
        if self.folder.exists():
            # `git worktree remove` fails for a folder with untracked files, or one that Git does not know.
            shutil.rmtree(self.folder)
        run_git(self.home, "worktree", "prune")

    def commit(self, message: str) -> None:
        """Commit the nightly run's records, unless the branch already contains them."""
        names = [name for name in (PARAMS, "dvc.lock", SUMMARY) if (self.root / name).is_file()]
        run_git(self.root, "add", "--force", "--", *names)
        if run_git(self.root, "diff", "--cached", "--name-only"):
            author = () if run_git(self.root, "config", "--default", "", "user.email") else AUTHOR
            # At night, no user is present to enter a passphrase.
            words = ("-c", "commit.gpgsign=false", *author, "commit", "--quiet", "--no-verify", "-m", message)
            run_git(self.root, *words)

    def _is_open(self) -> bool:
        whole = self.home / WHOLE
        if not whole.is_file() or whole.read_text(encoding="utf-8") != self.branch:
            return False
        head = Git(self.folder).find_branch() if (self.folder / ".git").is_file() else None
        return head == self.branch


def require_commit(root: Path) -> str:
    """Return the commit for a nightly run. Raises BadInput if there is no repository or no commit."""
    commit = Git(root).find_head()
    if commit is None:
        raise BadInput(
            root,
            "has no commits, but a nightly run uses the committed state",
            hint="run git init, git add --all and git commit -m 'Begin'",
        )
    if above := run_git(root, "rev-parse", "--show-superproject-working-tree"):
        raise BadInput(
            root,
            f"is a submodule of {show_name(above)}, and DVC cannot read a worktree of a submodule",
            hint="clone the project into its own folder and run nightly evaluations there",
        )
    return commit


def drop_branch(root: Path, label: str, commit: str) -> None:
    """Delete the branch of an abandoned nightly run, if the branch contains no commit of the run."""
    branch = f"{BRANCH}{label}"
    if Git(root).find_commit(f"refs/heads/{branch}") == commit:
        run_git(root, "branch", "--quiet", "-D", branch)


def describe_left_out(root: Path) -> str:
    """Return a message about uncommitted changes, which a nightly run does not use; '' if there are none.

    Changes to `nightly` and `run` in params.yaml are ignored, since a nightly run reads these sections from
    the working tree.
    """
    names = [show_name(name) for name in Git(root).list_uncommitted() if name != PARAMS or _differs(root)]
    if not names:
        return ""
    more = len(names) - NAMED
    return f"uncommitted changes, which are not part of this nightly run: {', '.join(names[:NAMED])}" + (
        f" and {more} more" if more > 0 else ""
    )


def require_committed(root: Path, names: Iterable[str]) -> None:
    """Raise BadInput if the committed params.yaml lacks an entry that a nightly run evaluates.

    `names`: values of `nightly.assessments`, which is read from the working tree and may name uncommitted
    entries.
    """
    from flows.comparing.places import parse_yaml

    committed = Git(root).read_file("HEAD", PARAMS)
    given = parse_yaml(committed.decode(), f"{PARAMS} of HEAD") if committed is not None else {}
    for name in names:
        try:
            find_evaluation(given, name)
        except BadInput as error:
            raise BadInput(
                "params.yaml: nightly.assessments",
                f"{name!r} is not committed yet, but a nightly run uses the committed state",
                hint="commit params.yaml, dvc.yaml and dvc.lock with git",
            ) from error


def _differs(root: Path) -> bool:
    """Return whether params.yaml differs from its committed version, except in `nightly` and `run`."""
    from flows.comparing.places import parse_yaml

    committed = Git(root).read_file("HEAD", PARAMS)
    if committed is None:
        return True
    before, now = parse_yaml(committed.decode(), f"{PARAMS} of HEAD"), dict(load_params(root).written)
    return {**before, **dict.fromkeys(OVERLAID)} != {**now, **dict.fromkeys(OVERLAID)}


def run_git(folder: Path, *words: str) -> str:
    """Run git without hooks; return its output without the last line break.

    Raises BenchloomError with the last line of git's output.
    """
    git = shutil.which("git")
    if git is None:
        raise BadInput(
            "git", "is not installed; nightly runs need it to commit to a Git branch", hint="install git"
        )
    command: Sequence[str] = [git, "-C", str(folder), "-c", "core.hooksPath=/dev/null", *words]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - no shell
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()[-1:] or [f"exited with code {done.returncode}"]
        why = "the disk is full; make room; " if is_disk_full(folder) else ""
        raise BenchloomError(show_name(f"{why}git {' '.join(words[:3])}: {said[0]}"))
    return os.fsdecode(done.stdout).removesuffix("\n")
