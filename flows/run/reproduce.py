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
"""Seconds to wait before a stage with failed model calls is retried."""
STATE_NAMES = {"fresh": "Cached", "restored": "Restored", "ran": "Completed"}


def run_flow(run: Run, names: Sequence[str], workers: int, title: str) -> None:
    """Run stale stages with Prefect. Outcomes and errors are stored in `run`.

    If the connection to Prefect's server is lost, the run continues without Prefect.
    """
    runner: Any = ThreadPoolTaskRunner(max_workers=workers)
    pages = Pages(run)
    # Benchloom reports a lost server once. Prefect's log handlers would report each lost line.
    logging.raiseExceptions = False

    @flow(name=title, task_runner=runner, persist_result=False, validate_parameters=False)
    def reproduce(stages: list[str]) -> State[Any]:
        run.listen()  # Prefect has replaced our SIGTERM handler
        futures: dict[str, Any] = {}

        def submit(name: str, ended: Callable[[str], None]) -> None:
            waits = [futures[up] for up in run.recorder.nodes[name].upstream if up in futures]
            futures[name] = make_task(run, name, pages).submit(wait_for=waits)
            futures[name].add_done_callback(lambda _: ended(name))

        # Submit a task only when its upstream tasks have ended: a waiting task would occupy a Prefect thread.
        schedule(run, stages, workers, submit)
        failed = sorted(run.errors)
        if failed:
            return Failed(message=f"{len(failed)} of {len(stages)} stages failed: {', '.join(failed)}")
        return Completed(message=f"{len(stages)} stages up to date")

    try:
        reproduce(list(names), return_state=True)
    except KeyboardInterrupt:
        run.say(STOPPING)
    except Exception as error:  # noqa: BLE001 - Prefect's own error: errors of stages are in run.errors
        pages.lose(error)
    bring_up_lost(run, names, workers)


def bring_up_lost(run: Run, names: Sequence[str], workers: int) -> None:
    """Run, without Prefect, the stages that Prefect did not start, unless an upstream stage failed.

    If Prefect's server does not answer in time, a task ends before its stage begins. `run` then contains
    neither an outcome nor an error for the stage.
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
    """Sends a log line and a table for each stage to Prefect's server, in addition to the stage's state."""

    run: Run
    lost: bool = False

    def report(self, outcome: StageOutcome) -> None:
        """Send a stage's log line and table to Prefect. An error here does not fail the stage."""
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
        except Exception as error:  # noqa: BLE001 - any error of the server or the network
            self.lose(error)

    def lose(self, error: Exception) -> None:
        """Report once that the server is lost, and stop sending."""
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
        # Replies received before the endpoint failed are in the ledger and are not paid for again.
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
    """Return whether a stage failed because of a missing model reply that a retry may obtain.

    A retry does not help if the endpoint is still down after its deadline, or if it refuses all requests.
    """
    error = state.result(raise_on_failure=False)
    failed = isinstance(error, ModelFailed) and not isinstance(error, ModelRefused)
    return failed and (run.session is None or not run.session.dispatcher.read_progress().failing)


def artifact_key(name: str) -> str:
    """Convert a stage's name to a key of a Prefect artifact: lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def tabulate(outcome: StageOutcome, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Convert an outcome to rows of a table for Prefect's UI. settings: parameters by dotted name."""
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
