"""Count the calls of stages whose inputs exist, and estimate their tokens and cost from earlier calls."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flows.run.binding import MakeAsk, Places, bind
from flows.run.estimates import ENOUGH
from flows.run.experience import Experience, SeenRun
from flows.run.failures import describe_error
from flows.run.node import Node
from flows.run.session import Session
from flows.run.weighing import (
    Price,
    Weight,
    collect_seen,
    expect_by_rows,
    expect_by_share,
    expect_following,
    weigh_exact,
    weigh_expected,
)
from tasks.errors import BenchloomError, StageFailed
from tasks.models.planning import CallPlan


@dataclass(frozen=True)
class Counted:
    """The number of calls of a stage.

    `recorded`: number of calls that a ledger answers. `exact`: number of first attempts that no ledger
    answers; None if unknown. `weight`: estimated number, tokens and cost of the calls that no ledger answers.
    """

    recorded: int
    exact: int | None
    weight: Weight

    @property
    def new(self) -> float:
        """The estimated number of calls that no ledger answers."""
        return self.exact if self.exact is not None else self.weight.calls.middle


class StageCounter:
    """Counts the calls that stages would make, by running the stages with an `ask` that only counts."""

    def __init__(
        self, root: Path, params: Mapping[str, Any], session: Session, experience: Experience
    ) -> None:
        self.root, self.params, self.session, self.experience = root, params, session, experience

    def count(self, node: Node) -> Counted:
        """Count the calls that a stage would make on its existing inputs.

        Raises StageFailed if the stage's code fails.
        """
        plan, ended = self._follow(node, self.session.make_plan)
        own, likes = self.experience.find_own(node), self.experience.list_like(node)
        runs, previews = [own] if own else likes, self.experience.list_previews(node)
        kinds = collect_seen([call for run in (*runs, *likes, *previews) for call in run.calls], plan.known)
        price = self.make_price(batch=plan.batch)
        following = expect_following(plan, runs)
        if plan.is_exact and ended and following is None:
            return Counted(len(plan.known), len(plan.new), weigh_exact(plan, kinds, price))
        expected = following if plan.is_exact and ended else self._expect(node, plan, runs)
        if expected is None:
            weight = weigh_freely(plan, ended, weigh_exact(plan, {}, price))
        else:
            weight = weigh_expected(plan, kinds, expected, price)
        return Counted(len(plan.known), None, weight)

    def _expect(self, node: Node, plan: CallPlan, runs: Sequence[SeenRun]) -> float | None:
        """Estimate the number of a stage's new calls; return None if nothing is known about the stage."""
        worst, ended = self._follow(node, self.session.make_blind_plan)
        by_share = expect_by_share(plan, worst) if ended else None
        expected = by_share if by_share is not None else expect_by_rows(plan)
        if expected is not None:
            return expected
        totals = [len(run.calls) for run in runs if len(run.calls) >= ENOUGH]
        return sum(totals) / len(totals) - len(plan.known) if totals else None

    def read_calls(self, node: Node) -> CallPlan:
        """Return the calls that a stage would make. Raises StageFailed if the stage's code fails."""
        return self._follow(node, self.session.make_plan)[0]

    def make_price(self, *, batch: bool = False) -> Price:
        """Return the function that prices calls. batch: whether to use the price of the Batch API."""
        budget = self.session.dispatcher.budget
        return lambda model, prompt, completion: budget.price(model, prompt, completion, batch=batch).usd

    def _follow(self, node: Node, make_ask: MakeAsk) -> tuple[CallPlan, bool]:
        """Run a stage with an `ask` that only counts; return its calls, and whether it ran to completion."""
        # Whatever the stage writes is deleted with this folder.
        with tempfile.TemporaryDirectory() as nowhere:
            bound = bind(node, self.params, Places(self.root, Path(nowhere)), make_ask)
            ended = True
            try:
                bound.call()
            except StageFailed:  # the stage needs an answer to continue, so further calls are unknown
                ended = False
            except BenchloomError:
                raise
            except Exception as error:  # the stage's code may be a user's own method and raise any error
                raise StageFailed(f"{node.name} cannot be planned: {describe_error(error)}") from error
            plan: CallPlan = bound.ask.count()
            return plan, ended


def weigh_freely(plan: CallPlan, ended: bool, most: Weight) -> Weight:
    """Estimate calls that depend on future answers, if no similar calls were recorded.

    `most`: the estimate for the maximum number of calls. `ended`: whether the stage ran to completion;
    otherwise the upper bounds are infinite. The lower bounds cover only the calls that are certain.
    """
    share = plan.sure_calls / len(plan.new) if plan.new else 0
    unknown = 0.0 if ended else math.inf
    spans = (most.calls, most.prompt_tokens, most.completion_tokens, most.usd)
    calls, prompt, completion, usd = (
        replace(span, low=span.low * share, high=span.high + (unknown if span.high else 0), exact=False)
        for span in spans
    )
    return Weight(calls, prompt, completion, usd, most.unseen)
