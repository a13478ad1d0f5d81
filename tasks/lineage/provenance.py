"""Trace files, stages, prompts and model calls back to their inputs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tasks.lineage.nodes import CodeFile, LineageNode
from tasks.lineage.records import FileHistory, FileRecord, Graph, StageRecord

JSON_COLUMNS = ("messages", "decoding", "constraint")
"""Columns of a calls artifact that contain JSON."""

SYSTEM = "system"
"""Role of the calls to a system under test; the column `model` then contains the system's name."""


@dataclass
class Provenance:
    """Builds the nodes of files, stages, prompts and calls; each node is built once.

    `graph`: the recorded stages; if None, file nodes have no parents. `history`: current file states; if
    None, files are `unchecked`. `report`: function that is called for each gap with the node, the problem
    and, optionally, a hint. `describe`: function that returns further details of a file, such as its package.
    `installed`: the code's folder, if the code is not in `root`.
    """

    root: Path
    graph: Graph | None
    history: FileHistory | None
    report: Callable[..., None]
    describe: Callable[[str], Mapping[str, object]] = lambda path: {}
    installed: Path | None = None
    _nodes: dict[tuple[str, str], LineageNode] = field(default_factory=dict, repr=False)

    @property
    def _code(self) -> Path:
        return self.installed or self.root

    def trace_file(self, path: str) -> LineageNode:
        """Trace a file through the stage that wrote it.

        A path inside a stage's output folder becomes the node of that folder. If a stage read the path
        itself, the path gets its own node, because only paths that stages read have a recorded hash.
        """
        record = (self.graph.find_file(path) if self.graph else None) or FileRecord(path)
        key = ("file", record.path)
        if key not in self._nodes:
            stage = self.graph.find_writer(record.path) if self.graph else None
            now = self.history.check(record) if self.history else "unchecked"
            if now == "changed":
                self.report(
                    record.path,
                    f"is different from the version in dvc.lock (md5 {record.md5})",
                    "benchloom run",
                )
            summary = {"md5": record.md5, "size": record.size, "now": now, **self.describe(record.path)}
            self._nodes[key] = LineageNode(*key, summary, (self.trace_stage(stage),) if stage else ())
        return self._nodes[key]

    def trace_stage(self, stage: StageRecord) -> LineageNode:
        """Trace a stage to the data that it read; the summary lists its code with hashes and commits."""
        key = ("stage", stage.name)
        if key not in self._nodes:
            summary = {
                "command": stage.command,
                "params": dict(stage.params),
                "code": [self._describe_code(stage, file) for file in stage.code],
            }
            for file in stage.data:
                self._check_version(stage, file)
            parents = tuple(self.trace_file(file.path) for file in stage.data)
            self._nodes[key] = LineageNode(*key, summary, parents)
        return self._nodes[key]

    def make_call(self, call_key: str, path: str, record: Mapping[str, object]) -> LineageNode:
        """Build the node of a call. `path`: the calls artifact. `record`: the call's row in that artifact."""
        summary = {
            name: _decode_json(value) if name in JSON_COLUMNS else value for name, value in record.items()
        }
        stage = self.graph.find_writer(path) if self.graph else None
        parents = []
        if stage is not None:
            role = record.get("role")
            entry = f"systems.{record.get('model')}" if role == SYSTEM else f"roles.{role}"
            params = find_params(stage.params, entry)
            summary["params"] = params
            if not params:
                self.report(
                    f"call {call_key}",
                    f"its stage {stage.name} has no recorded parameters {entry} in dvc.lock",
                )
        if record.get("prompt"):
            parents.append(self._trace_prompt(call_key, stage, record))
        if stage is not None:
            parents.append(self.trace_file(path))
        return LineageNode("call", call_key, summary, tuple(parents))

    def _trace_prompt(
        self, call_key: str, stage: StageRecord | None, record: Mapping[str, object]
    ) -> LineageNode:
        name, digest = str(record["prompt"]), str(record.get("prompt_digest"))
        if stage is None:
            return LineageNode("prompt", f"{name}@{digest}", {"digest": digest})
        key = ("prompt", f"{stage.name} {name}@{digest}")
        if key in self._nodes:
            return self._nodes[key]
        found = self._find_prompt(stage, name, digest)
        if found is None:
            self.report(f"call {call_key}", f"its prompt {name}.md is not a dependency of {stage.name}")
            return LineageNode("prompt", f"{name}@{digest}", {"digest": digest})
        path, file = found
        commit = self.history.find_commit(file) if self.history else None
        if _digest_prompt(self._code / path) != digest and commit is None:
            self.report(
                f"call {call_key}",
                f"its prompt had the digest {digest[:12]}, but {path} has a different digest",
            )
        summary = {"digest": digest, "recorded": {"path": file.path, "md5": file.md5}, "commit": commit}
        self._nodes[key] = LineageNode("prompt", f"{path}@{digest}", summary)
        return self._nodes[key]

    def _find_prompt(self, stage: StageRecord, name: str, digest: str) -> tuple[str, FileRecord] | None:
        """Find the file of a prompt among a stage's dependencies, or in a folder that is a dependency.

        If several files have the prompt's name, the file with the recorded digest is preferred.
        """
        fits = []
        for file in stage.code:
            place = PurePosixPath(file.path)
            if place.name == f"{name}.md":
                fits.append((file.path, file))
            inside = [] if place.suffix else sorted((self._code / file.path).rglob(f"{name}.md"))
            fits += [(path.relative_to(self._code).as_posix(), file) for path in inside]
        exact = [fit for fit in fits if _digest_prompt(self._code / fit[0]) == digest]
        return next(iter([*exact, *fits]), None)

    def _describe_code(self, stage: StageRecord, file: FileRecord) -> CodeFile:
        now = self.history.check(file) if self.history else "unchecked"
        commit = self.history.find_commit(file) if self.history else None
        if now in ("changed", "missing") and commit is None:
            self.report(
                f"stage {stage.name}",
                f"it ran with {file.path} (md5 {file.md5}), and this version is neither in the project nor "
                "in a commit",
                "benchloom run",
            )
        return {"path": file.path, "md5": file.md5, "now": now, "commit": commit}

    def _check_version(self, stage: StageRecord, read: FileRecord) -> None:
        """Report a gap if a file was rewritten after the stage read it."""
        written = self.graph.find_file(read.path) if self.graph else None
        # A record with another path is the folder that contains the file; its hash cannot be compared.
        if written and written.path == read.path and written.md5 != read.md5:
            self.report(
                f"stage {stage.name}",
                f"it read {read.path} (md5 {read.md5}), which has been written again since then (md5 "
                f"{written.md5})",
                "benchloom run",
            )


def find_params(params: Mapping[str, object], name: str) -> dict[str, object]:
    """Find a recorded parameter by its dotted name; return {name: value}, or {} if it is not recorded.

    The parameter may be stored under the dotted name, or in a section.
    """
    if name in params:
        return {name: params[name]}
    section_name, _, own = name.partition(".")
    section = params.get(section_name)
    return {name: section[own]} if isinstance(section, Mapping) and own in section else {}


def _decode_json(text: object) -> object:
    try:
        return json.loads(str(text))
    except ValueError:
        return text


def _digest_prompt(path: Path) -> str | None:
    """Return the SHA-256 of a prompt file's UTF-8 text, as recorded in calls; None if it cannot be read."""
    try:
        return hashlib.sha256(path.read_text(encoding="utf-8").encode()).hexdigest()
    except (OSError, ValueError):
        return None
