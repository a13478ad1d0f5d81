"""Implement `benchloom plan`: estimate which stages would run and why, their model calls and cost."""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from functools import reduce
from operator import add
from typing import Any

from flows.commands.cli_columns import join_reasons, print_columns, print_presets
from flows.commands.cli_recorder import open_recorder
from flows.presets import list_chosen
from flows.run.estimates import ENOUGH, NOTHING, Range
from flows.run.planner import StagePlan, find_stale, plan_stages
from flows.run.selection import explain_nothing, select_again, select_nodes
from flows.run.session import open_session
from flows.run.speed_trial import SpeedTrial
from flows.run.speeds import Speeds
from flows.settings import find_project, load_params
from tasks.console import CleanConsole
from tasks.errors import BadInput
from tasks.models.stream_board import format_time

HEAD = ("stage", "new calls", "in the ledger", "tokens", "dollars", "why")
MANY = 5
"""Maximum number of entries per stage that are printed line by line if their reasons are equal.

More entries with equal reasons are printed as one line.
"""


def plan_command(targets: Sequence[str], *, as_json: bool, ask_again: Sequence[str] = ()) -> int:
    """Run `benchloom plan`; return the exit code."""
    root = find_project()
    os.chdir(root)
    recorder = open_recorder(root)
    if not recorder.nodes:
        raise BadInput("benchloom plan", explain_nothing())
    params = load_params(root)
    try:
        from flows.sections import check_refused, check_stale

        nodes = select_nodes(recorder.nodes, targets)
        check_refused(root, params, [recorder.nodes[name] for name in nodes])
        again = select_again(recorder.nodes, nodes, ask_again)
        stale = find_stale(recorder, nodes, again)
        if stale:
            check_stale(root, params, [stage.node for stage in stale])
        session = open_session(root, params, replay=True, again=again)
        try:
            speeds = Speeds(session.dispatcher.ledger, session.identities, SpeedTrial(params).measure)
            plans = plan_stages(recorder, stale, params, session, speeds)
        finally:
            session.close()
        chosen = list_chosen(params.written, {recorder.nodes[name].stage.partition(".")[0] for name in nodes})
    finally:
        recorder.close()
    if as_json:
        measured = {"measured": speeds.describe()}
        print(
            json.dumps(
                {**to_document(plans), **measured, "presets": [asdict(preset) for preset in chosen]}, indent=1
            )
        )
    else:
        print_plan(plans, speeds.describe())
        print_presets(chosen)
    return 0


def to_document(plans: Sequence[StagePlan]) -> dict[str, Any]:
    """Convert a plan to the document that `--json` prints: stages, totals and the exact number of calls."""
    timed = [plan.seconds for plan in plans if plan.seconds is not None]
    return {
        "stages": [write_stage(plan) for plan in plans],
        "exact_calls": sum(plan.exact_calls or 0 for plan in plans),
        "recorded": sum(plan.recorded for plan in plans),
        "calls": write_range(total([plan.calls for plan in plans])),
        "tokens": write_range(total([plan.tokens for plan in plans])),
        "usd": write_range(total([plan.usd for plan in plans])),
        "seconds": write_range(total(timed)) if len(timed) == len(plans) else None,
    }


def write_stage(plan: StagePlan) -> dict[str, Any]:
    """Convert one stage's plan to a JSON object."""
    ranges = {name: span for name, span in vars(plan).items() if isinstance(span, Range)}
    return {**asdict(plan), **{name: write_range(span) for name, span in ranges.items()}}


def write_range(span: Range) -> dict[str, Any]:
    """Convert a range to a JSON object. An unknown bound is null, since JSON has no infinity."""
    return {**asdict(span), "high": span.high if math.isfinite(span.high) else None}


def print_plan(plans: Sequence[StagePlan], measured: Sequence[str] = ()) -> None:
    """Print a plan: a table with reasons, the totals, and the measured speed of local models."""
    console = CleanConsole()
    if not plans:
        console.print("Nothing would run: all artifacts are up to date.")
        return
    print_columns(console, [HEAD, *(describe_plans(group) for group in group_plans(plans))])
    document = to_document(plans)
    known = [plan for plan in plans if math.isfinite(plan.calls.high)]
    restored = sum(plan.restored for plan in plans)
    back = f", {restored} would be restored from the run cache" if restored else ""
    calls = total([plan.calls for plan in known])
    console.print(
        f"{len(plans) - restored} stages would run{back}. New calls: {show(calls)}, including exactly "
        f"{document['exact_calls']} first attempts. Recorded calls: {document['recorded']}.",
        soft_wrap=True,
    )
    timed = [plan.seconds for plan in plans if plan.seconds is not None]
    console.print(
        f"Dollars: {show(total([plan.usd for plan in known]), 4)}. Time: {show_time(total(timed))}.",
        soft_wrap=True,
    )
    untimed = [plan for plan in plans if plan.seconds is None]
    for line in measured:
        console.print(line, soft_wrap=True)
    if wide := [plan.stage for plan in plans if plan.unseen and math.isfinite(plan.calls.high)]:
        console.print(
            f"These ranges are wide, because fewer than {ENOUGH} similar calls were recorded: "
            f"{join_reasons(wide)}.",
            soft_wrap=True,
        )
    for what, left in (
        (
            "how many calls these stages make",
            [plan.stage for plan in plans if not math.isfinite(plan.calls.high)],
        ),
        ("how long these stages take", [plan.stage for plan in untimed if not plan.calls.high]),
        ("how long the calls of these stages take", [plan.stage for plan in untimed if plan.calls.high]),
    ):
        if left:
            console.print(f"No run in this project shows {what}: {join_reasons(left)}.", soft_wrap=True)


def show_time(span: Range) -> str:
    """Format a range of seconds."""
    low, high = (format_time(end) for end in (span.low, span.high))
    return ("" if span.exact else "~") + (low if low == high else f"{low} to {high}")


def group_plans(plans: Sequence[StagePlan]) -> list[list[StagePlan]]:
    """Group plans by stage and reasons; a group with at most MANY plans is split into single plans."""
    groups = defaultdict[tuple[str, ...], list[StagePlan]](list)
    for plan in plans:
        stage, _, key = plan.stage.partition("@")
        reasons = (reason.replace(key, "KEY") if key else reason for reason in plan.why)
        groups[stage, str(plan.restored), *reasons].append(plan)
    listed = [[group] if len(group) > MANY else [[plan] for plan in group] for group in groups.values()]
    return [group for part in listed for group in part]


def describe_plans(plans: Sequence[StagePlan]) -> tuple[str, ...]:
    """Return the table cells for one plan, or for a group of plans with the same stage and reasons."""
    first = plans[0]
    stage, _, key = first.stage.partition("@")
    why = ("from the run cache: " if first.restored else "") + join_reasons(first.why)
    return (
        first.stage if len(plans) == 1 else f"{stage}@ for {len(plans)} entries",
        show(total([plan.calls for plan in plans])),
        str(sum(plan.recorded for plan in plans)),
        show(total([plan.tokens for plan in plans])),
        show(total([plan.usd for plan in plans]), 4),
        why if len(plans) == 1 else f"{key}: {why}; the others likewise",
    )


def total(ranges: Sequence[Range]) -> Range:
    """Return the sum of several ranges."""
    return reduce(add, ranges, NOTHING)


def show(span: Range, digits: int = 0) -> str:
    """Format a range: one number if both bounds are equal, with `~` if it is estimated from earlier runs."""
    if math.isinf(span.high):
        return f"at least {span.low:.{digits}f}" if span.low else "not known"
    low, high = f"{span.low:.{digits}f}", f"{span.high:.{digits}f}"
    mark = "" if span.exact else "~"
    return mark + (low if low == high else f"{low} to {high}")
