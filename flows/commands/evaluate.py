"""Implement `benchloom evaluate`: run systems on a dataset and judge the answers."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flows
from flows.commands.cli_compare import Alone, print_comparison
from flows.commands.compare import CompareOptions, compare_sides, to_document
from flows.discovery import list_flows
from flows.evaluation import (
    FIGURES,
    EvaluationRun,
    find_evaluation,
    measure,
    prepare,
    prepare_out,
    require_evaluation_needs,
    run_stages,
    write_artifacts,
    write_figures,
)
from flows.lineage.evaluated import write_record
from flows.run.session import open_session
from flows.settings import find_project, get_section, load_params
from tasks.console import CleanConsole
from tasks.errors import BadInput
from tasks.judging.comparison import Comparison
from tasks.lineage.bases import BASES
from tasks.lines import say_line
from tasks.models.calls import Call
from tasks.reports.printed import print_tables
from tasks.reports.replies import describe_replies, describe_served
from tasks.systems.evaluation import EvaluationOptions

if TYPE_CHECKING:
    from flows.run.session import Session

NAMED = 50
"""Maximum number of problems that are printed."""


@dataclass(frozen=True)
class PaidLimits:
    """Limits on the paid calls of an evaluation, over all of its systems."""

    replay: bool = False
    usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Evaluated:
    """A finished evaluation of one system. failed: whether a row failed or was left out."""

    run: EvaluationRun
    figures: Mapping[str, Any]
    calls: Sequence[Call]
    failed: bool


def evaluate_command(
    name: str,
    several: Sequence[EvaluationOptions],
    limits: PaidLimits = PaidLimits(),
    *,
    as_json: bool = False,
) -> int:
    """Run `benchloom evaluate` for each system in sequence; return the exit code.

    `several`: the options of each system; all options are checked before the first system is called. Several
    systems are compared at the end.
    """
    root, place = find_root(name)
    base = place or root
    os.chdir(base)
    params = load_params(root) if place is None else {}
    runs = [prepare(root, name, params, options, place) for options in several]
    for run in runs:
        prepare_out(run.out)
    signal.signal(signal.SIGTERM, stop)
    done = evaluate_all(base, params, runs, limits)
    compared = compare_runs(base, done) if len(done) > 1 else None
    if as_json:
        documents = [evaluated.figures for evaluated in done]
        whole = (
            documents[0] if compared is None else {"systems": documents, "compared": to_document(*compared)}
        )
        print(json.dumps(whole, ensure_ascii=False, allow_nan=False))
    else:
        for evaluated in done:
            declared = evaluated.run.declared
            about = [
                *declared.notes(evaluated.figures),
                *describe_replies(evaluated.calls),
                *describe_served(evaluated.calls),
            ]
            print_tables(declared.printed, evaluated.figures, about)
        if compared is not None:
            print_comparison(CleanConsole(highlight=False), *compared, items=0)
    return 1 if any(evaluated.failed for evaluated in done) else 0


def find_root(flow: str) -> tuple[Path, Path | None]:
    """Return the folder of the code, and the current folder (None inside a project).

    Raises BadInput outside a project if the flow needs a project.
    """
    try:
        return find_project(), None
    except BadInput:
        code = Path(flows.__file__).parents[1]
        if flow in {found.name for found in list_flows()} and not find_evaluation(flow, code).anywhere:
            raise
        return code, Path.cwd()


def evaluate_all(
    root: Path, params: Mapping[str, object], runs: Sequence[EvaluationRun], limits: PaidLimits
) -> list[Evaluated]:
    """Evaluate the systems in sequence with a shared budget. root: the folder with shipped ledgers."""
    # A model that an option names has a separate role, and may have a separate endpoint.
    roles, endpoints = (
        {name: part for run in runs for name, part in (get_section(run.params, section) or {}).items()}
        for section in ("roles", "run.endpoints")
    )
    run_section = {**get_section(params, "run"), "endpoints": endpoints}
    params = {**params, "roles": roles, "run": run_section}
    session = open_session(
        root, params, replay=limits.replay, budget_usd=limits.usd, budget_tokens=limits.tokens
    )
    session.dispatcher.require_needs = partial(require_all_needs, runs)
    try:
        return [evaluate_system(run, session) for run in runs]
    except KeyboardInterrupt:
        say("stopped; all replies so far are in the ledger; run the same command again to continue")
        raise
    finally:
        session.close()


def require_all_needs(runs: Sequence[EvaluationRun]) -> None:
    """Raise BadInput, before the first call, if a requirement of an evaluation is missing."""
    for run in runs:
        require_evaluation_needs(run)


def evaluate_system(run: EvaluationRun, session: Session) -> Evaluated:
    """Run and judge one system, and write the evaluation into its output folder."""
    for line in (*run.own.notes, *cut_lines(run.own.problems)):
        say(line)
    rows, calls = run_stages(run, session)
    write_artifacts(run, rows, calls)
    measured = measure(run, rows)
    figures = write_figures(run, measured, calls)
    write_record(run.out, run.root, run.given, run.flow, run.options, run.own, run.place)
    for line in cut_lines(measured.failures):
        say(line)
    place = name_path(run.out, run.base)
    say(f"written to {place}")
    if first := next(iter(figures[BASES]), ""):
        say(f"to trace a figure: benchloom lineage '{place}/{FIGURES}#{first}'")
    return Evaluated(run, figures, calls, bool(run.own.problems or measured.failures))


def compare_runs(root: Path, done: Sequence[Evaluated]) -> tuple[Comparison, Alone]:
    """Compare the folders of several systems; the sides are labelled with the systems' names."""
    words = [f"run:{evaluated.run.out}" for evaluated in done]
    comparison, alone = compare_sides(words, CompareOptions(), root)
    return replace(comparison, sides=[evaluated.run.options.system for evaluated in done]), alone


def cut_lines(lines: Sequence[str]) -> list[str]:
    """Return the first 50 lines, followed by a line with the number of omitted lines."""
    rest = len(lines) - NAMED
    return [*lines[:NAMED], *([f"and {rest} more: figures.json has all"] if rest > 0 else [])]


def name_path(path: Path, root: Path) -> str:
    """Return a folder's path relative to the project, or its full path outside the project."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def say(line: str) -> None:
    """Print a line to stderr."""
    say_line(f"benchloom: {line}")


def stop(number: int, frame: object) -> None:
    """Handle SIGTERM like Ctrl-C."""
    raise KeyboardInterrupt
