"""What a run would do and cost, found out without touching anything.

Where all of a stage's inputs are at hand, its function is run with an `ask` that only counts, and
the calls it would make first are exact. Where they are not, there is a range from the last run. A stage that
DVC's run cache knows with these inputs would not run, and what follows it is planned with the outputs it had.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from flows.discovery import find_flow_of
from flows.run.binding import Bound, Places, bind
from flows.run.failures import describe_error
from flows.run.needs import find_models
from flows.run.node import Node
from flows.run.outcomes import load_outcome
from flows.run.record.recorder import Recorder
from flows.run.session import Session
from flows.stage import Usual
from tasks.errors import BenchloomError, LockHeld, StageFailed
from tasks.models.planning import CallPlan

ASKED_AGAIN = "recorded calls are asked again"
GROWTH = 2.0
"""Inputs that are not there yet may ask for so many times the last run's calls."""


EMBEDDED_TOKENS_PER_S = (11.0, 53.0)
"""Slowest writing and fastest reading of the 1.5B model on two cores (docs/evidence/models.md)."""


@dataclass(frozen=True)
class Range:
    """From at least to at most; `exact` where the inputs are at hand and only re-asking can add.

    high is infinite where nothing tells how much it may be.
    """

    low: float = 0
    high: float = 0
    exact: bool = True

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high, self.exact and other.exact)


NOTHING = Range()
UNKNOWN = Range(0, math.inf, exact=False)


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
    recorder: Recorder, stale: Sequence[StaleStage], params: Mapping[str, Any], session: Session
) -> list[StagePlan]:
    """Plan stages that a run would run or restore."""
    usual = UsualCalls(recorder)
    return [_plan_stage(recorder, stage, usual, params, session) for stage in stale]


def _plan_stage(
    recorder: Recorder, stage: StaleStage, usual: UsualCalls, params: Mapping[str, Any], session: Session
) -> StagePlan:
    if stage.restored:
        return StagePlan(stage.node.name, stage.why, exact_calls=0, seconds=NOTHING, restored=True)
    if stage.at_hand:
        return _plan_at_hand(recorder, stage.node, stage.why, params, session)
    return _plan_from_last(usual, stage.node, stage.why, params, session)


def _plan_at_hand(
    recorder: Recorder, node: Node, why: tuple[str, ...], params: Mapping[str, Any], session: Session
) -> StagePlan:
    """Count what a stage whose inputs are all there would ask."""
    root = recorder.root
    if not _asks(node):
        return StagePlan(node.name, why, exact_calls=0, seconds=_last_seconds(root, node))
    with tempfile.TemporaryDirectory() as nowhere:
        bound = bind(node, params, Places(root, Path(nowhere)), session.make_plan)
        try:
            bound.call()
            unknown = 0.0
        except StageFailed:  # it has nothing to go on with until it is answered: nobody knows what more
            unknown = math.inf
        except BenchloomError:
            raise
        except Exception as error:  # whatever its code raises, a user's own methods and environments too
            raise StageFailed(f"{node.name} cannot be planned: {describe_error(error)}") from error
        plan: CallPlan = bound.ask.count()
        retries = _retry_factor(bound, session)
    low = plan.new_calls if plan.is_exact else plan.sure_calls
    exact = plan.is_exact and not unknown
    calls = Range(low, plan.new_calls * retries + unknown, exact)
    per_call = plan.prompt_tokens / plan.new_calls if plan.new_calls else 0
    most = plan.max_completion_tokens * retries
    tokens = Range(round(low * per_call), round(plan.prompt_tokens * retries + most) + unknown, exact)
    return StagePlan(
        node.name,
        why,
        exact_calls=plan.new_calls if exact else None,
        recorded=plan.ledger_calls,
        calls=calls,
        tokens=tokens,
        usd=Range(
            plan.min_usd * low / max(plan.new_calls, 1),
            plan.max_usd * retries + (unknown if plan.max_usd else 0),
            exact,
        ),
        seconds=_scale_seconds(recorder, node, params, session, calls, tokens),
    )


def _plan_from_last(
    like: UsualCalls, node: Node, why: tuple[str, ...], params: Mapping[str, Any], session: Session
) -> StagePlan:
    """Give a range for a stage whose inputs another will only make: by its last calls, or a like stage's."""
    recorder, root = like.recorder, like.recorder.root
    if not _asks(node):
        return StagePlan(node.name, why, exact_calls=0, seconds=_last_seconds(root, node))
    price = session.dispatcher.budget.price
    last = _read_last_calls(root, node)
    if last is not None:
        calls = _grow(len(last))
        tokens = _grow(sum(call["prompt_tokens"] + call["completion_tokens"] for call in last))
        paid = (price(call["model"], call["prompt_tokens"], call["completion_tokens"]).usd for call in last)
        return StagePlan(
            node.name, why, calls=calls, tokens=tokens, usd=_grow(sum(paid)),
            seconds=_scale_seconds(recorder, node, params, session, calls, tokens),
        )  # fmt: skip
    usual = like.find(node.stage)
    if usual is None:
        return StagePlan(node.name, why, calls=UNKNOWN, tokens=UNKNOWN, usd=UNKNOWN)
    calls = Range(usual.calls[0] / GROWTH, usual.calls[1] * GROWTH, exact=False)
    each = [
        price(model, usual.prompt_tokens, usual.completion_tokens).usd
        for model in find_models(node, params, session.roles)
    ] or [0.0]
    tokens = _times(calls, usual.prompt_tokens + usual.completion_tokens)
    usd = Range(calls.low * min(each), calls.high * max(each), exact=False)
    return StagePlan(
        node.name, why, calls=calls, tokens=tokens, usd=usd,
        seconds=_scale_seconds(recorder, node, params, session, calls, tokens),
    )  # fmt: skip


class UsualCalls:
    """What stages usually ask, looked up once for all entries of one."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._found: dict[str, Usual | None] = {}

    def find(self, stage: str) -> Usual | None:
        """Find what a stage usually asks: as runs of it did here, else as its flow declares."""
        if stage not in self._found:
            self._found[stage] = self._look_up(stage)
        return self._found[stage]

    def _look_up(self, stage: str) -> Usual | None:
        here = [
            calls
            for node in self.recorder.nodes.values()
            if node.stage == stage and (calls := _read_last_calls(self.recorder.root, node)) is not None
        ]
        counts, everything = [len(calls) for calls in here], [call for calls in here for call in calls]
        if everything:
            prompt, completion = (
                sum(call[name] for call in everything) / len(everything)
                for name in ("prompt_tokens", "completion_tokens")
            )
            return Usual((min(counts), max(counts)), round(prompt), round(completion))
        flow = find_flow_of(stage)
        return flow.usual.get(stage) if flow is not None else None


def _times(span: Range, figure: float) -> Range:
    return Range(span.low * figure, span.high * figure, span.exact)


def _grow(figure: float) -> Range:
    return Range(0, figure * GROWTH, exact=False)


def _asks(node: Node) -> bool:
    return any(out.endswith(".calls.parquet") for out in node.outs)


def _retry_factor(bound: Bound, session: Session) -> int:
    """How often an answer may be asked at most: by the most patient role of the stage's parameters."""
    named = [key.removeprefix("roles.") for key in bound.node.params if key.startswith("roles.")]
    roles = [session.roles[name] for name in named if name in session.roles] or list(session.roles.values())
    return max((role.attempts for role in roles), default=1)


def _read_last_calls(root: Path, node: Node) -> list[dict[str, Any]] | None:
    """Read model and tokens of the calls that a stage's artifact was made by; None where there is none."""
    for out in node.outs:
        if out.endswith(".calls.parquet") and (root / out).is_file():
            columns = ["model", "prompt_tokens", "completion_tokens"]
            rows: list[dict[str, Any]] = pq.read_table(root / out, columns=columns).to_pylist()
            return rows
    return None


def _last_seconds(root: Path, node: Node) -> Range | None:
    last = load_outcome(root, node.name)
    return Range(0, last.seconds, exact=False) if last is not None and last.state == "ran" else None


def _scale_seconds(
    recorder: Recorder,
    node: Node,
    params: Mapping[str, Any],
    session: Session,
    calls: Range,
    tokens: Range,
) -> Range | None:
    """Estimate the time of calls: by the stage's last run, else by the embedded models' speed."""
    last = load_outcome(recorder.root, node.name)
    if last is not None and last.calls_live:
        each = last.seconds / last.calls_live
        return Range(round(calls.low * each, 1), round(calls.high * each, 1), exact=False)
    if calls.high == 0:
        return NOTHING
    models = find_models(node, params, session.roles)
    if models and all(map(session.is_embedded, models)) and math.isfinite(tokens.high):
        slow, quick = EMBEDDED_TOKENS_PER_S
        return Range(round(tokens.low / quick, 1), round(tokens.high / slow, 1), exact=False)
    return None
