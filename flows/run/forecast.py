"""Estimate the number of remaining model calls of a run, from the last runs of its stages.

While a stage runs, only its current round of calls is known. The total number of the stage's calls is
estimated from its last run, from other entries, or from the flow's declaration.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flows.discovery import find_flow_of
from flows.run.node import Node
from flows.run.outcomes import load_outcome
from tasks.errors import BenchloomError

if TYPE_CHECKING:
    from flows.run.record.recorder import Recorder
    from flows.run.runner import Run


class Forecast:
    """Estimates the remaining calls of a run.

    Create the forecast before any stage of the run ends.
    """

    def __init__(self, run: Run, names: Sequence[str]) -> None:
        nodes = run.recorder.nodes
        self._run, self._names = run, list(names)
        # Read the last outcomes now, because a stage's outcome is replaced when the stage ends.
        self._expected = {name: expect_calls(run.recorder, nodes[name]) for name in names if nodes[name].asks}
        self._ahead: list[str] | None = None
        self._mutex = threading.Lock()

    def count_to_come(self, waiting: int) -> int | None:
        """Estimate the number of calls that have not begun; None if a remaining stage cannot be estimated.

        `waiting`: number of calls that have begun and have no answer yet.
        """
        with self._mutex:
            if self._ahead is None:
                self._ahead = list_ahead(self._run, self._names)
        left = 0
        for name in self._ahead:
            if name in self._run.outcomes or name not in self._expected:
                continue
            expected, ask = self._expected[name], self._run.asks.get(name)
            if expected is None:
                return None
            left += max(0, expected - (ask.answered if ask is not None else 0))
        return max(0, left - waiting)


def list_ahead(run: Run, names: Sequence[str]) -> list[str]:
    """List the unfinished stages that will run: stale stages, and stages downstream of stale stages."""
    ahead = dict[str, None]()
    for name in names:
        if name in run.outcomes:
            continue
        stands = any(upstream in ahead for upstream in run.recorder.nodes[name].upstream)
        if stands or name in run.asks or name in run.again or is_stale(run.recorder, name):
            ahead[name] = None
    return list(ahead)


def is_stale(recorder: Recorder, name: str) -> bool:
    """Return whether a stage is stale, without waiting for locks; True if the check raises BenchloomError."""
    try:
        return bool(recorder.explain(name, patience_s=0))
    except BenchloomError:
        return True


def expect_calls(recorder: Recorder, node: Node) -> int | None:
    """Estimate the number of a stage's calls; return None if no estimate is possible.

    The estimate is the first available value: the calls of the stage's last outcome, the mean over other
    entries, or the flow's declaration.
    """
    root = recorder.root
    if (last := load_outcome(root, node.name)) is not None and last.calls:
        return last.calls
    like = [
        other for other in recorder.nodes.values() if other.stage == node.stage and other.name != node.name
    ]
    outcomes = [outcome for other in like if (outcome := load_outcome(root, other.name)) is not None]
    if counts := [outcome.calls for outcome in outcomes if outcome.calls]:
        return round(sum(counts) / len(counts))
    flow = find_flow_of(node.stage)
    usual = flow.usual.get(node.stage) if flow is not None else None
    return round(sum(usual.calls) / 2) if usual is not None else None
