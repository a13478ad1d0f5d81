"""`benchloom evaluate`: run a system of one's own over a dataset and judge it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flows.evaluation import (
    Wish,
    ask_and_judge,
    describe_wish,
    measure_all,
    prepare_out,
    read_ground,
    write_all,
)
from flows.session import open_session
from flows.settings import find_project, get_section, load_params
from tasks.errors import BadInput
from tasks.grammar.evaluation import list_failures

FLOWS = {
    "grammar": "",
    "ragcheck": "takes no dataset by itself: name yours under `ragcheck.sets` and `ragcheck.correctness` in "
    "params.yaml, then `benchloom run ragcheck` (docs/ragcheck.md)",
}
NAMED = 50
RATES = {
    "accuracy": "accuracy",
    "robustness": "R",
    "retrieval_db_accuracy": "Acc_db",
    "lambda": "lambda",
}


def evaluate_command(
    flow: str,
    wish: Wish,
    *,
    replay: bool = False,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    as_json: bool = False,
) -> int:
    """Carry out `benchloom evaluate`; returns the exit code."""
    if FLOWS.get(flow) is None:
        raise BadInput(f"evaluate {flow}", "is no flow", hint=f"there are {', '.join(FLOWS)}")
    if FLOWS[flow]:
        raise BadInput(f"evaluate {flow}", FLOWS[flow])
    root = find_project()
    os.chdir(root)
    params = load_params(root)
    wish = replace(wish, as_of=wish.as_of or str(get_section(params, "evaluation.as_of") or ""))
    ground = read_ground(root, params, wish)
    prepare_out(ground.out)
    for line in (*ground.notes, *cut_lines(ground.problems)):
        say(line)
    signal.signal(signal.SIGTERM, stop)
    session = open_session(root, params, replay=replay, budget_usd=budget_usd, budget_tokens=budget_tokens)
    try:
        evaluated, calls = asyncio.run(ask_and_judge(ground, params, wish, session))
    except KeyboardInterrupt:
        say("stopped; what was said so far is in the ledger, and the same command goes on from there")
        raise
    finally:
        session.close()
    failures = list_failures(evaluated)
    figures = {
        **describe_wish(flow, wish, ground),
        **measure_all(evaluated, params),
        "left_out": list(ground.problems),
        "failures": failures,
    }
    write_all(ground.out, evaluated, calls, figures)
    for line in cut_lines(failures):
        say(line)
    say(f"written to {name_path(ground.out, root)}")
    if as_json:
        print(json.dumps(figures, ensure_ascii=False, allow_nan=False))
    else:
        print_figures(figures)
    return 1 if ground.problems or failures else 0


def print_figures(figures: Mapping[str, Any]) -> None:
    """Print warnings, counts and the table: rates x100 with their 95% intervals."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    console = Console()
    for warning in figures["warnings"]:
        console.print(f"[bold]WARNING[/bold] {escape(clean(warning))}", highlight=False)
    counts = figures["counts"]
    states = ", ".join(f"{counts[state]} {state}" for state in ("scored", "failed", "unscored"))
    console.print(
        escape(
            f"{figures['system']} on {clean(figures['dataset'])}: {counts['rows']} questions of "
            f"{counts['groups']} groups, {states}"
        ),
        highlight=False,
    )
    closed = counts["grounded"] > 0
    modes = [mode for mode in figures["rates"] if closed or mode != "closed"]
    table = Table("criterion", "scored", "figure", *(Column(mode, no_wrap=True) for mode in modes))
    for name, part in figures["rates"]["open"].items():
        head = [escape(clean(name)), f"{part['n_scored']}/{part['n']}"]
        for rate, label in RATES.items():
            table.add_row(*head, label, *(spell(figures["rates"][mode][name], rate) for mode in modes))
            head = ["", ""]
    console.print(table)
    if not closed:
        console.print("True or retrieved documents are not known: there is no closed mode.", highlight=False)
    for mode, tests in (figures["hypothesis"] or {}).items():
        if contrast := tests["rates"].get("accuracy"):
            console.print(
                f"{mode}: accuracy, {describe_contrast(figures['criteria'], contrast)}", highlight=False
            )


def describe_contrast(criteria: Sequence[str], contrast: Mapping[str, Any]) -> str:
    """Write A minus B with its interval."""
    from rich.markup import escape

    a, b = (escape(clean(each)) for each in criteria)
    if contrast["difference"] is None or contrast["low"] is None:
        return f"{a} - {b}: not told"
    spelt = [f"{100 * contrast[name]:+.1f}" for name in ("difference", "low", "high")]
    return f"{a} - {b}: {spelt[0]} ({spelt[1]} to {spelt[2]})"


def spell(part: Mapping[str, Any], rate: str) -> str:
    """Write a rate x100 with its interval."""
    value, interval = part[rate], part["ci"][rate]
    if value is None:
        return "-"
    beside = "" if interval is None else f" ({100 * interval[0]:.1f}, {100 * interval[1]:.1f})"
    return f"{100 * value:.1f}{beside}"


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


def clean(text: str) -> str:
    """Take out what moves a terminal's cursor: names and problems are not ours."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def stop(number: int, frame: object) -> None:
    """Take SIGTERM as Ctrl-C."""
    raise KeyboardInterrupt
