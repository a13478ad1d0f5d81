"""Says before a run on this machine's own models that it will take long, and offers its preview."""

from __future__ import annotations

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
PREVIEWED = 20


def tell_length(run: Run, names: Sequence[str], targets: Sequence[str]) -> None:
    """Say how long a run on embedded models takes, where that is over half an hour. targets: as typed."""
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
    """Write what to expect of a long run, and what to do instead; nothing about a short one."""
    if span.middle <= LONG_S:
        return []
    preview = shlex.join(["benchloom", "run", "--limit", str(PREVIEWED), *targets])
    return [
        f"this run takes about {format_time(span.low)} to {format_time(span.high)} with the local model"
        + (f" ({'; '.join(measured)})" if measured else ""),
        f"a preview of {PREVIEWED} items takes minutes: {preview}; Ctrl-C stops this run",
    ]
