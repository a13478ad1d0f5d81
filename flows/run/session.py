"""The model session of a run: connections that open on the first call, and that all stages share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from flows.run.collection import collect_seldom
from flows.run.model_settings import read_mapping, read_models
from flows.run.progress import report_progress
from tasks.lines import say_line
from tasks.models.ask import Role
from tasks.models.opening import open_dispatcher
from tasks.models.planning import PlanningModel
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.asked_again import AskedAgain
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.progress import Progress
from tasks.models.settings import BudgetLimits, Endpoint

CountToCome = Callable[[int], int | None]
"""Function: number of calls in flight -> number of the run's calls that have not begun.

The result is None if the number is unknown.
"""


class Session:
    """Provides every stage with an `ask`, the object through which the stage calls models.

    All stages share the ledger, the endpoints' queues and the budget.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        roles: Mapping[str, Role],
        identities: Mapping[str, str],
        endpoints: Mapping[str, Endpoint],
    ) -> None:
        """Set up the session.

        `identities`: embedded model -> the model's checksum for ledger keys.
        """
        self.dispatcher, self.roles, self.identities = dispatcher, roles, identities
        # Calls that were recorded under an earlier identity of a model still answer its requests.
        self._all_identities, self._earlier = dict(identities), {}
        for name, endpoint in endpoints.items():
            if served := endpoint.identities:
                base = identities.get(name, "")
                self._all_identities[name], *same = (base + identity for identity in served)
                self._earlier[name] = [*same, base]
        self.count_to_come: CountToCome = lambda waiting: None
        self._reporting = ExitStack()
        if not dispatcher.replay:
            self._reporting.enter_context(report_progress(self.read_progress))

    def make_ask(self, stage: str, prompts: Path, epoch: str) -> RecordedModel:
        """Make the `ask` with which a running stage calls models."""
        return RecordedModel(self._builder(stage, prompts, epoch), self.dispatcher)

    def make_plan(self, stage: str, prompts: Path, epoch: str) -> PlanningModel:
        """Make the `ask` of a stage that is only planned; it counts calls instead of making them."""
        return PlanningModel(self._builder(stage, prompts, epoch), self.dispatcher)

    def make_blind_plan(self, stage: str, prompts: Path, epoch: str) -> PlanningModel:
        """Make an `ask` that counts calls as if the ledger were empty."""
        return PlanningModel(self._builder(stage, prompts, epoch), self.dispatcher, blind=True)

    def read_progress(self) -> Progress:
        """Return the progress of the run's calls, with an estimate of the calls that have not begun."""
        progress = self.dispatcher.read_progress()
        return (
            replace(progress, to_come=self.count_to_come(progress.waiting)) if progress.waiting else progress
        )

    def is_embedded(self, model: str) -> bool:
        """Return whether a model is embedded, that is, runs on this machine."""
        return model in self.identities

    def close(self) -> None:
        """Wait until calls in flight are recorded, print notes about the endpoints, and close the ledger."""
        self.dispatcher.close()
        for note in self.dispatcher.list_notes():
            say_line(f"benchloom: {note}")
        self._reporting.close()
        self.dispatcher.ledger.close()

    def _builder(self, stage: str, prompts: Path, epoch: str) -> RequestBuilder:
        return RequestBuilder(
            stage, prompts, self.roles, identities=self._all_identities, earlier=self._earlier, epoch=epoch
        )


def open_session(
    root: Path,
    params: Mapping[str, Any],
    *,
    replay: bool = False,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    again: Collection[str] = (),
) -> Session:
    """Open the models of a run from params.yaml. Raises BadInput for an invalid parameter.

    `again`: names of the stages that repeat their recorded calls.
    """
    run, models = read_models(params)
    limits = {"usd": budget_usd, "tokens": budget_tokens}
    given = {name: value for name, value in limits.items() if value is not None}
    run = run.model_copy(update={"budget": BudgetLimits(**{**run.budget.model_dump(), **given})})
    collect_seldom()
    dispatcher = open_dispatcher(run, models, list_shipped(root), replay=replay)
    if again:
        dispatcher.again = AskedAgain(dispatcher.ledger, str(root), again)
    return Session(
        dispatcher,
        read_mapping(params, "roles", Role),
        {name: model.identity for name, model in models.items()},
        run.endpoints,
    )


def list_shipped(root: Path) -> list[Path]:
    """List the ledgers that ship with a project."""
    return sorted((root / "data" / "ledger").glob("*.jsonl.gz"))
