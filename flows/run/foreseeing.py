"""Estimate the calls of stages whose inputs do not exist yet, from earlier runs and expected rows.

The number of calls depends on the number of rows. The number of rows is propagated from stage to stage, using
the ratio of output to input rows in earlier runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, pstdev
from typing import Any

from flows.discovery import find_flow_of
from flows.run.counting import Counted, StageCounter
from flows.run.estimates import ENOUGH, GROWTH, UNKNOWN, WIDEST, Range, widen, widen_freely
from flows.run.experience import Experience, SeenCall, SeenRun, count_rows
from flows.run.needs import find_models
from flows.run.node import Node
from flows.run.weighing import Weight
from tasks.errors import BenchloomError


class Foresight:
    """Estimates the calls and rows of the stages of a plan, in the order of the graph."""

    def __init__(self, counter: StageCounter, params: Mapping[str, Any]) -> None:
        self.counter, self.params, self.session = counter, params, counter.session
        self.experience: Experience = counter.experience
        self._rows: dict[str, float] = {}
        """Artifact -> expected number of rows."""
        self._shares: dict[str, float] = {}
        """Stage -> fraction of the stage's calls that no ledger answers.

        A stage without calls gets the largest fraction among its upstream stages.
        """

    def foresee(self, node: Node) -> Weight:
        """Estimate the calls of a stage whose inputs do not exist or will change."""
        if self.find_rows_in(node) == 0:
            return Weight()
        own = self.experience.find_own(node)
        if own is not None:
            return self._foresee_again(node, own)
        likes, previews = self.experience.list_like(node), self.experience.list_previews(node)
        calls = [call for run in (*likes, *previews) for call in run.calls]
        runs = likes if likes or self.experience.is_scaled(node) else previews
        if any(run.calls or run.rows_in for run in runs):
            return self._weigh(node, self._span_like(node, runs), calls)
        usual = self._foresee_usual(node)
        if not calls or not math.isfinite(usual.calls.high):
            return usual
        return replace(self._weigh(node, usual.calls, calls), unseen=usual.unseen)

    def note(self, node: Node, new: float, recorded: float) -> None:
        """Record a stage's estimated calls: derive its expected rows and its fraction of new calls.

        `new` is infinite if the number of calls is unknown; the rows are then derived from the input rows.
        """
        upstream = [self._shares.get(name, 0.0) for name in node.upstream]
        if math.isinf(new):
            self._shares[node.name] = 1.0
            new = recorded = 0.0
        else:
            self._shares[node.name] = new / (new + recorded) if new + recorded else max(upstream, default=0.0)
        own = self.experience.find_own(node)
        runs = [own] if own else self.experience.list_like(node) or self.experience.list_previews(node)
        rows = self._foresee_rows(runs, self.find_rows_in(node), new + recorded)
        if rows is not None:
            self._rows[node.artifact] = rows

    def find_rows_in(self, node: Node) -> float | None:
        """Return a stage's expected number of input rows; None if unknown or if the stage reads no rows."""
        path = self.experience.find_row_input(node) if node.stage else ""
        if not path:
            return None
        return self._rows[path] if path in self._rows else count_rows(self.counter.root / path)

    def _foresee_rows(self, runs: Sequence[SeenRun], rows_in: float | None, calls: float) -> float | None:
        if not runs:
            return None
        made, asked = sum(run.rows_out for run in runs), sum(len(run.calls) for run in runs)
        if asked and calls:
            return made * calls / asked
        read = sum(run.rows_in or 0 for run in runs)
        return made * rows_in / read if rows_in is not None and read else made / len(runs)

    def _foresee_again(self, node: Node, own: SeenRun) -> Weight:
        """Estimate the calls of a stage that has run before.

        The calls for the stage's existing inputs are multiplied by the ratio of expected input rows to the
        last run's input rows.
        """
        counted = self._count_old(node)
        recorded, new = (counted.recorded, counted.new) if counted else (len(own.calls), 0.0)
        rows = self.find_rows_in(node)
        growth = rows / own.rows_in if rows is not None and own.rows_in else 1.0
        share = max((self._shares.get(name, 0.0) for name in node.upstream), default=0.0)
        total, surely = (recorded + new) * growth, (new + recorded * share) * growth
        if len(own.calls) < ENOUGH:
            span = replace(widen_freely(total), low=surely / GROWTH)
        else:
            span = widen(total, surely)
        return self._weigh(node, span, own.calls or self._list_like_calls(node))

    def _count_old(self, node: Node) -> Counted | None:
        """Count the calls for a stage's existing inputs; None if an input is missing or counting fails."""
        try:
            return self.counter.count(node)
        except (BenchloomError, OSError):
            return None

    def _list_like_calls(self, node: Node) -> list[SeenCall]:
        return [call for run in self.experience.list_like(node) for call in run.calls]

    def _span_like(self, node: Node, likes: Sequence[SeenRun]) -> Range:
        """Estimate the calls of a stage from the runs `likes`.

        If row counts are known, the estimate is the mean number of calls per row times the expected row
        count. The range is extended to the mean number of calls per run if there is only one run, or if calls
        per run vary less than calls per row. Otherwise, if calls per row differ by more than a factor of
        WIDEST squared, the range covers the calls per row of all runs. If row counts are unknown, the range
        covers the calls of all runs. Both bounds are then widened by WIDEST, or by GROWTH after few calls.
        """
        counts = [float(len(run.calls)) for run in likes]
        rows = self.find_rows_in(node)
        read = [run for run in likes if run.rows_in]
        low, high = min(counts), max(counts)
        if rows is not None and read:
            shares = [len(run.calls) / (run.rows_in or 1) for run in read]
            of_rows = rows * sum(len(run.calls) for run in read) / sum(run.rows_in or 0 for run in read)
            low, high = of_rows, of_rows
            if len(read) == 1 or spread(counts) < spread(shares):
                low, high = min(of_rows, fmean(counts)), max(of_rows, fmean(counts))
            elif max(shares) > min(shares) * WIDEST**2:  # the entries differ too much
                low, high = rows * min(shares), rows * max(shares)
        margin = WIDEST if sum(counts) >= ENOUGH else GROWTH
        return Range(math.floor(low / margin), math.ceil(high * margin), exact=False)

    def _foresee_usual(self, node: Node) -> Weight:
        """Use the flow's declaration to estimate the calls of a stage that has never run in this project."""
        flow = find_flow_of(node.stage)
        usual = flow.usual.get(node.stage) if flow is not None else None
        if usual is None:
            return Weight(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, (("", ""),))
        calls = Range(usual.calls[0] / GROWTH, usual.calls[1] * GROWTH, exact=False)
        models = find_models(node, self.params, self.session.roles)
        price = self.counter.make_price(batch=self.session.dispatcher.batch.covers(node.name))
        paid = [price(model, usual.prompt_tokens, usual.completion_tokens) for model in models] or [0.0]
        prompt, completion = (
            calls.times(tokens, tokens) for tokens in (usual.prompt_tokens, usual.completion_tokens)
        )
        usd = calls.times(min(paid), max(paid))
        return Weight(calls, prompt, completion, usd, (("", ""),) if calls.high else ())

    def _weigh(self, node: Node, calls: Range, seen: Sequence[SeenCall]) -> Weight:
        """Estimate the tokens and cost of `calls` from the earlier calls `seen`, at current prices."""
        if not seen:
            return Weight(calls, calls, calls, UNKNOWN) if calls.high else Weight()
        price = self.counter.make_price(batch=self.session.dispatcher.batch.covers(node.name))
        prompt, completion = (
            fmean(getattr(call, name) for call in seen) for name in ("prompt_tokens", "completion_tokens")
        )
        paid = fmean(
            price(self._find_model(call), call.prompt_tokens, call.completion_tokens) for call in seen
        )
        return Weight(
            calls, calls.times(prompt, prompt), calls.times(completion, completion), calls.times(paid, paid),
            () if len(seen) >= ENOUGH or not calls.high else tuple({call.kind for call in seen}),
        )  # fmt: skip

    def _find_model(self, call: SeenCall) -> str:
        role = self.session.roles.get(call.role)
        return role.model if role is not None else call.model


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation as a fraction of the mean; 0 if all values are 0."""
    mean = fmean(values)
    return pstdev(values) / mean if mean else 0.0
