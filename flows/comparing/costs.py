"""Compute the cost per answer: tokens, dollars from `run.prices`, and seconds from the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from flows.run.model_settings import read_models
from flows.run.node import PARAMS
from flows.settings import load_params
from tasks.judging.comparison import CallFile, ScoredSystem
from tasks.judging.priced_means import AnswerCost
from tasks.models.opening import list_prices
from tasks.models.recording.ledger import Ledger
from tasks.models.recording.ledger_address import find_ledger
from tasks.models.sending.budget import Budget
from tasks.models.settings import Price

FindSeconds = Callable[[str], float | None]
"""A call's key -> its latency in seconds; None if it is not recorded."""
COLUMNS = ["id", "stage", "row", "model", "prompt_tokens", "completion_tokens"]


@contextmanager
def open_costs(root: Path) -> Iterator[Callable[[ScoredSystem], AnswerCost]]:
    """Yield a function that computes the cost per answer of an answer set (one system's answers).

    If `root` is a project, its prices and its ledger are used; otherwise prices are unknown, and the user's
    own ledger is used.
    """
    prices: Mapping[str, Price] = {}
    address = find_ledger()
    if (root / PARAMS).is_file():
        run, models = read_models(load_params(root))
        prices, address = list_prices(run, models), find_ledger(run.ledger)
    if not isinstance(address, Path) or not address.is_file():
        yield lambda scored_system: read_cost(scored_system, prices, lambda key: None)
        return
    with Ledger(address) as ledger:

        def find_seconds(key: str) -> float | None:
            entry = ledger.get(key)
            # The latency is 0 if it was not recorded, as for calls from a shipped ledger.
            return (entry.latency_s or None) if entry else None

        yield lambda scored_system: read_cost(scored_system, prices, find_seconds)


def read_cost(
    scored_system: ScoredSystem, prices: Mapping[str, Price], find_seconds: FindSeconds
) -> AnswerCost:
    """Compute the mean cost per answer from the recorded model calls for a system's answers."""
    calls = [call for file in scored_system.calls for call in read_calls(file)]
    n = len({answered.id for _, answered in scored_system.answers})
    tokens = sum(call["prompt_tokens"] + call["completion_tokens"] for call in calls)
    if not tokens or not n:
        return AnswerCost(why="the model calls for these answers are not recorded")
    unknown = sorted({call["model"] for call in calls} - prices.keys())
    budget = Budget(prices=prices)
    usd = sum(
        budget.price(call["model"], call["prompt_tokens"], call["completion_tokens"]).usd for call in calls
    )
    return AnswerCost(
        tokens / n,
        None if unknown else usd / n,
        find_latency({call["id"]: call["row"] for call in calls}, find_seconds),
        f"run.prices has no price for {', '.join(unknown)}" if unknown else "",
    )


def read_calls(file: CallFile) -> Iterator[dict[str, Any]]:
    """Yield the calls of a file that count towards the cost.

    Only the calls of `file.stages` count; if `file.stages` is empty, all calls count.
    """
    for call in pq.read_table(file.path, columns=COLUMNS).to_pylist():
        if not file.stages or call["stage"].partition("@")[0] in file.stages:
            yield call


def find_latency(rows: Mapping[str, str], find_seconds: FindSeconds) -> float | None:
    """Return the median latency of the rows in seconds; None if a call's latency is unknown.

    The latency of a row is the sum over its calls. `rows`: a call's key -> the row that the call belongs to.
    """
    by_row = defaultdict[str, list[float]](list)
    for key, row in rows.items():
        seconds = find_seconds(key)
        if seconds is None:
            return None
        by_row[row].append(seconds)
    return median(sum(parts) for parts in by_row.values())
