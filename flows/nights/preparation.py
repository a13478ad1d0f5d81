"""Make a night's worktree ready: its parameters, the project's DVC cache and remotes, the data it reads."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from dvc.config import Config
from dvc.exceptions import DvcException
from dvc.repo import Repo

from flows.nights.selection import list_ground, select_contracts
from flows.nights.worktree import OVERLAID
from flows.run.dvc_boundary import hold_repo, translate_errors
from flows.run.recorder import Recorder
from flows.settings import edit_params, load_params

COMMITTED = ("flows/", "tasks/")
"""What is not taken over from the user's working tree, where no commit has it."""


def write_params(home: Path, root: Path, label: str) -> None:
    """Write the night's label into the worktree's params.yaml, and the sections that a night takes over."""
    given, there = load_params(home), load_params(root)
    with edit_params(root) as data:
        for section in OVERLAID:
            if given.get(section) != there.get(section):
                data[section] = given.get(section)
        if not isinstance(data.get("evaluation"), dict):
            data["evaluation"] = {}
        data["evaluation"]["as_of"] = label


def share_cache(home: Path, root: Path) -> None:
    """Let the worktree's DVC use the cache of the project, and its remotes by their whole paths."""
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


def bring_ground(home: Path, recorder: Recorder, chosen: Sequence[str], say: Callable[[str], None]) -> None:
    """Bring the artifacts that chosen stages stand on, and what these stand on, into the worktree.

    From DVC's remote and cache; files that are nobody's output, from the user's working tree. What is
    nowhere is left to `check_ground` to name.
    """
    nodes = recorder.nodes
    ground = list_ground(nodes, chosen)
    read = sorted({*chosen, *ground})
    makers = sorted({*ground, *list_ground(nodes, read), *select_contracts(nodes, chosen)})
    fetch_artifacts(recorder, makers, say)
    outs = {out for node in nodes.values() for out in node.outs}
    for dep in sorted({dep for name in read for dep in nodes[name].deps} - outs):
        if not dep.startswith(COMMITTED):
            link_missing(home / dep, recorder.root / dep)


def fetch_artifacts(recorder: Recorder, names: Sequence[str], say: Callable[[str], None]) -> None:
    """Fetch the outputs of stages from the remote, if there is one, and check them out of the cache.

    DVC's own commands would parse all of dvc.lock once for each stage, which takes minutes.
    """
    stages = [recorder.graph.find_stage(name) for name in names]
    with hold_repo(recorder.repo):
        if read_remote(recorder.repo):
            try:
                moved = recorder.repo.cloud.pull(list_objects(stages))
                say(f"pulled {len(moved.transferred)} files from DVC's remote")
            except (DvcException, OSError) as error:
                said = shorten_error(error)
                say(f"DVC's remote gives nothing ({said}): the night goes on with what the cache holds")
        else:
            say("DVC has no remote here: nothing is pulled or pushed")
        for out in (out for stage in stages for out in stage.outs):
            # What the cache lacks is named as stale, by its stage.
            if out.hash_info and recorder.hashes.is_cached(str(out.hash_info.value)):
                Path(out.fs_path).parent.mkdir(parents=True, exist_ok=True)
                with suppress(DvcException):
                    out.checkout(force=True, allow_missing=True)


def push_artifacts(recorder: Recorder, names: Iterable[str], say: Callable[[str], None]) -> bool:
    """Push the outputs of stages to the remote, if there is one; tells, and says, where that failed."""
    if not read_remote(recorder.repo):
        return True
    stages = [recorder.graph.find_stage(name) for name in names]
    try:
        with hold_repo(recorder.repo):
            moved = recorder.repo.cloud.push(list_objects(stages))
    except (DvcException, OSError) as error:
        said = shorten_error(error)
    else:
        if not moved.failed:
            say(f"pushed {len(moved.transferred)} files to DVC's remote")
            return True
        said = f"{len(moved.failed)} files failed"
    say(f"the artifacts are not pushed ({said}), and lie in DVC's cache: dvc push --all-branches")
    return False


def list_objects(stages: Iterable[Any]) -> set[Any]:
    """List the objects in DVC's cache that the outputs of stages are."""
    return {info for stage in stages for infos in stage.get_used_objs().values() for info in infos}


def read_remote(repo: Repo) -> str | None:
    """Read the name of DVC's default remote; None if there is none."""
    return repo.config["core"].get("remote") or None


def shorten_error(error: Exception) -> str:
    """Say in a few words what went wrong."""
    return (" ".join(str(error).split()) or type(error).__name__)[:200]


def link_missing(source: Path, place: Path) -> None:
    """Link a file, or those of a folder, to where it is missing; copied where it cannot be linked."""
    files = [path for path in source.rglob("*") if path.is_file()] if source.is_dir() else [source]
    for file in files:
        target = place / file.relative_to(source) if file != source else place
        if not file.is_file() or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file.resolve(), target)
        except OSError:
            shutil.copy2(file, target)
