"""Call a stage's function with arguments from the graph and params.yaml, and write its result.

An argument receives the artifact of the same name. The artifact's name is the stem of a dependency's file,
with dots replaced by underscores. If a field of the stage's entry contains the file's path, the field's
name is also a name of the artifact. The annotation determines the value:
- `list[Row]`: the rows.
- `Iterable[Row]`: the rows as a stream with bounded memory.
- `Path`: the path of the artifact.

A stage may also have the arguments `params`, `ask`, `limit`, `settings` (the parameters that dvc.yaml
declares for the stage, by dotted name), and `out` if it writes its artifact itself.

A stage that runs for each entry of a params.yaml section may have the arguments `key` and `entry` (dvc.yaml
then declares the parameter `<section>.${key}`). The argument `database` is the database that the entry names;
by default, the database with the entry's key as its name. The argument `system` is found in the same way.
`systems` contains all systems.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from flows.discovery import find_section_of, find_stage
from flows.run.asked_items import keep_asked
from flows.run.evaluated import find_evaluating, list_arguments, read_scored_systems
from flows.run.loading import load_function, locate_module, row_type_of
from flows.run.node import CALLS, Node
from flows.settings import get_section, parse_database, parse_section, parse_value
from flows.stage import BASELINES, EVALUATION, FIGURES, name_argument
from tasks.artifacts.parquet import StoredRows, read_rows, write_rows
from tasks.artifacts.rows import Counts, Drafts, Dropped
from tasks.artifacts.splitting import find_splitting
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput, StageFailed
from tasks.judging.comparison import EvaluatedRows
from tasks.models.calls import Call
from tasks.models.planning import SYSTEM

CODE = "tasks/"
"""Prefix of dependencies that are code, prompts or pages; these are never passed as arguments."""

MakeAsk = Callable[[str, Path, str], Any]
"""A function: (stage name, prompts folder, epoch) -> the object that the stage receives as `ask`."""


@dataclass(frozen=True)
class Work:
    """Counts of a stage's rows and calls, for Prefect's UI, `benchloom status` and the log line."""

    rows_in: int | None = None
    rows_out: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Places:
    """The folders that a stage reads from and writes to; in a preview, the output folder differs."""

    root: Path
    outs_root: Path
    limit: int | None = None

    def find(self, path: str) -> Path:
        """Return the path of a dependency: the preview's file if it exists, else the project's file."""
        preview = self.place(path)
        return preview if preview.exists() else self.root / path

    def place(self, path: str) -> Path:
        """Return the path that an output is written to."""
        return self.outs_root / (path if self.outs_root == self.root else path.removeprefix("data/"))


@dataclass
class Bound:
    """A stage's function with its arguments, ready to be called."""

    node: Node
    places: Places
    function: Callable[..., Any]
    arguments: dict[str, Any]
    ask: Any
    rows_in: int | None

    def call(self, run_coroutine: Callable[[Coroutine[Any, Any, Any]], Any] = asyncio.run) -> Work:
        """Run the stage and write its artifacts. Errors from the stage propagate unchanged."""
        result = self.function(**self.arguments)
        if inspect.iscoroutine(result):
            result = run_coroutine(result)
        if self.ask is not None:
            check_asked(self.node, self.places.root, self.ask.call_rows())
        return self._write(result)

    def _write(self, result: object) -> Work:
        rows = self.rows_in
        if isinstance(result, Drafts):
            dropped = Counter(drop.reason for drop in result.dropped)
            written = self._write_rows(result)
            return Work(rows, written, dict(sorted(dropped.items())))
        missing = [path for path in self.node.outs if not self.places.place(path).exists()]
        if missing:
            raise StageFailed(f"{self.node.name}: the stage did not write {missing[0]}")
        if isinstance(result, Counts):
            return Work(result.rows_in, result.rows_out, dict(result.dropped))
        return Work(rows)

    def _write_rows(self, drafts: Drafts[Any]) -> int:
        written = 0
        for path in self.node.outs:
            place = self.places.place(path)
            if path.endswith(".dropped.parquet"):
                write_rows(place, Dropped, drafts.dropped)
            elif path.endswith(CALLS):
                calls = self.ask.call_rows()
                write_rows(place, self.ask.row_type, calls)
            else:
                written = write_rows(place, row_type_of(self.function), drafts.rows)
        return written


def bind(
    node: Node, params: Mapping[str, Any], places: Places, make_ask: MakeAsk, *, split: bool = False
) -> Bound:
    """Find a stage's function and its arguments.

    `split`: whether to skip the rows that the stage splits into blocks; the blocks are read later. Raises
    BadInput if dvc.yaml, params.yaml and the function's signature disagree.
    """
    module, function = find_function(node)
    splitting = find_splitting(function) if split else None
    hints = get_type_hints(function, include_extras=True)
    files = name_files(node, params)
    arguments: dict[str, Any] = {}
    ask, rows_in = None, None
    for name in inspect.signature(function).parameters:
        hint = hints[name]
        if name == "params":
            arguments[name] = parse_section(params, node.stage, hint)
        elif name == "ask":
            ask = arguments[name] = make_ask(node.name, prompts_folder(module), read_epoch(node, params))
        elif name == "database":
            arguments[name] = load_database(node, params, places.root)
        elif name == "system":
            arguments[name] = parse_value(params, f"systems.{find_name(node, params, name)}", hint)
        elif name == "systems":
            arguments[name] = parse_value(params, name, hint)
        elif name == "entry":
            arguments[name] = place_paths(parse_value(params, find_section(node), hint), places)
        elif name == "key":
            arguments[name] = node.key
        elif name == "settings":
            arguments[name] = collect_settings(node, params)
        elif name == "limit":
            arguments[name] = places.limit
        elif name == "out" or name in FIGURES:
            arguments[name] = prepare_out(node, places, name)
        elif name == "evaluated":
            arguments[name] = read_evaluated(node, params, places, files)
        elif name not in files:
            raise BadInput(
                "dvc.yaml", f"{node.name} has no dependency for the argument {name!r} of {node.stage}"
            )
        elif hint is Path:
            arguments[name] = places.find(files[name])
        elif get_origin(hint) is Iterable or (splitting is not None and splitting.over == name):
            row = get_args(hint)[0]
            arguments[name] = StoredRows(places.find(files[name]), row, limit_rows(row, places.limit))
            rows_in = len(arguments[name]) if rows_in is None else rows_in
        else:
            rows = keep_asked(node, name, read_rows(places.find(files[name]), get_args(hint)[0]), params)
            arguments[name] = cut_rows(rows, get_args(hint)[0], places.limit)
            rows_in = len(arguments[name]) if rows_in is None else rows_in
    return Bound(node, places, function, arguments, ask, rows_in)


def name_files(node: Node, params: Mapping[str, Any]) -> dict[str, str]:
    """Map argument names to a stage's files: a name is the stem of a file, or a field of the stage's entry.

    A file that is declared as `${item.documents}` has the argument name `documents`, regardless of the file's
    name. An artifact of a stage takes precedence over the user's file of the same name.
    """
    declared = find_stage(node.stage)
    paths = [*node.deps, *(declared.covered if declared else ())]
    section = find_section_of(node.stage)
    entry = get_section(params, f"{section}.{node.key}") if section and node.key else None
    fields = entry.items() if isinstance(entry, Mapping) else ()
    named = {name: PurePosixPath(value).as_posix() for name, value in fields if isinstance(value, str)}
    users = set(named.values())
    files = {
        name_argument(path): path
        for path in sorted(paths, key=lambda path: path not in users)
        if not path.startswith(CODE)
    }
    return files | {name: path for name, path in named.items() if path in node.deps}


def read_evaluated(
    node: Node, params: Mapping[str, Any], places: Places, files: Mapping[str, str]
) -> EvaluatedRows:
    """Read the scored answers of the scope that contains a stage, one answer set per system.

    Raises BadInput if dvc.yaml lacks a dependency, or an artifact cannot be read.
    """
    scope = find_evaluating(node.stage)
    entry = get_section(params, f"{scope.over}.{node.key}")
    system = str(entry.get("system") or "") if isinstance(entry, dict) else ""

    def find(name: str) -> Path:
        if name not in files:
            raise BadInput(
                "dvc.yaml", f"{node.name} has no dependency for {name!r}", hint="run `benchloom graph`"
            )
        return places.find(files[name])

    artifact = find(list_arguments(scope.evaluates)[0])
    return EvaluatedRows(artifact, read_scored_systems(scope, node.key, system, find, node.name))


def check_asked(node: Node, root: Path, calls: Iterable[Call]) -> None:
    """Raise BadInput if a stage used a prompt or a role that it does not depend on.

    Otherwise an edit to the prompt or role would not make the stage stale. A node without code dependencies,
    such as a node of `benchloom evaluate`, is not checked.
    """
    code = [dep for dep in node.deps if dep.startswith(CODE)]
    known = any(dep.endswith(".py") for dep in code)
    asked = {(call.prompt, call.role) for call in calls} if known else set()
    for prompt, role in sorted(asked):
        file = f"{prompt}.md"
        if prompt and not any(
            PurePosixPath(dep).name == file or (root / dep / file).is_file() for dep in code
        ):
            raise BadInput(
                node.name,
                f"used the prompt {prompt!r}, which the flow's module does not declare",
                hint="add it to prompts=(...), then run `benchloom graph`",
            )
        sections = {".".join(name.split(".")[:2]) for name in node.params}
        if role != SYSTEM and not sections & {"roles", f"roles.{role}"}:
            raise BadInput(
                node.name,
                f"used the role {role!r}, which the flow's module does not declare",
                hint="add it to roles=(...), then run `benchloom graph`",
            )


def find_function(node: Node) -> tuple[ModuleType, Callable[..., Any]]:
    """Import a stage's module; return the module and the stage's function (`schema` for `grammar.schema`)."""
    function = load_function(locate_module(node.stage), node.stage.rpartition(".")[2])
    return sys.modules[function.__module__], function


def prompts_folder(module: ModuleType) -> Path:
    """Return the `prompts` folder next to a stage's module or, if it is missing, in the paper's folder."""
    beside = Path(module.__file__ or "").parent / "prompts"
    return beside if beside.is_dir() else beside.parents[1] / "prompts"


def load_database(node: Node, params: Mapping[str, Any], root: Path) -> DatabaseEntry:
    """Return a stage's validated database entry: the stage's own entry, or the entry that it names."""
    name = find_name(node, params, "database")
    return parse_database(params, name).resolve_under(root)


def find_section(node: Node) -> str:
    """Return the dotted name of the entry that a stage runs for, as in dvc.yaml.

    Another entry that the stage reads may have the same key; the flow determines which entry is the stage's
    own. Raises BadInput if the stage's own entry is ambiguous or missing.
    """
    own = f"{find_section_of(node.stage)}.{node.key}"
    if node.key and own in node.params:
        return own
    found = [name for name in node.params if node.key and name.endswith(f".{node.key}")]
    if len(found) != 1:
        raise BadInput(
            "dvc.yaml", f"{node.name} must declare exactly one parameter <section>.${{key}} for its entry"
        )
    return found[0]


def place_paths(entry: Any, places: Places) -> Any:
    """Replace an entry's paths, which are relative to the project, with the paths of the files to read."""
    if not isinstance(entry, BaseModel):
        return entry
    paths = {name: places.find(str(value)) for name, value in entry if isinstance(value, Path)}
    return entry.model_copy(update=paths)


def find_name(node: Node, params: Mapping[str, Any], kind: str) -> str:
    """Return the name of a stage's `database` or `system`; by default, the key of the stage's entry."""
    entries = (get_section(params, name) for name in node.params if name.endswith(f".{node.key}"))
    named = (entry[kind] for entry in entries if isinstance(entry, dict) and kind in entry)
    return str(next(named, node.key))


def read_epoch(node: Node, params: Mapping[str, Any]) -> str:
    """Return the epoch of a stage's calls: `evaluation.as_of` or `baselines.as_of` of params.yaml.

    The epoch is the label of a nightly run. It is '' if the stage depends on neither section, or if no label
    is set.
    """
    declared = {name.split(".")[0] for name in node.params}
    section = next((name for name in (EVALUATION, BASELINES) if name in declared), None)
    return str(get_section(params, f"{section}.as_of") or "") if section else ""


def collect_settings(node: Node, params: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten the parameters that dvc.yaml declares for a stage: dotted name -> value."""
    flat: dict[str, Any] = {}
    todo = [(key, get_section(params, key)) for key in reversed(node.params)]
    while todo:
        key, value = todo.pop()
        if isinstance(value, dict) and value:
            todo += [(f"{key}.{name}", value[name]) for name in sorted(value, reverse=True)]
        else:
            flat[key] = value
    return flat


def prepare_out(node: Node, places: Places, name: str) -> Path:
    """Delete any existing output, and return the path for the stage to write. name: the argument's name."""
    folders = {argument: f"{folder}/" for argument, folder in FIGURES.items()}
    kind = tuple(folders.values()) if name == "out" else folders[name]
    found = [path for path in node.outs if path.startswith(kind) != (name == "out")]
    if len(found) != 1:
        raise BadInput("dvc.yaml", f"{node.name} writes `{name}` itself, so it must have exactly one output")
    out = places.place(found[0])
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.is_dir():
        shutil.rmtree(out)
    else:
        out.unlink(missing_ok=True)
    return out


def cut_rows(rows: list[Any], row: type, limit: int | None) -> list[Any]:
    """Return the first `limit` rows for a preview; all rows if the rows describe columns of a schema."""
    return rows[: limit_rows(row, limit)]


def limit_rows(row: type, limit: int | None) -> int | None:
    """Return the row limit of a preview; None if the rows describe columns of a schema instead of items."""
    items = any(attribute.name == "origin" for attribute in dataclasses.fields(row))
    return limit if items else None
