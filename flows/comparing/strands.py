"""Read the scored answers of evaluated entries, by the functions of the module that their scope declares."""

from __future__ import annotations

import inspect
from collections import defaultdict
from typing import Any, get_args, get_type_hints

from flows.comparing.places import EvaluatedStage
from flows.discovery import find_stage
from flows.house import LIST_ANSWERED, LIST_SCORED
from flows.run.binding import load_function, locate_module, row_type_of
from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.judging.answered import Answered
from tasks.judging.comparison import Strand
from tasks.judging.scored import Scored


def read_strands(stage: EvaluatedStage, label: str) -> list[Strand]:
    """Read an entry's scored answers, one strand a system. label: of the place, for errors.

    Raises BadInput if an artifact is missing, or was written with other columns than this code's.
    """
    name = stage.scope.evaluates
    module, function = locate_module(name), name.rpartition(".")[2]
    row, written = row_type_of(load_function(module, function)), name_written(name)
    list_scored, list_answered = load_function(module, LIST_SCORED), load_function(module, LIST_ANSWERED)
    hints = get_type_hints(list_answered)
    arguments = {
        argument: read_artifact(stage, written if argument == function else argument, label, hints[argument])
        for argument in inspect.signature(list_answered).parameters
    }
    rows = arguments.get(function)
    if rows is None:
        rows = read_artifact(stage, written, label, list[row])  # type: ignore[valid-type] # known when it runs
    answers: dict[str, Answered] = {answer.id: answer for answer in list_answered(**arguments)}
    scored: list[Scored] = list_scored(rows)
    by_system: dict[str, list[tuple[Scored, Answered]]] = defaultdict(list)
    for score in scored:
        answer = answers[score.id]
        by_system[answer.system or stage.system].append((score, answer))
    return [Strand(stage.scope.over, stage.key, system, own) for system, own in sorted(by_system.items())]


def name_written(stage: str) -> str:
    """Name the artifact that a stage writes, as an argument."""
    found = find_stage(stage)
    return (found.artifact or found.function) if found else stage.rpartition(".")[2]


def read_artifact(stage: EvaluatedStage, name: str, label: str, hint: Any) -> list[Any]:
    """Read an artifact's rows. hint: `list[Row]`. Raises BadInput."""
    path = stage.find(name)
    try:
        return read_rows(path, get_args(hint)[0])
    except BadInput as error:
        said = str(error).removeprefix(f"{path}: ").removesuffix(" (run its stage again)")
        raise BadInput(
            f"{name} of {stage.name}, {label}", said, hint="the code of now reads what it wrote itself"
        ) from error
