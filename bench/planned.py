"""How near `benchloom plan` comes: `python -m bench.planned`, on the sample's own calls.

- `half`: of each stage that asks, the second half of its calls is hidden, in the order in which they were
  asked, as after a run that was stopped. What is forecast of them, by the first half alone, is compared with
  what they took.
- `entry`: each stage is foreseen by its other entries alone, as for a new database, before its inputs are
  there. The rows that it will go through are those that it really had.

A factor is high / actual, or actual / low, whichever is larger: at most 3 holds the target. Stages with fewer
than ten calls, or other entries with fewer than ten, are left out and counted.
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
    """One forecast against what came. inside: whether the range contains it."""

    drill: str
    stage: str
    what: str
    span: Range
    actual: float

    @property
    def inside(self) -> bool:
        """Whether what came lies in the range."""
        return self.span.low <= self.actual <= self.span.high

    @property
    def factor(self) -> float:
        """How far the worse end of the range is from what came."""
        if not self.span.low:
            return math.inf
        return max(self.span.high / self.actual, self.actual / self.span.low)


class HiddenCalls(AskedAgain):
    """Hides recorded calls, so that a plan counts them as new."""

    hidden: frozenset[str] = frozenset()

    def is_waiting(self, key: str) -> bool:
        """Tell whether a call is hidden."""
        return key in self.hidden


class OtherEntries(Experience):
    """Knows earlier runs of other entries alone; of none, if `nothing`."""

    nothing = False

    def find_own(self, node: Node) -> SeenRun | None:
        """Know nothing of the stage itself."""
        return None

    def list_like(self, node: Node) -> list[SeenRun]:
        """List the runs for other entries."""
        return [] if self.nothing else super().list_like(node)

    def list_previews(self, node: Node) -> list[SeenRun]:
        """Know no previews."""
        return []


def hide_half(
    recorder: Recorder, params: Mapping[str, Any], session: Session, names: Collection[str] = ()
) -> Iterator[Compared]:
    """Forecast the second half of each stage's calls by the first. names: the stages; all, if empty."""
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
    """Forecast the calls of each stage by those of its other entries."""
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
    """Print a line a forecast, and how many hold the target."""
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
