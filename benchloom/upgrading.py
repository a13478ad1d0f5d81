"""Merge the installed version of the code into a project (`benchloom init --upgrade`)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchloom.history import History
from benchloom.making import read_version, write_project
from benchloom.places import LAUNCHER, find_project, find_template
from benchloom.yaml_files import load_yaml, write_yaml
from tasks.errors import BadInput

OWN = ("README.md", ".dvc")
"""Files of a project that an upgrade does not change."""
PARAMS, GRAPH, SCHEMA, DEPLOYMENTS = "params.yaml", "dvc.yaml", "params.schema.json", "prefect.yaml"
GUARDED = ("flows", "tasks", PARAMS, GRAPH, SCHEMA, DEPLOYMENTS, "pyproject.toml")
"""Paths that the merge writes to, and that therefore must not have uncommitted changes."""


def upgrade_command(folder: Path) -> int:
    """Upgrade a project; return 1 if the user must resolve merge conflicts, otherwise 0."""
    root, template = find_project(folder), find_template()
    if root is None:
        raise BadInput(folder, "is not in a Benchloom project", hint="to create one, run benchloom init DIR")
    if root == template:
        raise BadInput(
            root, "is the checkout from which this `benchloom` command runs", hint="update it with git pull"
        )
    if (root / LAUNCHER.name / "launcher.py").is_file():
        raise BadInput(
            root, "is a checkout of Benchloom itself, not a project", hint="update it with git pull"
        )
    history, version = History(root), read_version(template)
    history.check_root()
    if dirty := history.list_dirty(GUARDED):
        raise BadInput(
            root,
            f"{dirty[0]} is not committed",
            hint="commit or stash it with git, then run the same command again",
        )
    base = history.find_base()
    commit = add_version(history, template, base, version)
    if commit is None:
        tell(f"{root} already contains the code of Benchloom {version}")
        return 0
    if base is None:
        tell("the Git history has no template commit, so every file that differs is a conflict")
    conflicts = merge_version(history, base, commit)
    undo = "`git merge --abort` undoes the merge"
    # Code with conflict markers cannot be imported, so the graph is generated only without conflicts.
    if not conflicts:
        write_graph(history)
    print(history.git("diff", "--stat", "HEAD"))
    if conflicts:
        tell(f"both you and Benchloom {version} changed {', '.join(conflicts)}")
        tell(f"resolve the conflicts, then run `benchloom graph` and `git commit -a`; {undo}")
        return 1
    tell(f"merged the code of Benchloom {version}; check `git diff HEAD`, then run `git commit`; {undo}")
    return 0


def add_version(history: History, template: Path, base: str | None, version: str) -> str | None:
    """Commit the project as the installed version would create it; return the commit's hash.

    Returns None if the base commit has the same content.
    """
    before = base or "HEAD"
    settings = tomllib.loads(history.git("show", f"{before}:pyproject.toml"))
    with tempfile.TemporaryDirectory() as place:
        fresh = Path(place)
        write_project(template, fresh, settings["project"]["name"])
        new = load_yaml(fresh / PARAMS)
        history.restore(before, PARAMS, fresh)
        add_new_params(fresh / PARAMS, load_yaml(fresh / PARAMS), new)
        return history.add_template(fresh, OWN, base, version)


def merge_version(history: History, base: str | None, commit: str) -> list[str]:
    """Merge a commit of the template; return the files with conflicts.

    Parameters are merged by key, so a new line next to a value that the user changed is not a conflict. The
    graph and the parameters' schema are generated from the merged code.
    """
    conflicts = history.merge(commit)
    with tempfile.TemporaryDirectory() as place:
        before, after = Path(place, "before"), Path(place, "after")
        history.restore(base or "HEAD", PARAMS, before)
        history.restore(commit, PARAMS, after)
        # Add the template's prefect.yaml to a project that was created without this file.
        own = history.git("ls-tree", "--name-only", "HEAD", PARAMS, GRAPH, DEPLOYMENTS).split()
        history.git("checkout", "HEAD", "--", *own)
        history.git("checkout", commit, "--", SCHEMA)
        add_new_params(history.root / PARAMS, load_yaml(before / PARAMS), load_yaml(after / PARAMS))
    history.git("add", PARAMS)
    return [path for path in conflicts if path not in (PARAMS, GRAPH, SCHEMA, DEPLOYMENTS)]


def write_graph(history: History) -> None:
    """Generate dvc.yaml, prefect.yaml and the parameters' schema from the merged code.

    Runs in a new process, because this process has already imported the template's code.
    """
    command = [sys.executable, "-m", "benchloom", "graph"]
    done = subprocess.run(  # noqa: S603 - fixed words, no shell
        command, cwd=history.root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        tell(f"fix this error, then run `benchloom graph`: {done.stderr.strip()}")
    history.git("add", GRAPH, SCHEMA, DEPLOYMENTS)


def add_new_params(path: Path, before: Any, new: Any) -> None:
    """Add the parameters that a new version introduces to a project's params.yaml, with their defaults.

    If the new version changed a default, the project keeps the old value, since the new default would change
    the user's artifacts.
    """
    params = load_yaml(path)
    if list(insert_new(params, before, new)):
        write_yaml(path, params)


def insert_new(params: Any, before: Any, new: Any) -> Iterator[str]:
    """Insert the keys of `new` that are not in `before`, in the order of `new`; yield the inserted keys."""
    place = 0
    for key, value in new.items():
        if key not in before and key not in params:
            params.insert(place, key, value)
            yield key
        elif all(isinstance(document.get(key), dict) for document in (params, before, new)):
            yield from insert_new(params[key], before[key], value)
        if key in params:
            place = list(params).index(key) + 1


def tell(line: str) -> None:
    """Print a line to stderr."""
    print(line, file=sys.stderr)
