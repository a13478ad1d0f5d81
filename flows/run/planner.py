"""Estimate the stages, calls and cost of a run, without changing anything.

If all inputs of a stage exist, the stage's function runs with an `ask` object that only counts calls. The
number of first attempts is then exact. Otherwise the calls are estimated as a range from earlier calls
(`flows.run.foreseeing`). If DVC's run cache contains a stage's result for the same inputs, the stage would
not run. Downstream stages are then planned with the cached outputs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows.run.counting import Counted, StageCounter
from flows.run.estimates import NOTHING, Range
from flows.run.experience import Experience
from flows.run.foreseeing import Foresight
from flows.run.node import Node
from flows.run.pace import Pace
from flows.run.record.recorder import Recorder
from flows.run.session import Session
from flows.run.speeds import Speeds
from flows.run.switches import is_off
from tasks.errors import LockHeld

ASKED_AGAIN = "recorded calls are repeated"


@dataclass(frozen=True)
class StagePlan:
    """The plan of one stage.

    `calls`: estimated number of new calls. `recorded`: number of calls that a ledger answers. `restored`:
    whether the outputs would be restored from DVC's run cache, so the stage would not run.
    """

    stage: str
    why: tuple[str, ...]
    exact_calls: int | None = None
    """Number of first attempts that no ledger answers; None if an input does not exist."""
    recorded: int = 0
    calls: Range = NOTHING
    tokens: Range = NOTHING
    usd: Range = NOTHING
    seconds: Range | None = None
    """Estimated seconds; None if the time per call is unknown."""
    restored: bool = False
    unseen: tuple[str, ...] = ()
    """Kinds of calls (role and prompt) with too few earlier calls for a narrow range."""


@dataclass(frozen=True)
class StaleStage:
    """A stage that a run would execute or restore. `at_hand`: whether all of the stage's inputs exist."""

    node: Node
    why: tuple[str, ...]
    restored: bool = False
    at_hand: bool = False


def find_stale(recorder: Recorder, names: Sequence[str], again: Collection[str] = ()) -> list[StaleStage]:
    """Return the stages that a run would execute or restore.

    `names`: all stages of the run in topological order, including upstream stages. `again`: stages that
    always run, to repeat their calls.
    """
    found: dict[str, StaleStage] = {}
    for name in names:
        node = recorder.nodes[name]
        stale = [upstream for upstream in node.upstream if upstream in found]
        known = name in recorder.graph.plain  # DVC determines the state of other stages from existing files
        waiting = [upstream for upstream in stale if not (known and found[upstream].restored)]
        if waiting:
            why = tuple(f"after {upstream}" for upstream in waiting)
            found[name] = StaleStage(node, (*why, ASKED_AGAIN) if name in again else why)
            continue
        try:
            why = tuple(recorder.explain(name, patience_s=0))
        except LockHeld as error:
            found[name] = StaleStage(node, (str(error),))
            continue
        if name in again:
            why = (*why, ASKED_AGAIN)
        if not why:
            continue
        outs = recorder.find_restorable(name) if name not in again else None
        if outs is not None:
            recorder.hashes.assumed |= outs
        # The files that the run cache would restore do not exist yet.
        found[name] = StaleStage(node, why, restored=outs is not None, at_hand=not stale)
    return list(found.values())


def plan_stages(
    recorder: Recorder,
    stale: Sequence[StaleStage],
    params: Mapping[str, Any],
    session: Session,
    speeds: Speeds | None = None,
) -> list[StagePlan]:
    """Return the plan of each stale stage. `speeds`: the models' speeds; None uses the ledger's calls."""
    planner = Planner(
        recorder, params, session, speeds or Speeds(session.dispatcher.ledger, session.identities)
    )
    return [planner.plan(stage) for stage in stale]


class Planner:
    """Plans stages in the order of the graph; each result is used for the downstream stages."""

    def __init__(
        self, recorder: Recorder, params: Mapping[str, Any], session: Session, speeds: Speeds
    ) -> None:
        self._recorder, self._params, self._session = recorder, params, session
        experience = Experience(recorder, params)
        self._counter = StageCounter(recorder.root, params, session, experience)
        self._foresight = Foresight(self._counter, params)
        self._pace = Pace(recorder, params, session, speeds)

    def plan(self, stage: StaleStage) -> StagePlan:
        """Return the plan of one stage; its upstream stages must already be planned."""
        node = stage.node
        if stage.restored:
            return StagePlan(node.name, stage.why, exact_calls=0, seconds=NOTHING, restored=True)
        if not node.asks or is_off(node, self._params):
            self._foresight.note(node, 0, 0)
            return StagePlan(node.name, stage.why, exact_calls=0, seconds=self._pace.find_last(node))
        if stage.at_hand:
            counted = self._counter.count(node)
        else:
            counted = Counted(0, None, self._foresight.foresee(node))
        weight = counted.weight
        self._foresight.note(node, counted.new, counted.recorded)
        return StagePlan(
            node.name,
            stage.why,
            exact_calls=counted.exact,
            recorded=counted.recorded,
            calls=weight.calls,
            tokens=weight.tokens,
            usd=weight.usd,
            seconds=self._pace.time(node, weight),
            unseen=tuple(" ".join(filter(None, kind)) for kind in weight.unseen),
        )
