"""Estimate the run time of a plan's stages, from their last runs or from their models' speed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from flows.run.estimates import ENOUGH, NOTHING, WIDEST, Range, widen
from flows.run.needs import find_models
from flows.run.node import Node
from flows.run.outcomes import StageOutcome, load_outcome
from flows.run.record.recorder import Recorder
from flows.run.session import Session
from flows.run.speeds import Speeds
from flows.run.weighing import Weight

EMBEDDED_TOKENS_PER_S = (11.0, 53.0)
"""Lowest and highest rate of the embedded 1.5B model on two cores, in tokens per second.

The model is slowest when it generates a reply, and fastest when it reads a prompt.
"""


class Pace:
    """Estimates the run time of a project's stages."""

    def __init__(
        self, recorder: Recorder, params: Mapping[str, Any], session: Session, speeds: Speeds
    ) -> None:
        self._recorder, self._params, self._session, self._speeds = recorder, params, session, speeds

    def find_last(self, node: Node) -> Range | None:
        """Estimate the seconds of a stage without model calls from its last run.

        Returns None unless the state of the last outcome is `ran`.
        """
        last = self._load(node)
        return widen(last.seconds) if last is not None and last.state == "ran" else None

    def time(self, node: Node, weight: Weight) -> Range | None:
        """Estimate the time of a stage's calls in seconds; return None if no estimate is possible."""
        if weight.calls.high == 0:
            return NOTHING
        if math.isinf(weight.calls.high):
            return None
        likes = [other for other in self._recorder.nodes.values() if other.stage == node.stage]
        outcomes = [last for last in map(self._load, (node, *likes)) if last is not None and last.calls_live]
        enough = next((last for last in outcomes if last.calls_live >= ENOUGH), None)
        if enough is not None:
            return stretch(weight.calls, enough.seconds / enough.calls_live)
        return self._time_models(node, weight) or self._time_few(weight, outcomes)

    def _time_models(self, node: Node, weight: Weight) -> Range | None:
        """Estimate a stage's seconds from its models' speeds; None if too few speeds are known."""
        models = find_models(node, self._params, self._session.roles)
        embedded = bool(models) and all(map(self._session.is_embedded, models))
        speeds = [self._speeds.find(model) for model in models]
        known = [speed for speed in speeds if speed is not None]
        if known and (embedded or len(known) == len(speeds)):  # embedding texts takes negligible time
            spans = []
            for speed in known:
                if speed.prompt_per_s and speed.output_per_s:
                    reading = stretch(weight.prompt_tokens, 1 / speed.prompt_per_s)
                    spans.append(reading + stretch(weight.completion_tokens, 1 / speed.output_per_s))
                else:
                    spans.append(stretch(weight.calls, speed.call_s))
            return Range(min(span.low for span in spans), max(span.high for span in spans), exact=False)
        if embedded:
            slow, quick = EMBEDDED_TOKENS_PER_S
            return Range(
                round(weight.tokens.low / quick, 1), round(weight.tokens.high / slow, 1), exact=False
            )
        return None

    def _time_few(self, weight: Weight, outcomes: list[StageOutcome]) -> Range | None:
        if not outcomes:
            return None
        call_s = outcomes[0].seconds / outcomes[0].calls_live
        return Range(round(weight.calls.low * call_s, 1), round(weight.calls.high * call_s, 1), exact=False)

    def _load(self, node: Node) -> StageOutcome | None:
        return load_outcome(self._recorder.root, node.name)


def stretch(span: Range, seconds: float) -> Range:
    """Convert a range of calls or tokens to seconds; widen narrow ranges to high / low = WIDEST**2.

    `seconds`: the time per call or token.
    """
    low, high = span.low * seconds, span.high * seconds
    if low and high / low <= WIDEST**2:
        estimate = (low * high) ** 0.5
        low, high = estimate / WIDEST, estimate * WIDEST
    return Range(round(low, 1), round(high, 1), exact=False)
