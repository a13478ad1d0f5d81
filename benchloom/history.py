"""Commit each version of the project template to a project's Git history, as the base of later merges.

The first commit of a project contains the project as it was created. An upgrade adds a template commit, with
the project as the new version would have created it. The parent of a template commit is the previous template
commit; the upgrade merges the new template commit. Git can thus distinguish the template's changes from the
user's changes, including moved files.

The message of each template commit records the hash of the commit's tree. After a rebase that mixes a
template commit with a user's edits, the recorded hash no longer matches the tree. A commit without a matching
hash is not used as a merge base, because the merge would undo the user's edits.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput, BenchloomError

VERSION, TREE = "Benchloom-Version", "Benchloom-Tree"
"""Trailers of a template commit's message: the Benchloom version, and the hash of the commit's tree."""
# Git refuses to commit without a name, and a new machine may have none configured.
AUTHOR = {
    "GIT_AUTHOR_NAME": "Benchloom", "GIT_AUTHOR_EMAIL": "benchloom@localhost",
    "GIT_COMMITTER_NAME": "Benchloom", "GIT_COMMITTER_EMAIL": "benchloom@localhost",
}  # fmt: skip
ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Environment variables that Git hooks set.

`History` calls git without these variables, because they would redirect git to the hook's repository.
"""

SETTINGS = (
    "core.quotePath=false",
    # Converted line ends would change the hash of a template commit's tree.
    "core.autocrlf=false",
    "merge.directoryRenames=false",
    "commit.gpgSign=false",
)
"""Git settings for all calls.

`merge.directoryRenames` is disabled so that a file that the user added stays in its folder, even if the
template moved the other files of the folder. `commit.gpgSign` is disabled because no user is present to enter
a passphrase.
"""


@dataclass(frozen=True)
class History:
    """A project's git repository. Methods raise BenchloomError with git's error message."""

    root: Path

    def begin(self, version: str) -> None:
        """Create a repository whose first commit contains the project as it was created."""
        self.git("init", "-q")
        # -f: no ignore rule of the project or of the user may omit a file of the template.
        self.git("add", "-A", "-f", ".")
        self.git("update-ref", "HEAD", self._commit(self.git("write-tree"), None, version))

    def commit_all(self, message: str) -> None:
        """Commit all changes in the work tree, except ignored files."""
        self.git("add", "-A")
        self.git("commit", "-q", "--no-verify", "-m", message, variables=AUTHOR)

    def check_root(self) -> None:
        """Raise BadInput if the root of the repository is not the project's folder."""
        top = Path(self.git("rev-parse", "--show-toplevel"))
        if top.resolve() != self.root.resolve():
            raise BadInput(
                self.root,
                f"is part of the Git repository {top}",
                hint="an upgrade needs a repository that contains only the project",
            )

    def find_base(self) -> str | None:
        """Return the hash of the last template commit in the history; None if there is none.

        A commit whose recorded hash does not match its tree is ignored.
        """
        trailer = f"%(trailers:key={TREE},valueonly,separator=%x20)"
        found = self.git("log", "--topo-order", f"--format=%H %T {trailer}", f"--grep=^{TREE}: ")
        for line in found.splitlines():
            commit, tree, *named = line.split()
            if named == [tree]:
                return commit
        return None

    def list_dirty(self, paths: Iterable[str]) -> list[str]:
        """List tracked files with uncommitted changes below the given paths, and staged files anywhere."""
        edited = self._list_names("HEAD", "--", *paths)
        return sorted({*edited, *self._list_names("--cached")})

    def add_template(self, folder: Path, own: Iterable[str], base: str | None, version: str) -> str | None:
        """Commit a folder as the template's next state; return the commit's hash.

        Returns None, without a commit, if the base commit has the same content. `own`: paths that an upgrade
        must not change. The files at these paths come from the base commit, or from HEAD if there is no
        base.
        """
        kept = self.git("ls-tree", "-r", "-z", base or "HEAD", "--", *own)
        with tempfile.TemporaryDirectory() as scratch:
            # With a separate index, the user's staged files do not change.
            aside = {
                "GIT_DIR": self.git("rev-parse", "--absolute-git-dir"),
                "GIT_WORK_TREE": str(folder),
                "GIT_INDEX_FILE": str(Path(scratch, "index")),
            }
            self.git("add", "-A", "-f", ".", at=folder, variables=aside)
            for line in filter(None, kept.split("\0")):
                meta, path = line.split("\t", 1)
                mode, _, blob = meta.split()
                entry = f"{mode},{blob},{path}"
                self.git("update-index", "--add", "--cacheinfo", entry, at=folder, variables=aside)
            tree = self.git("write-tree", at=folder, variables=aside)
        if base and tree == self.git("rev-parse", f"{base}^{{tree}}"):
            return None
        return self._commit(tree, base, version)

    def restore(self, commit: str, path: str, folder: Path) -> None:
        """Copy a commit's version of a file to the same path in another folder."""
        folder.mkdir(exist_ok=True)
        # `git` strips the line break at the end of the file.
        text = self.git("show", f"{commit}:{path}") + "\n"
        (folder / path).write_text(text, encoding="utf-8", errors="surrogateescape")

    def merge(self, commit: str) -> list[str]:
        """Merge a commit into the work tree without committing; return the files with conflicts.

        Raises BadInput if git cannot start the merge, for example because it would overwrite an untracked
        file.
        """
        # If no template commit is found, the new template commit has no parent: the histories are unrelated.
        words = ("merge", "--no-commit", "--no-ff", "--allow-unrelated-histories", commit)
        done = self._call(words, self.root, AUTHOR)
        conflicts = self._list_names("--diff-filter=U")
        if done.returncode and not conflicts:
            raise BadInput(self.root, f"git cannot merge: {' '.join(done.stderr.split())}")
        return conflicts

    def git(self, *words: str, at: Path | None = None, variables: dict[str, str] | None = None) -> str:
        """Call git with the arguments `words` and return its stdout. Raises BenchloomError if git fails.

        `at`: the working directory, by default the project's folder. `variables`: additional environment
        variables.
        """
        done = self._call(words, at or self.root, variables or {})
        if done.returncode:
            raise BenchloomError(f"{self.root}: `git {words[0]}` failed: {' '.join(done.stderr.split())}")
        return done.stdout.strip("\n")

    def _list_names(self, *words: str) -> list[str]:
        return [name for name in self.git("diff", "--name-only", "-z", *words).split("\0") if name]

    def _commit(self, tree: str, parent: str | None, version: str) -> str:
        message = f"Take the code of Benchloom {version}\n\n{VERSION}: {version}\n{TREE}: {tree}"
        parents = ("-p", parent) if parent else ()
        return self.git("commit-tree", tree, *parents, "-m", message, variables=AUTHOR)

    def _call(
        self, words: Iterable[str], at: Path, variables: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        inherited = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
        command = ["git", *(word for setting in SETTINGS for word in ("-c", setting)), *words]
        try:
            return subprocess.run(  # noqa: S603 - fixed words and paths, no shell
                command, cwd=at, env={**inherited, **variables},
                # The name or the content of a file may not be UTF-8.
                capture_output=True, encoding="utf-8", errors="surrogateescape", check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise BenchloomError(
                "git is not on PATH, but every project is a Git repository; install git"
            ) from error
