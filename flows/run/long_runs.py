"""Warn before a long run on embedded models, and suggest a preview."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from functools import reduce
from operator import add

from flows.run.estimates import NOTHING, Range
from flows.run.model_settings import read_mapping
from flows.run.needs import find_models
from flows.run.planner import find_stale, plan_stages
from flows.run.runner import Run
from flows.run.speed_trial import SpeedTrial
from flows.run.speeds import Speeds
from tasks.models.ask import Role
from tasks.models.stream_board import format_time

LONG_S = 30 * 60
"""Estimated seconds above which a run is reported as long."""
PREVIEWED = 20
"""Number of items in the suggested preview."""


def tell_length(run: Run, names: Sequence[str], targets: Sequence[str]) -> None:
    """Report a run's estimated time on embedded models if it exceeds half an hour.

    `targets`: the targets as the user typed them, for the suggested preview.
    """
    trial, roles = SpeedTrial(run.params), read_mapping(run.params, "roles", Role)
    asking = [node for name in names if (node := run.recorder.nodes[name]).asks]
    if not any(trial.can_try(model) for node in asking for model in find_models(node, run.params, roles)):
        return
    stale = find_stale(run.recorder, names, run.again)
    if not any(stage.node.asks and not stage.restored for stage in stale):
        return
    from flows.run.session import open_session

    session = open_session(run.root, run.params, replay=True, again=run.again)
    try:
        speeds = Speeds(session.dispatcher.ledger, session.identities, trial.measure)
        plans = plan_stages(run.recorder, stale, run.params, session, speeds)
    finally:
        session.close()
    spans = [plan.seconds for plan in plans if plan.seconds is not None and plan.calls.high]
    for line in describe_length(reduce(add, spans, NOTHING), speeds.describe(), targets):
        run.say(line)


def describe_length(span: Range, measured: Sequence[str], targets: Sequence[str]) -> list[str]:
    """Return lines that report a long run and suggest a preview; empty for a run of at most 30 minutes."""
    if span.high <= LONG_S:
        return []
    until = format_time(span.high) if math.isfinite(span.high) else "an unknown time"
    preview = shlex.join(["benchloom", "run", "--limit", str(PREVIEWED), *targets])
    return [
        f"this run may take {format_time(span.low)} to {until} with the model on this machine"
        + (f" ({'; '.join(measured)})" if measured else ""),
        f"a preview of {PREVIEWED} items takes minutes: {preview}; Ctrl-C stops this run",
    ]
