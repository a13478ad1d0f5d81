"""Estimate the number, tokens and cost of a stage's calls from earlier calls of the same kinds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from flows.run.estimates import ENOUGH, NOTHING, WIDEST, Range, predict_mean, widen
from flows.run.experience import SeenCall, SeenRun
from tasks.models.planning import CallPlan, PlannedCall
from tasks.scoring.statistics import find_wilson_interval

FEWEST_ROWS = 3
"""Minimum number of finished rows for an estimate of the calls per row."""
Kind = tuple[str, str]
Price = Callable[[str, int, int], float]
"""Function: model, prompt tokens, completion tokens -> price in US dollars."""


@dataclass(frozen=True)
class Weight:
    """The estimated number, tokens and cost of new calls.

    unseen: kinds of calls with too few earlier calls.
    """

    calls: Range = NOTHING
    prompt_tokens: Range = NOTHING
    completion_tokens: Range = NOTHING
    usd: Range = NOTHING
    unseen: tuple[Kind, ...] = ()

    @property
    def tokens(self) -> Range:
        """The sum of prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Weight) -> Weight:
        return Weight(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.usd + other.usd,
            tuple(dict.fromkeys((*self.unseen, *other.unseen))),
        )


@dataclass
class SeenKind:
    """The earlier calls of one kind.

    `ratios`: for each recorded call of the plan, the actual number of prompt tokens divided by the estimate.
    `first`: number of first attempts. `again`: number of repeated attempts.
    """

    prompt_tokens: list[int] = field(default_factory=list)
    completion_tokens: list[int] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    first: int = 0
    again: int = 0

    def add(self, attempt: int, prompt_tokens: int, completion_tokens: int) -> None:
        """Add a call. attempt: 0 for the first attempt, higher if an answer could not be parsed."""
        self.prompt_tokens.append(prompt_tokens)
        self.completion_tokens.append(completion_tokens)
        self.first += attempt == 0
        self.again += attempt > 0

    @property
    def is_enough(self) -> bool:
        """Whether there are enough calls for a narrow range."""
        return len(self.prompt_tokens) >= ENOUGH

    def predict_retries(self, attempts: int) -> float:
        """Return an upper bound on the expected calls per prompt if a prompt has up to `attempts` attempts.

        The bound is based on the Wilson interval of the fraction of prompts with a repeated attempt.
        """
        if attempts == 1:
            return 1.0
        asked_again = min(self.again, self.first)
        return min(1 + find_wilson_interval(asked_again, self.first)[1], attempts) if self.first else attempts


def collect_seen(seen: Sequence[SeenCall], known: Sequence[PlannedCall]) -> dict[Kind, SeenKind]:
    """Group the calls of earlier runs and the recorded calls of this plan by kind; count each call once."""
    kinds = defaultdict[Kind, SeenKind](SeenKind)
    here = {call.key for call in known}
    for call in {call.id: call for call in seen if call.id not in here}.values():
        kinds[call.kind].add(call.attempt, call.prompt_tokens, call.completion_tokens)
    for planned in known:
        if planned.entry is not None:
            prompt = planned.entry.prompt_tokens
            kinds[planned.kind].add(planned.attempt, prompt, planned.entry.completion_tokens)
            if planned.prompt_tokens:
                kinds[planned.kind].ratios.append(prompt / planned.prompt_tokens)
    return kinds


def weigh_exact(plan: CallPlan, kinds: dict[Kind, SeenKind], price: Price) -> Weight:
    """Estimate the new calls of a plan if all first attempts are known."""
    by_kind = defaultdict[tuple[Kind, str], list[PlannedCall]](list)
    for call in plan.new:
        by_kind[call.kind, call.model].append(call)
    weights = [_weigh_kind(calls, kinds.get(kind, SeenKind()), price) for (kind, _), calls in by_kind.items()]
    return sum(weights, Weight())


def _weigh_kind(calls: Sequence[PlannedCall], seen: SeenKind, price: Price) -> Weight:
    """Estimate new calls of one kind to one model from earlier calls of this kind.

    If there are too few earlier calls, the upper bounds assume that each call needs the maximum number of
    attempts and tokens.
    """
    count, model = len(calls), calls[0].model
    estimated = sum(call.prompt_tokens for call in calls)
    if not seen.is_enough:
        attempts = max(call.attempts for call in calls)
        prompt = Range(estimated, estimated * attempts)
        completion = Range(0, sum(call.max_tokens for call in calls) * attempts)
        usd = _price(model, prompt, completion, price)
        return Weight(Range(count, count * attempts), prompt, completion, usd, (calls[0].kind,))
    most = seen.predict_retries(max(call.attempts for call in calls))
    if len(seen.ratios) >= ENOUGH:
        prompt = _spread(seen.ratios, estimated, count)
    else:
        prompt = _spread(seen.prompt_tokens, count, count)
    completion = _spread(seen.completion_tokens, count, count)
    prompt, completion = prompt.times(1, most), completion.times(1, most)
    return Weight(
        Range(count, math.ceil(count * most)), prompt, completion, _price(model, prompt, completion, price)
    )


def weigh_expected(plan: CallPlan, kinds: dict[Kind, SeenKind], expected: float, price: Price) -> Weight:
    """Estimate new calls that depend on future answers. expected: approximate number of calls."""
    expected = max(expected, plan.sure_calls, 1)
    low = max(math.floor(expected / WIDEST), plan.sure_calls)
    calls = Range(low, math.ceil(expected * WIDEST), exact=False)
    prompt = widen(expected * find_recent_mean(plan, kinds))
    completion = widen(
        expected * fmean(tokens for kind in kinds.values() for tokens in kind.completion_tokens)
    )
    spans = [_price(model, prompt, completion, price) for model in {call.model for call in plan.new}]
    usd = Range(min(span.low for span in spans), max(span.high for span in spans), exact=False)
    return Weight(calls, prompt, completion, usd)


def expect_by_share(plan: CallPlan, worst: CallPlan) -> float | None:
    """Estimate the new calls of a plan from recorded calls; None if too few calls are recorded.

    A plan counts calls as if each call without a recorded answer had failed. The count is too high if a stage
    calls a model until it has enough answers, and too low if a stage makes further calls after an answer.
    `worst` is the plan without a ledger. The count is multiplied by a ratio: the number of recorded calls,
    divided by the difference between the counts in `worst` and in the plan. The ratio is computed for calls
    and for requests, and the ratio closer to 1 is used. Requests that would differ only in missing
    answers count as one call.
    """
    if len(plan.known) < ENOUGH:
        return None
    counts = ((len(plan.new), len(worst.new)), (plan.unanswered, worst.unanswered))
    shares = [
        (len(plan.known) / (all_new - new), new)
        for new, all_new in counts
        if (all_new - new) * WIDEST >= ENOUGH
    ]
    if not shares:
        return None
    share, new = min(shares, key=lambda found: abs(math.log(found[0])))
    return share * new


def find_recent_mean(plan: CallPlan, kinds: dict[Kind, SeenKind]) -> float:
    """Return the mean prompt tokens of the later half of the recorded calls, since prompts may get longer.

    If this half has fewer than ENOUGH calls, returns the mean over all calls in `kinds`.
    """
    known = [call.entry.prompt_tokens for call in plan.known if call.entry is not None]
    later = known[len(known) // 2 :]
    if len(later) >= ENOUGH:
        return fmean(later)
    return fmean(tokens for kind in kinds.values() for tokens in kind.prompt_tokens)


def expect_following(plan: CallPlan, runs: Sequence[SeenRun]) -> float | None:
    """Estimate the new calls of a plan that stops at missing answers; None for any other plan.

    Some kinds of calls are made only after an answer, so these kinds occur in earlier runs but not in the
    plan. The number of calls per row is assumed to be the same as in earlier runs. The function also returns
    None if earlier runs have fewer than ENOUGH calls.
    """
    calls = [call for run in runs for call in run.calls]
    planned = (*plan.new, *plan.known)
    lacking = {call.kind for call in calls} - {call.kind for call in planned}
    if not plan.new or not lacking or len(calls) < ENOUGH:
        return None
    rows, before = (
        len({call.row for call in planned}),
        sum(len({call.row for call in run.calls}) for run in runs),
    )
    return len(calls) * rows / before - len(plan.known)


def expect_by_rows(plan: CallPlan) -> float | None:
    """Estimate the new calls of a plan from the calls of finished rows; None if there are too few rows.

    This estimate is for stages that end early at a missing answer: their maximum number of calls is unknown.
    """
    known, waiting = Counter(call.row for call in plan.known), {call.row for call in plan.new}
    done = [count for row, count in known.items() if row not in waiting]
    if len(done) < FEWEST_ROWS or sum(done) < ENOUGH:
        return None
    return sum(max(fmean(done) - known[row], 1) for row in waiting)


def _spread(values: Sequence[float], times: float, further: int) -> Range:
    low, high = predict_mean(values, further)
    return Range(round(low * times), round(high * times), exact=False)


def _price(model: str, prompt: Range, completion: Range, price: Price) -> Range:
    """Return the price range for ranges of prompt and completion tokens."""
    return Range(
        price(model, round(prompt.low), round(completion.low)),
        price(model, round(prompt.high), round(completion.high)),
        prompt.exact,
    )
