"""Opens the model layer for a run, from the `models:` and `run:` sections of params.yaml."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput
from tasks.models.budget import Budget
from tasks.models.client import Client, Locate
from tasks.models.dispatcher import Caller
from tasks.models.embedded import ensure_server
from tasks.models.ledger import Ledger, find_ledger
from tasks.models.settings import EmbeddedModel, ModelRun, Price
from tasks.models.systems import Systems


@dataclass(frozen=True)
class Shelf:
    """The embedded models of a project, and how long an unused server of theirs lives."""

    models: Mapping[str, EmbeddedModel]
    idle_s: float

    def identities(self) -> dict[str, str]:
        """Give each model's checksum: what makes it another model in a call's key."""
        return {name: model.identity for name, model in self.models.items()}

    async def locate(self, name: str) -> str:
        """Give the base URL of a model's server, started where it is not running."""
        if name not in self.models:
            raise BadInput(f"params.yaml: models.{name}", "is missing, and its endpoint is embedded")
        return await asyncio.to_thread(ensure_server, name, self.models[name], self.idle_s)


def open_caller(
    run: ModelRun, models: Mapping[str, EmbeddedModel], shipped: Iterable[Path] = (), *, replay: bool = False
) -> Caller:
    """Open ledger, budget and client for one run; close what is returned, then its `ledger`.

    shipped: files of `data/ledger/`; those that do not exist are left out. Raises BadInput.
    """
    ledger = Ledger(find_ledger(run.ledger), [path for path in shipped if path.exists()])
    budget = Budget(run.budget, list_prices(run, models))
    if replay:
        return Caller(ledger, None, budget)
    client = open_client(run, models, budget, ledger)
    return Caller(ledger, client, budget, run.batch, Systems(run.systems))


def list_prices(run: ModelRun, models: Mapping[str, EmbeddedModel]) -> dict[str, Price]:
    """Give every model's price: `run.prices`, and nothing for a model that runs on this machine."""
    free = {name: Price(input_usd_per_million=0, output_usd_per_million=0) for name in models}
    return {**free, **run.prices}


def open_client(
    run: ModelRun, models: Mapping[str, EmbeddedModel], budget: Budget, ledger: Ledger | None = None
) -> Client:
    """Open a client for all endpoints of a run."""
    locate: Locate = Shelf(models, run.idle_s).locate
    if ledger is None:
        return Client(run.endpoints, budget, locate=locate)
    return Client(run.endpoints, budget, locate=locate, book_doubt=ledger.book_doubt)
