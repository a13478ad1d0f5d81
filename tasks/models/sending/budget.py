"""A run's budget: an attempt is sent only if its maximum cost still fits within the limits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from tasks.errors import BadInput, BudgetSpent
from tasks.models.settings import BudgetLimits, Price

SLACK_USD = 1e-12
"""Tolerance in dollars for comparing sums of floats; it is less than the price of one token."""


@dataclass(frozen=True)
class Amount:
    """An amount of dollars and tokens."""

    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.usd - other.usd, self.tokens - other.tokens)


NOTHING = Amount()


@dataclass(frozen=True)
class Reservation:
    """The maximum cost of one attempt, reserved until the attempt ends."""

    model: str
    prompt_tokens: int
    max_tokens: int
    amount: Amount
    batch: bool = False
    """Whether the call uses the Batch API, which has a lower price."""


class Budget:
    """Tracks the cost of a run's calls against its limits. Thread-safe.

    Reserve the maximum cost before each attempt. After the attempt, settle or release the reservation, or
    record it as possibly paid.
    """

    def __init__(self, limits: BudgetLimits | None = None, prices: Mapping[str, Price] | None = None) -> None:
        self.limits = limits or BudgetLimits()
        self._prices = prices or {}
        self._lock = threading.Lock()
        self._waiting: list[Future[None]] = []
        self.spent = Amount()
        self.reserved = Amount()
        self.possibly_paid = Amount()
        """The part of `spent` for requests that were sent but got no usable reply."""

    def price(self, model: str, prompt_tokens: int, completion_tokens: int, *, batch: bool = False) -> Amount:
        """Return the price of a call. Raises BadInput if dollars are limited and the model has no price.

        A call without tokens is a call to a system under test; its unknown cost counts as zero.
        """
        if not prompt_tokens and not completion_tokens:
            return NOTHING
        price = self._prices.get(model)
        if price is None:
            if self.limits.usd is not None:
                raise BadInput(f"params.yaml: run.prices.{model}", "is missing, but run.budget.usd is set")
            return Amount(0.0, prompt_tokens + completion_tokens)
        micros = (
            prompt_tokens * price.input_usd_per_million + completion_tokens * price.output_usd_per_million
        )
        share = price.batch_share if batch else 1.0
        return Amount(share * micros / 1e6, prompt_tokens + completion_tokens)

    async def reserve(
        self, model: str, prompt_tokens: int, max_tokens: int, *, batch: bool = False
    ) -> Reservation:
        """Reserve the maximum cost of an attempt; wait for calls in flight while the budget is too small.

        Raises BudgetSpent if the attempt would exceed the budget even if all calls in flight were free.
        """
        amount = self.price(model, prompt_tokens, max_tokens, batch=batch)
        reservation = Reservation(model, prompt_tokens, max_tokens, amount, batch)
        while (turn := self._try(reservation)) is not None:
            await asyncio.wrap_future(turn)
        return reservation

    def settle(self, reservation: Reservation, prompt_tokens: int, completion_tokens: int) -> Amount:
        """Replace a reservation with the actual cost; return the cost."""
        cost = self.price(reservation.model, prompt_tokens, completion_tokens, batch=reservation.batch)
        self._finish(reservation, cost)
        return cost

    def release(self, reservation: Reservation) -> None:
        """Release a reservation at no cost, because the attempt was not sent or not billed."""
        self._finish(reservation, Amount())

    def record_possibly_paid(self, reservation: Reservation, times: int = 1) -> None:
        """Count a reservation as spent, because the reply was lost and may have been billed.

        `times`: the number of times that the request was sent; each redirect repeats the request.
        """
        amount = sum([reservation.amount] * times, NOTHING)
        with self._lock:
            self.possibly_paid += amount
        self._finish(reservation, amount)

    def _try(self, reservation: Reservation) -> Future[None] | None:
        with self._lock:
            if self._fits(self.spent + self.reserved + reservation.amount):
                self.reserved += reservation.amount
                return None
            if self.reserved == Amount() or not self._fits(self.spent + reservation.amount):
                raise BudgetSpent(self._describe(reservation))
            turn: Future[None] = Future()
            self._waiting.append(turn)
            return turn

    def _finish(self, reservation: Reservation, cost: Amount) -> None:
        with self._lock:
            self.reserved -= reservation.amount
            if self.reserved.tokens == 0:
                self.reserved = Amount()  # removes rounding errors in dollars
            self.spent += cost
            waiting, self._waiting = self._waiting, []
        for turn in waiting:
            # False if the waiting task was cancelled; `set_result` would then raise InvalidStateError.
            if turn.set_running_or_notify_cancel():
                turn.set_result(None)

    def _fits(self, amount: Amount) -> bool:
        usd, tokens = self.limits.usd, self.limits.tokens
        return (usd is None or amount.usd <= usd + SLACK_USD) and (tokens is None or amount.tokens <= tokens)

    def _describe(self, reservation: Reservation) -> str:
        usd, tokens = self.limits.usd, self.limits.tokens
        if tokens is not None and self.spent.tokens + reservation.amount.tokens > tokens:
            spent, need = f"{self.spent.tokens} tokens", f"{reservation.amount.tokens}"
            limit = f"{tokens} tokens"
            knob = "run.budget.tokens"
        else:
            spent, need, limit = f"${self.spent.usd:.6f}", f"${reservation.amount.usd:.6f}", f"${usd:.6f}"
            knob = "run.budget.usd"
        return (
            f"budget: {spent} spent, the next call to {reservation.model} may need {need}, "
            f"the limit is {limit}; "
            f"raise {knob} (--{knob.removeprefix('run.').replace('.', '-')}) and run the same command again"
        )
