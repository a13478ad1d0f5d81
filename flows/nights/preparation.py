"""Prepare a nightly run: the worktree's parameters, DVC cache and remotes, the input data, and the stages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from dvc.config import Config
from dvc.exceptions import CollectCacheError, DvcException
from dvc.repo import Repo

from flows import settings
from flows.discovery import find_stage, list_stages
from flows.night_settings import EvaluatedEntry
from flows.nights.worktree import OVERLAID, run_git
from flows.run.node import Node
from flows.run.record.dvc_boundary import hold_repo, move_objects, translate_errors
from flows.run.record.recorder import Recorder
from flows.run.selection import order_nodes
from flows.settings import load_params
from flows.stage import CONTRACTS, EVALUATION
from tasks.errors import BadInput

COMMITTED = ("flows/", "tasks/")
"""Paths whose uncommitted files are never copied from the user's working tree."""


def write_params(
    home: Path, root: Path, label: str, items: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Write the settings of a nightly run into the params.yaml of its worktree.

    The settings are the run's label, the items to evaluate, and the sections `OVERLAID` of the user's
    params.yaml. `items`: an entry's full name -> ids of the items to evaluate; None evaluates all items.
    """
    given, there = load_params(home), load_params(root)
    values: dict[tuple[str, ...], object] = {
        (section,): given.get(section) for section in OVERLAID if given.get(section) != there.get(section)
    }
    values["evaluation", "as_of"] = label
    if items or (there.get("evaluation") or {}).get("items"):
        values["evaluation", "items"] = {name: list(ids) for name, ids in items.items()} if items else None
    if (given.get("nightly") or {}).get("baselines"):
        values["baselines",] = {"as_of": label}
    settings.write_params(root, values)


def share_cache(home: Path, root: Path) -> None:
    """Configure DVC in the worktree to use the project's cache and remotes, by absolute paths."""
    with translate_errors(home, "dvc"), closing(Repo(str(home))) as repo:
        remotes = {name: dict(remote) for name, remote in (repo.config.get("remote") or {}).items()}
        own = Config(str(home / ".dvc")).load_one("local")
        own.setdefault("cache", {})["dir"] = repo.cache.local_cache_dir
        for name, remote in remotes.items():
            own.setdefault("remote", {}).setdefault(name, {})["url"] = str(remote["url"])
    config = Config(str(root / ".dvc"))
    with config.edit("local") as local:
        local.clear()
        local.update(own)


def fetch_upstream(home: Path, recorder: Recorder, chosen: Sequence[str], say: Callable[[str], None]) -> None:
    """Fetch the artifacts that chosen stages depend on, directly or indirectly, into the worktree.

    Artifacts come from DVC's remote and cache. Files that no stage writes and no commit contains are copied
    from the user's working tree. A run that stopped because one of these files was missing can continue once
    the file exists. `check_upstream` reports files that are still missing.
    """
    nodes = recorder.nodes
    upstream = list_upstream(nodes, chosen)
    read = sorted({*chosen, *upstream})
    makers = sorted({*upstream, *list_upstream(nodes, read), *select_contracts(nodes, chosen)})
    fetch_artifacts(recorder, makers, say)
    outs = {out for node in nodes.values() for out in node.outs}
    kept = outs | set(run_git(recorder.root, "ls-files", "-z").split("\0"))
    for dep in sorted({dep for name in read for dep in nodes[name].deps} - outs):
        # An absolute path needs no copy: the worktree reads the same file as the project.
        if not dep.startswith(COMMITTED) and not Path(dep).is_absolute():
            link_data(home, recorder.root, dep, kept)


def fetch_artifacts(recorder: Recorder, names: Sequence[str], say: Callable[[str], None]) -> None:
    """Fetch the outputs of stages from the remote, if there is one, and check them out from the cache.

    DVC's own commands would parse all of dvc.lock once for each stage, which takes minutes.
    """
    stages = [recorder.graph.find_stage(name) for name in names]
    with hold_repo(recorder.repo):
        if read_remote(recorder.repo):
            moved = move_objects(recorder.repo, "pull", list_objects(stages))
            if moved.files or not moved.problem:
                say(f"pulled {moved.files} files from DVC's remote")
            if moved.problem:
                say(f"DVC's remote {moved.problem}: the run continues with the files in DVC's cache")
        else:
            say("DVC has no remote in this project, so nothing is pulled or pushed")
        for out in (out for stage in stages for out in stage.outs):
            # If the cache lacks an output, its stage is later reported as stale.
            if out.hash_info and recorder.hashes.is_cached(str(out.hash_info.value)):
                Path(out.fs_path).parent.mkdir(parents=True, exist_ok=True)
                with suppress(DvcException):
                    out.checkout(force=True, allow_missing=True)


def push_artifacts(recorder: Recorder, names: Iterable[str], say: Callable[[str], None]) -> bool:
    """Push the outputs of stages to the remote, if there is one; return whether this succeeded."""
    if not read_remote(recorder.repo):
        return True
    stages = [recorder.graph.find_stage(name) for name in names]
    with hold_repo(recorder.repo):
        moved = move_objects(recorder.repo, "push", list_objects(stages))
    if not moved.problem:
        say(f"pushed {moved.files} files to DVC's remote")
        return True
    say(
        f"the artifacts were not pushed and are only in DVC's cache (DVC's remote {moved.problem}); to "
        "push them: "
        "dvc push --all-branches"
    )
    return False


def list_objects(stages: Iterable[Any]) -> set[Any]:
    """List the cache objects of the stages' outputs.

    If a folder's listing is neither in the cache nor on the remote, the folder's objects are unknown and its
    stage is stale.
    """
    found: set[Any] = set()
    for out in (out for stage in stages for out in stage.outs):
        with suppress(CollectCacheError):
            found.update(info for infos in out.get_used_objs().values() for info in infos)
    return found


def read_remote(repo: Repo) -> str | None:
    """Return the name of DVC's default remote; None if there is none."""
    return repo.config["core"].get("remote") or None


def link_data(home: Path, root: Path, path: str, kept: Collection[str]) -> None:
    """Hard-link a file, or the files of a folder, into a worktree; copy files that cannot be linked.

    `kept`: files and folders that are not replaced if they exist in the worktree, since a commit or a stage's
    record determines their content.
    """
    source = home / path
    for file in sorted(source.rglob("*")) if source.is_dir() else [source]:
        name = file.relative_to(home)
        target = root / name
        known = target.exists() and any(part.as_posix() in kept for part in (name, *name.parents))
        if not file.is_file() or known or is_same_file(file, target):
            continue
        target.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file.resolve(), target)
        except OSError:
            shutil.copy2(file, target)


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths are the same file, or files of equal size and modification time."""
    if not other.is_file():
        return False
    mine, theirs = one.stat(), other.stat()
    linked = (mine.st_dev, mine.st_ino) == (theirs.st_dev, theirs.st_ino)
    return linked or (mine.st_size, mine.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns)


def select_night(nodes: Mapping[str, Node], evaluation: EvaluatedEntry) -> list[str]:
    """Return the names of an evaluation's stages that call models, and of their downstream stages."""
    stages = {stage.name for stage in list_stages() if stage.scope.over == evaluation.scope.over}
    own = [
        name
        for name in order_nodes(nodes)
        if nodes[name].key == evaluation.key and nodes[name].stage in stages
    ]
    chosen: list[str] = []
    for name in own:
        asks = any(key.split(".")[0] == EVALUATION for key in nodes[name].params)
        if asks or set(nodes[name].upstream) & set(chosen):
            chosen.append(name)
    if not chosen:
        raise BadInput(
            "dvc.yaml", f"no stage of {evaluation.name!r} depends on {EVALUATION!r} in params.yaml"
        )
    return chosen


def select_nights(nodes: Mapping[str, Node], evaluations: Iterable[EvaluatedEntry]) -> list[str]:
    """List the stages of all evaluations of a nightly run, in order."""
    chosen = {name for evaluation in evaluations for name in select_night(nodes, evaluation)}
    return [name for name in order_nodes(nodes) if name in chosen]


def select_contracts(nodes: Mapping[str, Node], chosen: Sequence[str]) -> list[str]:
    """List the stages that check the contracts of the chosen stages' datasets, in order."""
    upstream = set(list_upstream(nodes, chosen))
    return [
        name
        for name in order_nodes(nodes)
        if (stage := find_stage(nodes[name].stage)) is not None
        and stage.out == CONTRACTS
        and upstream & set(nodes[name].upstream)
    ]


def list_upstream(nodes: Mapping[str, Node], chosen: Iterable[str]) -> list[str]:
    """List the direct upstream stages of the chosen stages, sorted, excluding the chosen stages."""
    names = set(chosen)
    return sorted({up for name in names for up in nodes[name].upstream} - names)


def check_upstream(recorder: Recorder, chosen: Sequence[str]) -> None:
    """Raise BadInput if an upstream stage is stale: nightly runs compare systems on the same datasets."""
    stale = [
        (name, found) for name in list_upstream(recorder.nodes, chosen) if (found := recorder.explain(name))
    ]
    if stale:
        name, reasons = stale[0]
        raise BadInput(
            name,
            f"is not up to date in the committed state ({reasons[0]}), but the nightly run depends on it",
            hint=f"run `benchloom run {name}`, then commit dvc.lock",
        )
