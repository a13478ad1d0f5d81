"""Open the ledger, budget and clients of a run from the `models:` and `run:` sections of params.yaml."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.errors import BadInput
from tasks.models.recording.ledger import Ledger
from tasks.models.recording.ledger_address import find_ledger
from tasks.models.sending.budget import Budget
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.settings import EmbeddedModel, ModelRun, Price

# Replays and plans send nothing, so they do not import the sending modules, which takes a second.
if TYPE_CHECKING:
    from tasks.models.sending.client import LocateServer, ModelClient


@dataclass(frozen=True)
class EmbeddedModels:
    """The embedded models of a project, and the idle time in seconds after which their servers stop."""

    models: Mapping[str, EmbeddedModel]
    idle_s: float

    def identities(self) -> dict[str, str]:
        """Map each model's name to its checksum; the checksum is part of a call's ledger key."""
        return {name: model.identity for name, model in self.models.items()}

    async def locate(self, name: str) -> str:
        """Return the base URL of a model's server; start the server if it is not running."""
        if name not in self.models:
            raise BadInput(
                f"params.yaml: models.{name}",
                "is missing, but the endpoint with this name is of kind embedded",
            )
        from tasks.models.serving.embedded import ensure_server

        return await asyncio.to_thread(ensure_server, name, self.models[name], self.idle_s)


def open_dispatcher(
    run: ModelRun, models: Mapping[str, EmbeddedModel], shipped: Iterable[Path] = (), *, replay: bool = False
) -> Dispatcher:
    """Open the ledger, budget and clients of a run; the caller must close the dispatcher, then its `ledger`.

    `shipped`: files in `data/ledger/`; missing files are skipped. `replay`: do not open clients. Raises
    BadInput.
    """
    ledger = Ledger(find_ledger(run.ledger), [path for path in shipped if path.exists()])
    budget = Budget(run.budget, list_prices(run, models))
    if replay:
        return Dispatcher(ledger, None, budget, run.batch)
    from tasks.models.sending.systems import SystemClient

    client = open_client(run, models, budget, ledger)
    return Dispatcher(ledger, client, budget, run.batch, SystemClient(run.systems))


def list_prices(run: ModelRun, models: Mapping[str, EmbeddedModel]) -> dict[str, Price]:
    """Return each model's price from `run.prices`; the default for embedded models is 0."""
    free = {name: Price(input_usd_per_million=0, output_usd_per_million=0) for name in models}
    return {**free, **run.prices}


def open_client(
    run: ModelRun, models: Mapping[str, EmbeddedModel], budget: Budget, ledger: Ledger | None = None
) -> ModelClient:
    """Open a client for all endpoints of a run. `ledger`: records calls that may have been billed."""
    from tasks.models.sending.client import ModelClient

    locate: LocateServer = EmbeddedModels(models, run.idle_s).locate
    if ledger is None:
        return ModelClient(run.endpoints, budget, locate=locate)
    return ModelClient(run.endpoints, budget, locate=locate, record_possibly_paid=ledger.record_possibly_paid)
