"""Read the scored answers of an evaluation by calling functions from the evaluated stage's module."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args, get_type_hints

from flows.discovery import find_stage, list_evaluating, list_stages
from flows.run.loading import load_function, locate_module, row_type_of
from flows.stage import LIST_ANSWERED, LIST_SCORED, Scope
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.judging.answered import Answered, Scored
from tasks.judging.comparison import CallFile, ScoredSystem

ALL_CALLS = "calls.parquet"
"""The file in which `benchloom evaluate` stores all model calls of an evaluation."""
Find = Callable[[str], Path]
"""A function that takes an argument's name and returns the path of its artifact's file.

The function raises BadInput if the file is missing.
"""


def read_scored_systems(scope: Scope, key: str, system: str, find: Find, label: str) -> list[ScoredSystem]:
    """Read an entry's scored answers, one answer set per system.

    `system`: the system that the entry names; empty if the rows name their systems. `label`: where
    the answers come from, for error messages. Raises BadInput if an artifact is missing, or if its columns
    do not match the current code.
    """
    name = scope.evaluates
    module, function = locate_module(name), name.rpartition(".")[2]
    row, written = row_type_of(load_function(module, function)), name_written(name)
    list_scored, list_answered = load_function(module, LIST_SCORED), load_function(module, LIST_ANSWERED)
    hints = get_type_hints(list_answered)
    where = f"{scope.over}.{key}, {label}"
    arguments = {
        argument: read_artifact(find, written if argument == function else argument, where, hints[argument])
        for argument in inspect.signature(list_answered).parameters
    }
    rows = arguments.get(function)
    if rows is None:
        rows = read_artifact(find, written, where, list[row])  # type: ignore[valid-type] # known when it runs
    answers: dict[str, Answered] = {answer.id: answer for answer in list_answered(**arguments)}
    scored: list[Scored] = list_scored(rows)
    by_system: dict[str, list[tuple[Scored, Answered]]] = defaultdict(list)
    for score in scored:
        answer = answers[score.id]
        by_system[answer.system or system].append((score, answer))
    # Calls record the row that they belong to, but not the system.
    calls = list_calls(scope, find, written, arguments) if len(by_system) == 1 else []
    return [
        ScoredSystem(scope.over, key, name, answered, calls) for name, answered in sorted(by_system.items())
    ]


def list_calls(scope: Scope, find: Find, scores: str, arguments: Iterable[str]) -> list[CallFile]:
    """List the files with the calls that produced the answers.

    The files are in the folder of the scores. Calls that produced the scores or the dataset are omitted. A
    folder that `benchloom evaluate` wrote has one file for the calls of all stages.
    """
    folder = find(scores).parent
    names = [name for name in arguments if name != scores and find(name).parent == folder]
    files = [folder / f"{find(name).stem}.calls.parquet" for name in names]
    if found := [CallFile(path) for path in files if path.is_file()]:
        return found
    stages = [stage for stage in list_stages() if stage.scope == scope]
    made = tuple(stage.block for stage in stages if (stage.artifact or stage.function) in names)
    path = folder / ALL_CALLS
    return [CallFile(path, made)] if made and path.is_file() else []


def list_arguments(stage: str) -> list[str]:
    """List the artifacts that `read_scored_systems` reads for an evaluated stage; the scores are first."""
    written, function = name_written(stage), stage.rpartition(".")[2]
    list_answered = load_function(locate_module(stage), LIST_ANSWERED)
    names = [written if name == function else name for name in inspect.signature(list_answered).parameters]
    return list(dict.fromkeys([written, *names]))


def find_evaluating(stage: str) -> Scope:
    """Return the `Scope` of a stage. Raises BadInput if the scope does not evaluate systems."""
    found = find_stage(stage)
    scopes = [scope for scope in list_evaluating() if found is not None and scope == found.scope]
    if not scopes:
        raise BadInput(f"stage {stage}", "has an argument `evaluated`, but its scope has no evaluates=")
    return scopes[0]


def name_written(stage: str) -> str:
    """Return the argument name of the artifact that a stage writes."""
    found = find_stage(stage)
    return (found.artifact or found.function) if found else stage.rpartition(".")[2]


def read_artifact(find: Find, name: str, where: str, hint: Any) -> list[Any]:
    """Read an artifact's rows.

    `where`: the entry and its label, for error messages. `hint`: the annotation `list[Row]`. Raises BadInput
    if the artifact cannot be read as rows of the type `Row`.
    """
    path = find(name)
    try:
        return read_rows(path, get_args(hint)[0])
    except BadInput as error:
        said = str(error).removeprefix(f"{path}: ").removesuffix(" (run its stage again)")
        raise BadInput(
            f"{name} of {where}",
            said,
            hint="the current code cannot read artifacts from other versions; run the evaluation again",
        ) from error
