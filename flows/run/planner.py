"""What a run would do and cost, found out without touching anything.

Where all of a stage's inputs are at hand, its function is run with an `ask` that only counts, and
the calls it would make first are exact. Where they are not, there is a range from what was seen
(`flows.run.foreseeing`). A stage that DVC's run cache knows with these inputs would not run, and what follows
it is planned with the outputs it had.
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
    """What one stage would do. calls: new ones; recorded: calls that a ledger answers.

    restored: its outputs would come back from DVC's run cache, and it would not run.
    """

    stage: str
    why: tuple[str, ...]
    exact_calls: int | None = None
    """First attempts that no ledger answers; None where the inputs are not at hand."""
    recorded: int = 0
    calls: Range = NOTHING
    tokens: Range = NOTHING
    usd: Range = NOTHING
    seconds: Range | None = None
    """None where no earlier run tells how long a call takes."""
    restored: bool = False
    unseen: tuple[str, ...] = ()
    """Kinds of calls of which too few were seen for a narrow range: role and prompt."""


@dataclass(frozen=True)
class StaleStage:
    """A stage that a run would run or restore. at_hand: whether all that it reads is there already."""

    node: Node
    why: tuple[str, ...]
    restored: bool = False
    at_hand: bool = False


def find_stale(recorder: Recorder, names: Sequence[str], again: Collection[str] = ()) -> list[StaleStage]:
    """Find the stages that a run of `names` (in order, with their upstream) would run or restore.

    again: those that run in any case, since they ask again.
    """
    found: dict[str, StaleStage] = {}
    for name in names:
        node = recorder.nodes[name]
        stale = [upstream for upstream in node.upstream if upstream in found]
        known = name in recorder.graph.plain  # of others DVC says what they are, from what lies there now
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
        # Of what the run cache would bring back, the bytes are not at hand.
        found[name] = StaleStage(node, why, restored=outs is not None, at_hand=not stale)
    return list(found.values())


def plan_stages(
    recorder: Recorder,
    stale: Sequence[StaleStage],
    params: Mapping[str, Any],
    session: Session,
    speeds: Speeds | None = None,
) -> list[StagePlan]:
    """Plan stages that a run would run or restore. speeds: of the models; by default of the ledger alone."""
    planner = Planner(
        recorder, params, session, speeds or Speeds(session.dispatcher.ledger, session.identities)
    )
    return [planner.plan(stage) for stage in stale]


class Planner:
    """Plans stages in the order of the graph: what one asks and makes tells what follows it."""

    def __init__(
        self, recorder: Recorder, params: Mapping[str, Any], session: Session, speeds: Speeds
    ) -> None:
        self._recorder, self._params, self._session = recorder, params, session
        experience = Experience(recorder, params)
        self._counter = StageCounter(recorder.root, params, session, experience)
        self._foresight = Foresight(self._counter, params)
        self._pace = Pace(recorder, params, session, speeds)

    def plan(self, stage: StaleStage) -> StagePlan:
        """Plan one stage; those that it stands on must have been planned before."""
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
