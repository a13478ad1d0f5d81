"""Measure the accuracy of `benchloom plan` on the sample's calls: `python -m bench.planned`.

- `half`: for each stage that calls models, the second half of its calls is hidden, as after a stopped run.
  The forecast from the first half is compared with the hidden calls.
- `entry`: the calls of each stage are forecast only from other entries, as for a new database whose inputs do
  not exist. The number of input rows is the actual number.

A factor is the larger of high / actual and actual / low; the target is at most 3. Stages with fewer than ten
calls, or with fewer than ten calls of other entries, are omitted and counted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.run.counting import StageCounter
from flows.run.estimates import ENOUGH, Range
from flows.run.experience import Experience, SeenRun
from flows.run.foreseeing import Foresight
from flows.run.node import Node
from flows.run.record.recorder import Recorder
from flows.run.session import Session, open_session
from flows.settings import load_params
from tasks.models.recording.asked_again import AskedAgain

LIMIT = 3.0


@dataclass(frozen=True)
class Compared:
    """A forecast and the actual value."""

    drill: str
    stage: str
    what: str
    span: Range
    actual: float

    @property
    def inside(self) -> bool:
        """Whether the range contains the actual value."""
        return self.span.low <= self.actual <= self.span.high

    @property
    def factor(self) -> float:
        """The larger factor between the actual value and a bound of the range."""
        if not self.span.low:
            return math.inf
        return max(self.span.high / self.actual, self.actual / self.span.low)


class HiddenCalls(AskedAgain):
    """Hides recorded calls, so that a plan counts them as new."""

    hidden: frozenset[str] = frozenset()

    def is_waiting(self, key: str) -> bool:
        """Return whether a call is hidden."""
        return key in self.hidden


class OtherEntries(Experience):
    """Earlier runs of other entries only; no runs at all if `nothing` is set."""

    nothing = False

    def find_own(self, node: Node) -> SeenRun | None:
        """Return None: the stage's own runs are hidden."""
        return None

    def list_like(self, node: Node) -> list[SeenRun]:
        """List the runs of a stage for other entries."""
        return [] if self.nothing else super().list_like(node)

    def list_previews(self, node: Node) -> list[SeenRun]:
        """Return an empty list: previews are hidden."""
        return []


def hide_half(
    recorder: Recorder, params: Mapping[str, Any], session: Session, names: Collection[str] = ()
) -> Iterator[Compared]:
    """Forecast the second half of each stage's calls from the first half. names: stages; empty: all."""
    experience = OtherEntries(recorder, params)
    experience.nothing = True
    counter = StageCounter(recorder.root, params, session, experience)
    hidden = HiddenCalls(session.dispatcher.ledger, str(recorder.root))
    session.dispatcher.again = hidden
    for node in recorder.nodes.values():
        hidden.hidden = frozenset()
        if not node.asks or (names and node.name not in names):
            continue
        known = counter.read_calls(node).known
        if len(known) < 2 * ENOUGH:
            continue
        rest = known[len(known) // 2 :]
        hidden.hidden = frozenset(call.key for call in rest)
        counted = counter.count(node)
        tokens = sum(call.entry.prompt_tokens + call.entry.completion_tokens for call in rest if call.entry)
        yield Compared("half", node.name, "calls", counted.weight.calls, len(rest))
        if tokens:
            yield Compared("half", node.name, "tokens", counted.weight.tokens, tokens)


def leave_out(recorder: Recorder, params: Mapping[str, Any], session: Session) -> Iterator[Compared]:
    """Forecast the calls of each stage from the calls of its other entries."""
    whole, others = Experience(recorder, params), OtherEntries(recorder, params)
    foresight = Foresight(StageCounter(recorder.root, params, session, others), params)
    for node in recorder.nodes.values():
        own = whole.find_own(node) if node.asks else None
        if own is None or len(own.calls) < ENOUGH:
            continue
        if sum(len(run.calls) for run in others.list_like(node)) < ENOUGH:
            continue
        weight = foresight.foresee(node)
        tokens = sum(call.prompt_tokens + call.completion_tokens for call in own.calls)
        yield Compared("entry", node.name, "calls", weight.calls, len(own.calls))
        yield Compared("entry", node.name, "tokens", weight.tokens, tokens)


def main() -> None:
    """Print one line per forecast, and the number of forecasts that meet the target."""
    root = Path.cwd()
    params, recorder = load_params(root), Recorder(root)
    session = open_session(root, params, replay=True)
    try:
        rows = [*hide_half(recorder, params, session), *leave_out(recorder, params, session)]
    finally:
        session.close()
        recorder.close()
    for row in rows:
        print(
            f"{row.drill:<6} {row.stage:<40} {row.what:<7} {row.span.low:>9,.0f} to {row.span.high:>9,.0f} "
            f"came {row.actual:>9,.0f}  factor {row.factor:5.2f}{'' if row.inside else '  OUTSIDE'}"
        )
    good = [row for row in rows if row.inside and row.factor <= LIMIT]
    print(f"{len(good)} of {len(rows)} within a factor of {LIMIT:.0f}")


if __name__ == "__main__":
    main()
