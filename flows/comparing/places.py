"""Find evaluated artifacts in the working tree, a revision, a nightly run's branch or a run's folder.

The evaluated stages are determined by the flows' declarations and by `dvc.lock`, which is read without DVC.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from flows.discovery import find_stage, list_evaluating, list_flows
from flows.evaluation import FIGURES
from flows.evaluation import FOLDER as EVALUATIONS
from flows.lineage.git import Git
from flows.lineage.lock import read_stage
from flows.night_settings import BRANCH
from flows.run.evaluated import Find, read_scored_systems
from flows.run.node import PARAMS
from flows.run.record.lock_file import LOCK, split_blocks
from flows.settings import get_section, load_params
from flows.stage import Scope, name_argument
from tasks.errors import BadInput
from tasks.judging.comparison import ScoredSystem
from tasks.lineage.records import FileRecord, StageRecord


@dataclass(frozen=True)
class EvaluatedStage:
    """The stage whose artifact contains an entry's scores. system: the entry's system, if any.

    `find`: function that returns the path of an artifact by name. `find_canaries`: function that returns the
    path of the artifact with the judges' canaries (test cases), or None if there is none.
    """

    scope: Scope
    key: str
    system: str
    find: Find
    find_canaries: Callable[[], Path] | None = None

    @property
    def name(self) -> str:
        """The full name of the entry."""
        return f"{self.scope.over}.{self.key}"

    def read_scored_systems(self, label: str) -> list[ScoredSystem]:
        """Read the entry's scored answers with `flows.run.evaluated.read_scored_systems`.

        `label`: name of the `Place` for error messages.
        """
        return read_scored_systems(self.scope, self.key, self.system, self.find, label)


@dataclass(frozen=True)
class Place:
    """The evaluated entries of a working tree, revision, branch or folder. label: name to print."""

    label: str
    stages: tuple[EvaluatedStage, ...]


def read_workspace(root: Path) -> Place:
    """Read the evaluated stages in the working tree's `dvc.lock`. Raises BadInput if no stage has run."""
    path = root / LOCK
    if not path.is_file():
        raise BadInput(LOCK, "does not exist, because no stage has run", hint="run `benchloom run`")

    def find(record: FileRecord) -> Path:
        if not (root / record.path).is_file():
            raise BadInput(record.path, "does not exist", hint="run `benchloom run` or `dvc checkout`")
        return root / record.path

    return Place(
        "workspace", tuple(_list_stages(path.read_text(encoding="utf-8"), LOCK, find, load_params(root)))
    )


def read_revision(root: Path, revision: str, name: str = "") -> Place | None:
    """Read the evaluated stages in `dvc.lock` at a Git revision, with artifacts from DVC's cache.

    Returns None if there is no such revision. `name`: the label of the `Place`, by default the revision.
    Raises BadInput if the commit has no `dvc.lock`.
    """
    git = Git(root)
    commit = git.find_commit(revision)
    if commit is None:
        return None
    content = git.read_file(commit, LOCK)
    label = name or (revision if commit.startswith(revision) else f"{revision} ({commit[:8]})")
    if content is None:
        raise BadInput(label, f"has no {LOCK}")
    params = parse_yaml((git.read_file(commit, PARAMS) or b"").decode(), f"{PARAMS} of {label}")
    opened: list[Callable[[str], Path]] = []

    def find(record: FileRecord) -> Path:
        # Importing DVC takes seconds, so the cache is opened only if an artifact is read.
        if not opened:
            opened.append(open_cache(root))
        path = opened[0](record.md5 or "")
        if not path.is_file():
            raise BadInput(
                f"{record.path} of {label}",
                f"is not in DVC's cache (md5 {record.md5})",
                hint="to get it from a remote, run `dvc fetch --all-commits`; if it was never pushed, "
                "check out that revision and run `benchloom run`",
            )
        return path

    return Place(label, tuple(_list_stages(content.decode(), f"{LOCK} of {label}", find, params)))


def read_night(root: Path, label: str) -> Place | None:
    """Read the evaluated stages on a nightly run's branch; None if no nightly run has the label."""
    return read_revision(root, f"refs/heads/{BRANCH}{label}", f"night {label}") if label else None


def is_evaluation(folder: Path) -> bool:
    """Return whether a folder was written by `benchloom evaluate`."""
    return (folder / FIGURES).is_file()


def read_evaluation(folder: Path, label: str) -> Place | None:
    """Read a folder that `benchloom evaluate` wrote; return None for any other folder.

    Raises BadInput if the folder's figures.json is not a record of an evaluation.
    """
    if not is_evaluation(folder):
        return None
    try:
        about = json.loads((folder / FIGURES).read_bytes())
        flow, system, dataset = (str(about[name]) for name in ("flow", "system", "dataset"))
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(folder / FIGURES, "is not a record of `benchloom evaluate`") from error

    def find(name: str) -> Path:
        if not (folder / f"{name}.parquet").is_file():
            raise BadInput(folder, f"has no {name}.parquet", hint="run `benchloom evaluate` again")
        return folder / f"{name}.parquet"

    scopes = [scope for known in list_flows() if known.name == flow for scope in known.list_scopes()]
    # Two sections of a flow may write the same artifact. The section of users' systems is declared last.
    named = {_name_artifact(scope.evaluates): scope for scope in scopes if scope.evaluates}
    stages = [
        EvaluatedStage(scope, dataset, system, find)
        for artifact, scope in named.items()
        if (folder / f"{artifact}.parquet").is_file()
    ]
    return Place(label, tuple(stages))


def list_nights(root: Path) -> list[str]:
    """List the labels of nightly runs that have a branch, sorted."""
    return [name.removeprefix(BRANCH) for name in Git(root).list_branches(BRANCH)]


def list_folders(root: Path) -> list[str]:
    """List the folders that `benchloom evaluate` wrote below the default folder, sorted."""
    return sorted(
        path.parent.relative_to(root).as_posix() for path in (root / EVALUATIONS).glob(f"*/{FIGURES}")
    )


def _name_artifact(name: str) -> str:
    stage = find_stage(name)
    return (stage.artifact or stage.function) if stage else ""


def _list_stages(
    text: str, where: str, find: Callable[[FileRecord], Path], params: Mapping[str, object]
) -> Iterator[EvaluatedStage]:
    records = {(record.function, record.key): record for record in _read_records(text, where)}
    scopes = {scope.evaluates: scope for scope in list_evaluating()}
    for record in records.values():
        if (scope := scopes.get(record.function)) is not None:
            canaries = records.get((scope.canaries, record.key))
            yield _make_stage(scope, record, canaries, find, params)


def _make_stage(
    scope: Scope,
    record: StageRecord,
    canaries: StageRecord | None,
    find: Callable[[FileRecord], Path],
    params: Mapping[str, object],
) -> EvaluatedStage:
    files = {name_argument(file.path): file for file in (*record.data, *record.outs)}

    def find_named(name: str) -> Path:
        if name not in files:
            raise BadInput(record.name, f"has no recorded artifact {name!r}")
        return find(files[name])

    entry = get_section(params, f"{scope.over}.{record.key}")
    system = entry.get("system") if isinstance(entry, dict) else None
    named = {name_argument(out.path): out for out in canaries.outs} if canaries else {}
    rows = named.get(_name_artifact(scope.canaries))
    found = None if rows is None else partial(find, rows)
    return EvaluatedStage(scope, record.key, str(system or ""), find_named, found)


def _read_records(text: str, where: str) -> list[StageRecord]:
    """Read only the records of evaluated stages and canaries: parsing a large `dvc.lock` takes seconds."""
    names = [name for scope in list_evaluating() for name in (scope.evaluates, scope.canaries)]
    stages = [stage for name in names if (stage := find_stage(name))]
    blocks = split_blocks(text)
    own = tuple(f"  {stage.block}@" for stage in stages)
    if blocks is None:
        found = parse_yaml(text, where).get("stages") or {}
    else:
        found = parse_yaml("".join(block for block in blocks if block.startswith(own)), where)
    records = [read_stage(name, entry) for name, entry in found.items()]
    functions = {stage.name for stage in stages}
    return [record for record in records if record.function in functions and record.key and record.outs]


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """Parse YAML text. Raises BadInput if the text is not a YAML mapping."""
    try:
        found = YAML(typ="safe").load(text) or {}
    except YAMLError as error:
        raise BadInput(where, f"cannot be read: {str(error).strip().splitlines()[0]}") from error
    if not isinstance(found, dict):
        raise BadInput(where, "is not a mapping (key: value)")
    return found


def open_cache(root: Path) -> Callable[[str], Path]:
    """Open DVC's cache at its configured path; return a function that maps an MD5 hash to its file."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        repo = Repo(str(root))
    except DvcException as error:
        raise BadInput(root, f"is not a DVC repository: {error}", hint="run `dvc init`") from error
    cache = repo.cache.local
    return lambda md5: Path(cache.oid_to_path(md5))
