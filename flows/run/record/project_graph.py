"""Read a project's stages with DVC's own resolver of dvc.yaml, and their records in dvc.lock.

To load a graph, DVC creates an object for every path of every stage, which takes 30 s for 1,470 stages. To
find stale stages, this module needs only names, commands and paths. A stage's DVC object is created when the
stage is recorded.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import dvc
from dvc.dependency import ParamsDependency
from dvc.dvcfile import PROJECT_FILE, is_valid_filename, load_file
from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.stage.loader import StageLoader

from flows.parameters import Parameters
from flows.run.node import PARAMS, Node, normalise, split_command
from flows.run.record.dvc_boundary import hold_repo
from flows.run.record.lock_file import KEPT_ENTRIES, LOCK, Entry, LockFile
from flows.settings import load_params
from tasks.errors import BadInput
from tasks.files import write_text

KNOWN = frozenset({"cmd", "deps", "params", "outs", "desc", "meta"})
"""Keys of a stage's block in dvc.yaml that can be read without a DVC object.

Blocks with other keys (`frozen`, `wdir`) or with outputs outside the cache are evaluated by DVC.
"""
KEPT = ".benchloom/blocks.json"
FURTHER = re.compile(rb"^vars:|^  *vars:", re.MULTILINE)
"""Matches `vars` in dvc.yaml, which defines values or reads values from other files."""


class ProjectGraph:
    """The stages of a project that have a command, by DVC's name. Raises BadInput for an unreadable graph."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.nodes: dict[str, Node] = {}
        self.entries: dict[str, Entry] = {}
        """Stage -> its record in dvc.lock, for stages that are read without a DVC object."""
        self.plain: set[str] = set()
        self.stages: dict[str, Any] = {}
        """Name -> DVC's own stage object, for the objects created so far."""
        self.params = Parameters({}, None)
        if (root / PARAMS).is_file():
            self.params = load_params(root)  # report errors that DVC would ignore
        try:
            self.repo = Repo(str(root))
            with hold_repo(self.repo):  # `dvc repro` writes dvc.lock in place: do not read a partial file
                self._read_main()
                for path in self._find_others():
                    self._read_other(path)
            self._connect()
        except DvcException as error:
            raise BadInput(
                root / PROJECT_FILE, str(error), hint="dvc.yaml and params.yaml must agree"
            ) from error

    @cached_property
    def loader(self) -> StageLoader:
        """DVC's loader for the project's own stages, with the entries of dvc.lock."""
        file = load_file(self.repo, str(self.root / PROJECT_FILE))
        return StageLoader(file, file.contents, {"stages": self.entries})

    def find_stage(self, name: str) -> Any:
        """Return DVC's object for a stage, which is created on first use."""
        if name not in self.stages:
            self.stages[name] = self.loader[name]
        return self.stages[name]

    def find_lock(self, path: Path) -> LockFile:
        """Return the `LockFile` at a path."""
        return LockFile(path, self.root / KEPT_ENTRIES if path == self.root / LOCK else None)

    def _read_main(self) -> None:
        """Read the project's own dvc.yaml."""
        path = self.root / PROJECT_FILE
        if not path.is_file():
            return
        self.entries = self.find_lock(self.root / LOCK).read()
        kept = ResolvedBlocks(self.root)
        blocks = kept.load()
        if blocks is None:
            resolver = load_file(self.repo, str(path)).resolver
            blocks = {name: resolver.resolve_one(name)[name] for name in resolver.get_keys()}
            kept.keep(blocks)
        for name, block in blocks.items():
            if self._is_plain(block, self.entries.get(name)):
                self.plain.add(name)
                self.nodes[name] = make_node(name, block)
            elif block.get("cmd"):
                self._add_stage(self.find_stage(name))

    def _is_plain(self, block: Mapping[str, Any], entry: Entry | None) -> bool:
        """Return whether a block can be read without a DVC object.

        The block must contain only commands and local paths, and all of its outputs must be cached.
        """
        deps, outs, params = (block.get(part) or [] for part in ("deps", "outs", "params"))
        files = [file for param in params if isinstance(param, dict) for file in param.items()]
        paths = [*outs, *(path for path, _ in files)]
        recorded = [*((entry or {}).get("deps") or ()), *((entry or {}).get("outs") or ())]
        return (
            block.keys() <= KNOWN
            and isinstance(block.get("cmd"), str)
            and bool(deps or params)
            and all(names for _, names in files)  # DVC compares a file without names as a whole
            and all(isinstance(path, str) for path in [*paths, *deps])
            and all(map(is_own_path, paths))
            and all(is_own_path(path) or is_outside(self.root, path) for path in deps)
            and all(item.get("hash") for item in recorded)  # older entries hash text without line ends
        )

    def _find_others(self) -> Iterator[str]:
        """Yield the other files that define stages, which DVC finds in the project's subfolders."""
        root = self.repo.root_dir
        outs = {f"{root}{os.sep}{out}" for node in self.nodes.values() for out in node.outs}
        ignored = self.repo.scm.is_ignored
        for folder, folders, files in self.repo.dvcignore.walk(self.repo.fs, root):
            for name in sorted(files):
                path = f"{folder}{os.sep}{name}"
                main = (folder, name) == (root, PROJECT_FILE)
                if is_valid_filename(name) and not main and not ignored(path):
                    yield path
            paths = {name: f"{folder}{os.sep}{name}" for name in folders}
            # Changed in place, so that the walk skips the other folders.
            folders[:] = [
                name for name, path in paths.items() if path not in outs and not ignored(path + os.sep)
            ]

    def _read_other(self, path: str) -> None:
        for stage in load_file(self.repo, path).stages.values():
            if getattr(stage, "cmd", None):
                self._add_stage(stage)

    def _add_stage(self, stage: Any) -> None:
        """Add the node of a DVC stage object."""
        self.stages[stage.addressing] = stage
        own, key = split_command(str(stage.cmd))
        self.nodes[stage.addressing] = Node(
            name=stage.addressing,
            stage=own,
            key=key,
            deps=tuple(self._name(dep) for dep in stage.deps if not isinstance(dep, ParamsDependency)),
            outs=tuple(map(self._name, stage.outs)),
            upstream=(),
            command=str(stage.cmd),
            folder=os.path.relpath(stage.wdir, self.root),
            settings={self._name(dep): tuple(dep.params) for dep in stage.params},
        )

    def _name(self, item: Any) -> str:
        """Return a DVC item's path: relative for an item in the project's folder, otherwise the full path."""
        full = str(item.fs_path)
        return os.path.relpath(full, self.root) if full.startswith(f"{self.root}{os.sep}") else full

    def _connect(self) -> None:
        """Find each stage's upstream stages. Raises DVC's error if the graph is invalid."""
        makers, below = dict[str, str](), defaultdict[str, set[str]](set)
        for name, node in self.nodes.items():
            for out in node.outs:
                if out in makers:
                    self._let_dvc_refuse(f"{out} is an output of both {makers[out]} and {name}")
                makers[out] = name
                for parent in list_parents(out):
                    below[parent].add(name)
        for out, name in makers.items():
            if out in below:
                self._let_dvc_refuse(
                    f"the output {out} of {name} contains an output of {', '.join(sorted(below[out]))}"
                )
        sources: dict[str, frozenset[str]] = {}
        for name, node in self.nodes.items():
            found = set[str]()
            for dep in node.deps:
                if dep not in sources:
                    above = (makers[path] for path in (dep, *list_parents(dep)) if path in makers)
                    sources[dep] = frozenset({*above, *below.get(dep, ())})
                found |= sources[dep]
            self.nodes[name] = Node(**{**vars(node), "upstream": tuple(sorted(found))})
        try:
            TopologicalSorter({name: node.upstream for name, node in self.nodes.items()}).prepare()
        except CycleError as error:
            self._let_dvc_refuse(f"stages depend on each other in a cycle: {' -> '.join(error.args[1])}")

    def _let_dvc_refuse(self, otherwise: str) -> None:
        """Raise DVC's own error for an invalid graph.

        If DVC finds no error, raises BadInput with the text `otherwise`.
        """
        _ = self.repo.index.graph
        raise BadInput(PROJECT_FILE, otherwise)


def make_node(name: str, block: Mapping[str, Any]) -> Node:
    """Return the node of a block with only commands and paths; upstream stages are added later."""
    own, key = split_command(block["cmd"])
    settings = defaultdict[str, list[str]](list)
    for param in block.get("params") or ():
        for path, names in param.items() if isinstance(param, dict) else ((PARAMS, [param]),):
            settings[normalise(path)] += names
    return Node(
        name=name,
        stage=own,
        key=key,
        deps=tuple(normalise(path) for path in block.get("deps") or ()),
        outs=tuple(normalise(path) for path in block.get("outs") or ()),
        upstream=(),
        command=block["cmd"],
        settings={path: tuple(dict.fromkeys(names)) for path, names in settings.items()},
    )


def is_own_path(path: str) -> bool:
    """Return whether a path is inside the project: relative, and without `..`."""
    return "://" not in path and not path.startswith("/") and ".." not in path.split("/")


@cache
def is_outside(root: Path, path: str) -> bool:
    """Return whether a path in dvc.yaml is on this machine, but outside the project."""
    # Avoid Path objects and cache the result: many stages of many databases refer to the same files.
    full, top = os.path.realpath(os.path.join(root, path)), os.path.realpath(root)  # noqa: PTH118
    return "://" not in path and not f"{full}{os.sep}".startswith(f"{top}{os.sep}")


def list_parents(path: str) -> list[str]:
    """List the folders above a normalised path, nearest first."""
    # Use text operations: `status` calls this for thousands of paths, and Path objects are slower.
    parts = path.split("/")
    return [above for end in range(len(parts) - 1, 0, -1) if (above := "/".join(parts[:end]))]


class ResolvedBlocks:
    """The blocks of dvc.yaml as DVC resolved them, cached until dvc.yaml or params.yaml changes.

    Without the cache, DVC parses dvc.yaml and params.yaml and fills in every template, which takes 0.5 s for
    216 stages. Blocks are not cached if dvc.yaml reads values from other files.
    """

    def __init__(self, root: Path) -> None:
        self._root, self._kept = root, root / KEPT
        self._digest = self._hash_files()

    def load(self) -> dict[str, Any] | None:
        """Load the cached blocks of the current files; None if the cache is missing or invalid."""
        try:
            kept = json.loads(self._kept.read_bytes())
            if self._digest and kept["of"] == self._digest and isinstance(kept["blocks"], dict):
                return dict(kept["blocks"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def keep(self, blocks: Mapping[str, Any]) -> None:
        """Store blocks, if they survive a round trip through JSON."""
        with suppress(OSError, TypeError, ValueError):
            text = json.dumps({"of": self._digest, "blocks": blocks})
            # The files may have been edited while DVC resolved the blocks.
            unchanged = self._digest and self._hash_files() == self._digest
            if unchanged and json.loads(text)["blocks"] == blocks:
                write_text(self._kept, text)

    def _hash_files(self) -> str:
        """Hash DVC's version, dvc.yaml and params.yaml; return '' if dvc.yaml reads other files."""
        texts = [read_bytes(self._root / name) for name in ("dvc.yaml", PARAMS)]
        hashes = [hashlib.sha256(text).hexdigest() for text in texts]
        return "" if FURTHER.search(texts[0]) else " ".join([dvc.__version__, *hashes])


def read_bytes(path: Path) -> bytes:
    """Read a file; return empty bytes if the file is missing."""
    return path.read_bytes() if path.is_file() else b""
