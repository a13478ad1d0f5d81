"""Run the graph of dvc.yaml as a Prefect flow: one task for each stage; fresh stages end as `Cached`."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.run.binding import collect_settings
from flows.run.outcomes import StageOutcome, describe_outcome
from flows.run.runner import STOPPING, Run, run_plain, schedule
from tasks.errors import ModelFailed, ModelRefused

RETRY_DELAY_S = 30.0
STATE_NAMES = {"fresh": "Cached", "restored": "Restored", "ran": "Completed"}


def run_flow(run: Run, names: Sequence[str], workers: int, title: str) -> None:
    """Bring stages up to date under Prefect. Outcomes and errors are left in `run`.

    Where Prefect's server is lost on the way, the run goes on without it.
    """
    runner: Any = ThreadPoolTaskRunner(max_workers=workers)
    pages = Pages(run)
    # A line that cannot be sent to a lost server is said once by us, not each time by its handlers.
    logging.raiseExceptions = False

    @flow(name=title, task_runner=runner, persist_result=False, validate_parameters=False)
    def reproduce(stages: list[str]) -> State[Any]:
        run.listen()  # Prefect has put a SIGTERM handler of its own before ours, which no stage hears of
        futures: dict[str, Any] = {}

        def submit(name: str, ended: Callable[[str], None]) -> None:
            waits = [futures[up] for up in run.recorder.nodes[name].upstream if up in futures]
            futures[name] = make_task(run, name, pages).submit(wait_for=waits)
            futures[name].add_done_callback(lambda _: ended(name))

        # A task that waits for another would hold one of Prefect's threads meanwhile.
        schedule(run, stages, workers, submit)
        failed = sorted(run.errors)
        if failed:
            return Failed(message=f"{len(failed)} of {len(stages)} stages failed: {', '.join(failed)}")
        return Completed(message=f"{len(stages)} stages up to date")

    try:
        reproduce(list(names), return_state=True)
    except KeyboardInterrupt:
        run.say(STOPPING)
    except Exception as error:  # noqa: BLE001 - what a stage raised is in run.errors: this is Prefect's own
        pages.lose(error)
    bring_up_lost(run, names, workers)


def bring_up_lost(run: Run, names: Sequence[str], workers: int) -> None:
    """Bring up plainly what no task of Prefect's came to; what stands on a failed stage is skipped.

    A task whose server does not answer in time ends before its stage has begun, and no error of ours says so.
    """
    if run.stopping.is_set():
        return
    left = [name for name in names if name not in run.outcomes]
    waiting = {name for name, outcome in run.outcomes.items() if outcome.state in ("failed", "skipped")}
    for name in left:
        if waiting.intersection(run.recorder.nodes[name].upstream):
            waiting.add(name)
    if lost := [name for name in left if name not in waiting]:
        run.say(f"Prefect did not start {len(lost)} of {len(names)} stages; these stages run without Prefect")
    run_plain(run, left, workers)


@dataclass
class Pages:
    """Artifacts of stages on Prefect's server besides their states: a line and a table each."""

    run: Run
    lost: bool = False

    def report(self, outcome: StageOutcome) -> None:
        """Leave a stage's line and table. A stage that is recorded does not fail for want of them."""
        if self.lost:
            return
        node = self.run.recorder.nodes[outcome.stage]
        try:
            get_run_logger().info(describe_outcome(outcome))
            create_table_artifact(
                table=tabulate(outcome, collect_settings(node, self.run.params)),
                key=artifact_key(outcome.stage),
                description=f"Results of `{outcome.stage}` and its parameters",
            )
        except Exception as error:  # noqa: BLE001 - whatever the server or the way to it may raise
            self.lose(error)

    def lose(self, error: Exception) -> None:
        """Say once that the server is lost, and ask it nothing more."""
        if not self.lost:
            self.lost = True
            self.run.say(
                "Prefect's server no longer answers; this run continues without it "
                f"({type(error).__name__}: {' '.join(str(error).split())})"
            )


def make_task(run: Run, name: str, pages: Pages) -> Any:
    """Make the Prefect task of one stage."""
    asks = run.recorder.nodes[name].asks

    @task(
        name=name,
        task_run_name=name,
        tags={"model"} if asks else set(),
        # What the endpoint had said before it failed is in the ledger, and is not paid for again.
        retries=1 if asks else 0,
        retry_delay_seconds=RETRY_DELAY_S,
        retry_condition_fn=lambda _task, _run, state: may_be_answered(run, state),
        persist_result=False,
        cache_policy=NO_CACHE,
    )
    def bring_up() -> State[Any]:
        try:
            outcome = run.bring_up(name)
        except Exception:
            pages.report(run.outcomes[name])
            raise
        if outcome.state != "fresh":
            pages.report(outcome)
        return Completed(name=STATE_NAMES[outcome.state], message=" ".join(describe_outcome(outcome).split()))

    return bring_up


def may_be_answered(run: Run, state: State[Any]) -> bool:
    """Return whether a stage failed for want of a model's reply that another try may bring.

    It may not where the endpoint is still down: its deadline has been waited for. Nor where it refuses all.
    """
    error = state.result(raise_on_failure=False)
    failed = isinstance(error, ModelFailed) and not isinstance(error, ModelRefused)
    return failed and (run.session is None or not run.session.dispatcher.read_progress().failing)


def artifact_key(name: str) -> str:
    """Turn a stage's name into an artifact key: lower case, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def tabulate(outcome: StageOutcome, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lay an outcome out as the table that Prefect's UI shows. settings: the stage's parameters, dotted."""
    rows = [
        ("rows in", outcome.rows_in),
        ("rows out", outcome.rows_out),
        *((f"dropped: {reason}", count) for reason, count in outcome.dropped.items()),
        ("model calls", outcome.calls),
        ("new model calls", outcome.calls_live),
        ("prompt tokens", outcome.prompt_tokens),
        ("completion tokens", outcome.completion_tokens),
        ("paid in this run, US dollars", round(outcome.paid_usd, 6)),
        ("total cost of the artifact, US dollars", round(outcome.usd, 6)),
        ("seconds", outcome.seconds),
        *((f"parameter {name}", json.dumps(value, default=str)) for name, value in settings.items()),
    ]
    return [{"what": what, "figure": figure} for what, figure in rows if figure is not None]
