"""Record the files and parameters of an evaluation in its folder, so that lineage can trace its figures.

`benchloom evaluate` does not write `dvc.lock`, but the record has the form of an entry in `dvc.lock`. Output
paths are relative to the evaluation's folder, so that the folder can be moved.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from pydantic import TypeAdapter

from flows.graph import DeclaredGraph
from flows.lineage.archive import hash_path
from flows.settings import get_section
from tasks.errors import BadInput
from tasks.files import write_text
from tasks.lineage.records import FileRecord, Graph, StageRecord
from tasks.systems.evaluation import EvaluationOptions, OwnDataset

RECORD = "lineage.json"
OPTIONS = (
    "dataset", "system", "documents", "limit", "as_of", "turns", "language", "answers", "columns", "score",
    "judge", "endpoint", "key_env",
)  # fmt: skip
"""The options of `benchloom evaluate` that determine the figures."""


def write_record(
    out: Path,
    root: Path,
    params: Mapping[str, object],
    flow: str,
    options: EvaluationOptions,
    own: OwnDataset,
    place: Path | None = None,
) -> None:
    """Write the record of an evaluation's input files, code files and output files.

    - `root`: the folder that contains the code; code paths are relative to this folder.
    - `params`: the parameters, including the evaluation's entries.
    - `place`: for an evaluation outside a project, the folder to which the paths of the user's files are
      relative. The record of such an evaluation also contains Benchloom's version.
    """
    graph = DeclaredGraph(root)
    nodes = [
        graph.make_node(stage, own.key, own.entries[graph.declared[stage].stage.scope.over])
        for stage in own.stages
    ]
    base = place or root
    read = {root / dep for node in nodes for dep in node.deps if (root / dep).is_file()}
    code = {root / path for stage in own.stages for path in graph.list_code(stage)}
    installed = {"benchloom": version("benchloom")} if place is not None else {}
    given = (
        set(_list_files(options.dataset))
        | set(_list_files(options.documents))
        | set(_list_files(options.answers))
    )
    names = sorted({name for node in nodes for name in node.params})
    record = {
        "name": f"evaluate-{flow}@{own.key[:8]}",
        "cmd": _write_command(flow, base, options),
        "deps": [
            _describe(path, above)
            for path, above in sorted(
                {**dict.fromkeys(read | code, root), **dict.fromkeys(given, base)}.items()
            )
            if path.exists()
        ],
        "params": {**{name: get_section(params, name) for name in names}, **installed},
        "outs": [
            _describe(path, out)
            for path in sorted(out.iterdir())
            if path.suffix in (".parquet", ".json") and path.name != RECORD
        ],
    }
    write_text(out / RECORD, json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def is_recorded(file: Path) -> bool:
    """Return whether a file is in a folder that `benchloom evaluate` wrote."""
    return file.is_file() and (file.parent / RECORD).is_file()


def add_evaluation(graph: Graph, root: Path, folder: str) -> Graph:
    """Add the stage that wrote an evaluation's folder to the graph, or return the graph unchanged.

    `folder`: a path in the project, or an absolute path. The graph is unchanged if the folder contains no
    record of an evaluation. Raises BadInput if the record is malformed.
    """
    path = root / folder / RECORD
    if not path.is_file():
        return graph
    try:
        record = json.loads(path.read_bytes())
        outs = tuple(replace(out, path=f"{folder}/{out.path}") for out in _read_files(record["outs"]))
        stage = StageRecord(
            record["name"], record["cmd"], _read_files(record["deps"]), outs, record["params"]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(
            path, "is not a record of `benchloom evaluate`", hint="run `benchloom evaluate` again"
        ) from error
    return replace(graph, stages=(*graph.stages, stage))


def _read_files(records: object) -> tuple[FileRecord, ...]:
    return TypeAdapter(tuple[FileRecord, ...]).validate_python(records)


def _list_files(place: Path | None) -> Iterator[Path]:
    """Yield all files at or below a path; yield nothing for None.

    The path is an option of `benchloom evaluate`. The origins of rows refer to these files.
    """
    if place is None:
        return
    whole = place.resolve()
    yield from (path for path in whole.rglob("*") if path.is_file()) if whole.is_dir() else (whole,)


def _describe(path: Path, above: Path) -> dict[str, object]:
    size = None if path.is_dir() else path.stat().st_size
    return {"path": _name(path, above), "md5": hash_path(path), "size": size}


def _name(path: Path, above: Path) -> str:
    return Path(os.path.relpath(path, above)).as_posix()


def _write_command(flow: str, root: Path, options: EvaluationOptions) -> str:
    words = ["benchloom", "evaluate", flow]
    for name in OPTIONS:
        value = getattr(options, name)
        if value:
            option = "model" if name == "system" and options.by_model else name.replace("_", "-")
            given = value if isinstance(value, Mapping) else {option: value}
            for part, text in given.items():
                words += [f"--{part}", _name(text, root) if isinstance(text, Path) else str(text)]
    return shlex.join(words)
