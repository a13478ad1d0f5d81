"""`benchloom evaluate`: run a system of one's own over a dataset and judge it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flows.evaluation import (
    FIGURES,
    find_evaluation,
    measure_rows,
    overlay,
    place_out,
    prepare_out,
    read_own,
    read_system,
    run_stages,
    write_figures,
    write_rows_of,
)
from flows.lineage.evaluated import write_record
from flows.run.session import open_session
from flows.settings import find_project, get_section, load_params
from tasks.lineage.bases import BASES
from tasks.reports.printed import print_tables
from tasks.systems.evaluation import EvaluationOptions, clean

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
    evaluation, params = find_evaluation(name, root), load_params(root)
    options = replace(options, as_of=options.as_of or str(get_section(params, "evaluation.as_of") or ""))
    entry = read_system(params, options)
    own = read_own(name, evaluation, params, options, entry)
    out = place_out(root, options, own.key)
    prepare_out(out)
    for line in (*own.notes, *cut_lines(own.problems)):
        say(line)
    signal.signal(signal.SIGTERM, stop)
    session = open_session(root, params, replay=replay, budget_usd=budget_usd, budget_tokens=budget_tokens)
    try:
        rows, calls = run_stages(root, params, options, own, session)
    except KeyboardInterrupt:
        say("stopped; what was said so far is in the ledger, and the same command goes on from there")
        raise
    finally:
        session.close()
    write_rows_of(out, own, rows, calls)
    measured = measure_rows(evaluation, rows, params, options, own, out)
    figures = write_figures(out, name, options, entry, own, measured)
    write_record(out, root, overlay(params, options, own), name, options, own)
    for line in cut_lines(measured.failures):
        say(line)
    say(f"written to {name_path(out, root)}")
    if first := next(iter(figures[BASES]), ""):
        say(f"a figure's sources: benchloom lineage '{name_path(out, root)}/{FIGURES}#{first}'")
    if as_json:
        print(json.dumps(figures, ensure_ascii=False, allow_nan=False))
    else:
        print_tables(evaluation.printed, figures, evaluation.notes(figures))
    return 1 if own.problems or measured.failures else 0


def cut_lines(lines: Sequence[str]) -> list[str]:
    """Keep so many lines that a reader reads them, and count the others."""
    rest = len(lines) - NAMED
    return [*lines[:NAMED], *([f"and {rest} more: figures.json has all"] if rest > 0 else [])]


def name_path(path: Path, root: Path) -> str:
    """Name a folder as seen from the project."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def say(line: str) -> None:
    """Say a line on stderr."""
    print(f"benchloom: {clean(line)}", file=sys.stderr, flush=True)


def stop(number: int, frame: object) -> None:
    """Take SIGTERM as Ctrl-C."""
    raise KeyboardInterrupt
