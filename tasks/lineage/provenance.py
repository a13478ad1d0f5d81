"""What made an artifact: files, the stages that wrote them, calls with their prompts and parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tasks.lineage.nodes import Node
from tasks.lineage.records import Archive, FileFact, Graph, StageFact

JSON_COLUMNS = ("messages", "decoding", "constraint")
"""Columns of a calls artifact that hold JSON."""

SYSTEM = "system"
"""The role of a call that went to a system under test, whose name stands for the model."""


@dataclass
class Makers:
    """Nodes of files, stages, prompts and calls, each made once. report: takes gaps (at, what, hint)."""

    root: Path
    graph: Graph | None
    archive: Archive | None
    report: Callable[..., None]
    describe: Callable[[str], Mapping[str, Any]] = lambda path: {}
    """What is known of a file that no stage wrote."""
    _nodes: dict[tuple[str, str], Node] = field(default_factory=dict, repr=False)

    def trace_file(self, path: str) -> Node:
        """Walk a file back through the stage that wrote it, its code and its parameters.

        A path inside a folder that a stage wrote is that folder: it is what has a hash.
        """
        fact = (self.graph.find_file(path) if self.graph else None) or FileFact(path)
        key = ("file", fact.path)
        if key not in self._nodes:
            stage = self.graph.find_writer(fact.path) if self.graph else None
            now = self.archive.check(fact) if self.archive else "unchecked"
            if now == "changed":
                self.report(
                    fact.path, f"is no longer what dvc.lock records (md5 {fact.md5})", "benchloom run"
                )
            summary = {"md5": fact.md5, "size": fact.size, "now": now}
            if stage is None:
                summary |= self.describe(fact.path)
            self._nodes[key] = Node(*key, summary, (self.trace_stage(stage),) if stage else ())
        return self._nodes[key]

    def trace_stage(self, stage: StageFact) -> Node:
        """Walk a stage back to what it read; its code files are named with their hashes and commits."""
        key = ("stage", stage.name)
        if key not in self._nodes:
            summary = {
                "command": stage.command,
                "params": dict(stage.params),
                "code": [self._describe_code(stage, each) for each in stage.code],
            }
            for each in stage.data:
                self._check_chain(stage, each)
            self._nodes[key] = Node(*key, summary, tuple(self.trace_file(each.path) for each in stage.data))
        return self._nodes[key]

    def make_call(self, key: str, path: str, record: Mapping[str, Any]) -> Node:
        """Make the node of a call that stands in the calls artifact `path`."""
        summary = {
            name: _read_json(value) if name in JSON_COLUMNS else value for name, value in record.items()
        }
        stage = self.graph.find_writer(path) if self.graph else None
        parents = []
        if stage is not None:
            role = record.get("role")
            asked = f"systems.{record.get('model')}" if role == SYSTEM else f"roles.{role}"
            summary["params"] = find_params(stage.params, asked)
            if not summary["params"]:
                self.report(f"call {key}", f"its stage {stage.name} has no parameters {asked} in dvc.lock")
        if record.get("prompt"):
            parents.append(self._trace_prompt(key, stage, record))
        if stage is not None:
            parents.append(self.trace_file(path))
        return Node("call", key, summary, tuple(parents))

    def _trace_prompt(self, call: str, stage: StageFact | None, record: Mapping[str, Any]) -> Node:
        name, digest = str(record["prompt"]), str(record.get("prompt_digest"))
        if stage is None:
            return Node("prompt", f"{name}@{digest}", {"digest": digest})
        key = ("prompt", f"{stage.name} {name}@{digest}")
        if key in self._nodes:
            return self._nodes[key]
        found = self._find_prompt(stage, name, digest)
        if found is None:
            self.report(f"call {call}", f"its prompt {name}.md is none of what {stage.name} depends on")
            return Node("prompt", f"{name}@{digest}", {"digest": digest})
        path, fact = found
        commit = self.archive.find_commit(fact) if self.archive else None
        if _digest(self.root / path) != digest and commit is None:
            self.report(f"call {call}", f"its prompt had the digest {digest[:12]}, and {path} has not")
        summary = {"digest": digest, "recorded": {"path": fact.path, "md5": fact.md5}, "commit": commit}
        self._nodes[key] = Node("prompt", f"{path}@{digest}", summary)
        return self._nodes[key]

    def _find_prompt(self, stage: StageFact, name: str, digest: str) -> tuple[str, FileFact] | None:
        """Find a prompt's file among a stage's dependencies; by its digest where several have its name."""
        fits = []
        for each in stage.code:
            if PurePosixPath(each.path).name == f"{name}.md":
                fits.append((each.path, each))
            inside = (
                sorted((self.root / each.path).rglob(f"{name}.md"))
                if not PurePosixPath(each.path).suffix
                else []
            )
            fits += [(path.relative_to(self.root).as_posix(), each) for path in inside]
        exact = [fit for fit in fits if _digest(self.root / fit[0]) == digest]
        return next(iter([*exact, *fits]), None)

    def _describe_code(self, stage: StageFact, fact: FileFact) -> dict[str, Any]:
        now = self.archive.check(fact) if self.archive else "unchecked"
        commit = self.archive.find_commit(fact) if self.archive else None
        if now in ("changed", "missing") and commit is None:
            self.report(
                f"stage {stage.name}",
                f"it ran with {fact.path} of md5 {fact.md5}, which is neither here nor in any commit",
                "benchloom run",
            )
        return {"path": fact.path, "md5": fact.md5, "now": now, "commit": commit}

    def _check_chain(self, stage: StageFact, read: FileFact) -> None:
        written = self.graph.find_file(read.path) if self.graph else None
        if written and written.path == read.path and written.md5 != read.md5:
            self.report(
                f"stage {stage.name}",
                f"it read {read.path} of md5 {read.md5}, which was written anew since (md5 {written.md5})",
                "benchloom run",
            )


def find_params(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Find parameters by their dotted name, where they stand by it or inside those of a section."""
    if name in params:
        return {name: params[name]}
    section, _, own = name.partition(".")
    whole = params.get(section)
    return {name: whole[own]} if isinstance(whole, Mapping) and own in whole else {}


def _read_json(text: object) -> object:
    try:
        return json.loads(str(text))
    except ValueError:
        return text


def _digest(path: Path) -> str | None:
    """Hash a prompt file as calls do: its text in UTF-8."""
    try:
        return hashlib.sha256(path.read_text(encoding="utf-8").encode()).hexdigest()
    except (OSError, ValueError):
        return None
