"""`benchloom evaluate`: run a system of one's own over a dataset and judge it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from flows.evaluation import (
    FIGURES,
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
from flows.settings import find_project, load_params
from tasks.lineage.bases import BASES
from tasks.lines import say_line
from tasks.reports.printed import print_tables
from tasks.reports.replies import describe_replies, describe_served
from tasks.systems.evaluation import EvaluationOptions

NAMED = 50


def evaluate_command(
    name: str,
    options: EvaluationOptions,
    *,
    replay: bool = False,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    as_json: bool = False,
) -> int:
    """Carry out `benchloom evaluate`; returns the exit code."""
    root = find_project()
    os.chdir(root)
    params = load_params(root)
    run = prepare(root, name, params, options)
    out = run.out
    prepare_out(out)
    for line in (*run.own.notes, *cut_lines(run.own.problems)):
        say(line)
    signal.signal(signal.SIGTERM, stop)
    session = open_session(root, params, replay=replay, budget_usd=budget_usd, budget_tokens=budget_tokens)
    session.dispatcher.require_needs = partial(require_evaluation_needs, run)
    try:
        rows, calls = run_stages(run, session)
    except KeyboardInterrupt:
        say("stopped; what was said so far is in the ledger, and the same command goes on from there")
        raise
    finally:
        session.close()
    write_artifacts(run, rows, calls)
    measured = measure(run, rows)
    figures = write_figures(run, measured, calls)
    write_record(out, root, run.given, name, run.options, run.own)
    for line in cut_lines(measured.failures):
        say(line)
    say(f"written to {name_path(out, root)}")
    if first := next(iter(figures[BASES]), ""):
        say(f"a figure's sources: benchloom lineage '{name_path(out, root)}/{FIGURES}#{first}'")
    if as_json:
        print(json.dumps(figures, ensure_ascii=False, allow_nan=False))
    else:
        about = [*run.declared.notes(figures), *describe_replies(calls), *describe_served(calls)]
        print_tables(run.declared.printed, figures, about)
    return 1 if run.own.problems or measured.failures else 0


def cut_lines(lines: Sequence[str]) -> list[str]:
    """Keep so many lines that a reader reads them, and count the others."""
    rest = len(lines) - NAMED
    return [*lines[:NAMED], *([f"and {rest} more: figures.json has all"] if rest > 0 else [])]


def name_path(path: Path, root: Path) -> str:
    """Name a folder as seen from the project."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def say(line: str) -> None:
    """Say a line on stderr."""
    say_line(f"benchloom: {line}")


def stop(number: int, frame: object) -> None:
    """Take SIGTERM as Ctrl-C."""
    raise KeyboardInterrupt
