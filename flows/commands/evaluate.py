"""`benchloom evaluate`: run a system of one's own over a dataset and judge it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flows.evaluation import Asks, Flow, Wish, clean, describe_wish, prepare_out, write_all
from flows.run.session import open_session
from flows.settings import find_project, get_section, load_params
from tasks.errors import BadInput

FLOWS = ("grammar", "ragcheck")
NAMED = 50


def evaluate_command(
    name: str,
    wish: Wish,
    *,
    replay: bool = False,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    as_json: bool = False,
) -> int:
    """Carry out `benchloom evaluate`; returns the exit code."""
    flow = find_flow(name)
    root = find_project()
    os.chdir(root)
    params = load_params(root)
    wish = replace(wish, as_of=wish.as_of or str(get_section(params, "evaluation.as_of") or ""))
    ground = flow.read_ground(root, params, wish)
    prepare_out(ground.out)
    for line in (*ground.notes, *cut_lines(ground.problems)):
        say(line)
    signal.signal(signal.SIGTERM, stop)
    session = open_session(root, params, replay=replay, budget_usd=budget_usd, budget_tokens=budget_tokens)
    asks = Asks(session, wish.as_of)
    try:
        result = asyncio.run(flow.evaluate(ground, params, wish, asks))
    except KeyboardInterrupt:
        say("stopped; what was said so far is in the ledger, and the same command goes on from there")
        raise
    finally:
        session.close()
    figures = {
        **describe_wish(name, wish, ground),
        **result.figures,
        "left_out": list(ground.problems),
        "failures": list(result.failures),
    }
    write_all(ground.out, result, asks.list_calls(), figures)
    for line in cut_lines(result.failures):
        say(line)
    say(f"written to {name_path(ground.out, root)}")
    if as_json:
        print(json.dumps(figures, ensure_ascii=False, allow_nan=False))
    else:
        flow.print_figures(figures)
    return 1 if ground.problems or result.failures else 0


def find_flow(name: str) -> Flow:
    """Import the flow by whose rules is judged, and no other. Raises BadInput."""
    if name == "grammar":
        from flows import evaluation_grammar

        return evaluation_grammar
    if name == "ragcheck":
        from flows import evaluation_ragcheck

        return evaluation_ragcheck
    raise BadInput(f"evaluate {name}", "is no flow", hint=f"there are {', '.join(FLOWS)}")


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
