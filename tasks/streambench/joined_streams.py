"""Join the evaluations of several streams; each dataset of a stream becomes a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.figures_file import read_figures
from tasks.reports.places import name_in_project
from tasks.reports.tables import Cell
from tasks.settings import read_nested
from tasks.streambench.build.items import StreamItem
from tasks.streambench.entries import MethodChoice, StreamEvaluation, StreamOverview
from tasks.streambench.score.scores import StepScore
from tasks.streambench.scored_steps import (
    NON_STREAMING,
    STREAMING,
    TITLES,
    ScoredStep,
    StreamRuns,
    StreamSystem,
    gather_runs,
)
from tasks.streambench.solve.stream_step import StreamStep

SECTION = "streambench.evaluations"
KINDS = ("sql", "ds1000", "toolbench", "ddxplus", "hotpotqa")
"""Kinds of items in the order of the StreamBench paper's columns; other kinds follow."""
Row = TypeVar("Row")


@dataclass(frozen=True)
class ReadEvaluation:
    """An evaluation with its runs.

    folder: the folder with the artifacts. warnings: the warnings on the evaluation's page.
    """

    name: str
    entry: StreamEvaluation
    folder: Path
    runs: StreamRuns
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Told:
    """The part of evaluation_figures.json that an overview reads."""

    warnings: tuple[str, ...]


@dataclass(frozen=True)
class StreamColumn:
    """One dataset of a stream. runs: the steps on the dataset's items, from all evaluations of the stream.

    - sources: run -> the run's evaluation.
    - mixed: whether the stream also has other datasets.
    - unshown: pairs (evaluation, run) that are hidden, because an earlier evaluation has the same method with
      the same models.
    """

    title: str
    dataset: str
    stream: str
    kind: str
    runs: StreamRuns
    sources: Mapping[str, ReadEvaluation]
    mixed: bool
    unshown: tuple[tuple[str, str], ...]

    def place(self, cell: Cell) -> Cell:
        """Return the cell, with source rows that refer to the scores of each run's own evaluation."""
        if cell.basis is None:
            return cell
        rows = self.select(str(selection.where["run"]) for selection in cell.basis.rows)
        return replace(cell, basis=replace(cell.basis, rows=rows))

    def select(self, runs: Iterable[str]) -> tuple[Selection, ...]:
        """Return one selection per evaluation: the scores of the given runs on this dataset's items."""
        by_source: dict[Path, list[str]] = {}
        for run in runs:
            by_source.setdefault(self.sources[run].folder, []).append(run)
        through = {"item": self.select_items()} if self.mixed else {}
        return tuple(
            Selection(name_in_project(folder / "scores"), {"run": tuple(names)}, through)
            for folder, names in by_source.items()
        )

    def select_items(self) -> Selection:
        """Return a selection of this dataset's items."""
        folder = next(iter(self.sources.values())).folder.parent
        return Selection(name_in_project(folder / "items"), {"dataset": self.dataset})

    def derive_all(self, measure: str, column: str = "") -> Derivation:
        """Return the derivation of a figure from the scores of all runs of the column."""
        return Derivation(measure, self.select(self.sources), column)


def read_evaluations(
    folder: Path, entry: StreamOverview, settings: Mapping[str, object]
) -> list[ReadEvaluation]:
    """Read the evaluations of an overview. folder: the folder of all streams.

    Raises BadInput if an evaluation is not declared or has not run.
    """
    declared = {
        name: StreamEvaluation.model_validate(given) for name, given in read_nested(settings, SECTION).items()
    }
    names = sorted(declared) if entry.evaluations is None else entry.evaluations
    if not names:
        raise BadInput(SECTION, "contains no evaluation to show in the overview")
    if lost := [name for name in names if name not in declared]:
        there = ", ".join(sorted(declared)) or "none"
        raise BadInput(f"evaluation {lost[0]}", f"is not under {SECTION} (known: {there})")
    return [_read_evaluation(folder, name, declared[name]) for name in names]


def join_columns(evaluations: Sequence[ReadEvaluation]) -> list[StreamColumn]:
    """Return the columns of the given evaluations, sorted by kind of items as in StreamBench."""
    by_stream: dict[str, list[ReadEvaluation]] = {}
    for evaluation in evaluations:
        by_stream.setdefault(evaluation.entry.stream, []).append(evaluation)
    columns = [column for stream, shown in by_stream.items() for column in _join_stream(stream, shown)]
    datasets = [column.dataset for column in columns]
    titled = [
        _name_column(
            column,
            f"{column.dataset} ({column.stream})" if datasets.count(column.dataset) > 1 else column.dataset,
        )
        for column in columns
    ]
    return sorted(
        titled,
        key=lambda titled_column: (
            KINDS.index(titled_column.kind) if titled_column.kind in KINDS else len(KINDS)
        ),
    )


def _name_column(column: StreamColumn, title: str) -> StreamColumn:
    systems = {
        system: [replace(scored, column=title, run=f"{title}: {scored.step.run}") for scored in steps]
        for system, steps in column.runs.systems.items()
    }
    return replace(column, title=title, runs=StreamRuns(systems))


def list_choices(columns: Sequence[StreamColumn]) -> list[tuple[str, MethodChoice]]:
    """Return (group, method) for each method that is not an ablation; non-streaming methods are first.

    In each group, StreamBench's methods come first.
    """
    choices = dict.fromkeys(
        system.choice for column in columns for system in column.runs.select() if column.runs.systems[system]
    )
    order = list(TITLES)

    def rank(pair: tuple[str, MethodChoice]) -> tuple[bool, int, str]:
        group, choice = pair
        known = choice.method in order
        return group != NON_STREAMING, order.index(choice.method) if known else len(order), choice.method

    return sorted(((_name_group(columns, choice), choice) for choice in choices), key=rank)


def list_models(columns: Sequence[StreamColumn]) -> list[str]:
    """Return the distinct models of all columns, in order of first appearance."""
    return list(dict.fromkeys(model for column in columns for model in column.runs.models))


def find_choice(
    columns: Sequence[StreamColumn], choice: MethodChoice, model: str | None = None
) -> list[ScoredStep]:
    """Return the steps of a method in all columns. model: select only runs that use this model alone."""
    return [
        scored
        for column in columns
        for system in column.runs.select(model=model)
        if system.choice == choice and (model is None or not system.shared)
        for scored in column.runs.systems[system]
    ]


def list_unshown(columns: Sequence[StreamColumn]) -> list[str]:
    """Return one sorted line per hidden method, which names the evaluation that is shown instead."""
    lines = set()
    for column in columns:
        # The name of a run ends with its seed; the part before the seed identifies the method and the models.
        shown = {run.rpartition("|")[0]: source.name for run, source in column.sources.items()}
        for evaluation, run in column.unshown:
            method = run.rpartition("|")[0]
            label, _, models = method.partition("|")
            name = f"{TITLES.get(label, label)} ({models.replace('+', ' + ')})"
            lines.add(
                f"{name} of {evaluation} on {column.title} is not shown, because {shown[method]} also has "
                "this run."
            )
    return sorted(lines)


def _name_group(columns: Sequence[StreamColumn], choice: MethodChoice) -> str:
    groups = {column.runs.name_group(choice) for column in columns if choice in column.runs.choices}
    return STREAMING if STREAMING in groups else NON_STREAMING


def _join_stream(stream: str, evaluations: Sequence[ReadEvaluation]) -> list[StreamColumn]:
    owners: dict[StreamSystem, ReadEvaluation] = {}
    systems: dict[StreamSystem, Sequence[ScoredStep]] = {}
    unshown: list[tuple[str, str]] = []
    for evaluation in evaluations:
        for system, steps in evaluation.runs.systems.items():
            if owners.setdefault(system, evaluation) is evaluation:
                systems[system] = steps
            else:
                unshown += [
                    (evaluation.name, run) for run in dict.fromkeys(scored.step.run for scored in steps)
                ]
    datasets = StreamRuns(systems).datasets
    return [
        _make_column(stream, dataset, systems, owners, len(datasets) > 1, tuple(unshown))
        for dataset in datasets
    ]


def _make_column(
    stream: str,
    dataset: str,
    systems: Mapping[StreamSystem, Sequence[ScoredStep]],
    owners: Mapping[StreamSystem, ReadEvaluation],
    mixed: bool,
    unshown: tuple[tuple[str, str], ...],
) -> StreamColumn:
    own = {
        system: [scored for scored in steps if scored.item.dataset == dataset]
        for system, steps in systems.items()
    }
    sources = {scored.step.run: owners[system] for system, steps in own.items() for scored in steps}
    kind = next(scored.item.kind for steps in own.values() for scored in steps)
    return StreamColumn(dataset, dataset, stream, kind, StreamRuns(own), sources, mixed, unshown)


def _read_evaluation(folder: Path, name: str, entry: StreamEvaluation) -> ReadEvaluation:
    own = folder / entry.stream / name
    steps = _read(own / "steps.parquet", StreamStep, name)
    if not steps:
        raise BadInput(own / "steps.parquet", "has no step to show")
    runs = gather_runs(
        _read(own.parent / "items.parquet", StreamItem, name),
        steps,
        _read(own / "scores.parquet", StepScore, name),
        entry,
    )
    told = read_figures(own / "evaluation_figures.json", _Told)
    return ReadEvaluation(name, entry, own, runs, told.warnings)


def _read(path: Path, row: type[Row], evaluation: str) -> list[Row]:
    if not path.is_file():
        hint = f"run benchloom run streambench-evaluation-figures@{evaluation}"
        raise BadInput(path, "does not exist, because the evaluation has not run", hint=hint)
    return list(read_rows(path, row))
