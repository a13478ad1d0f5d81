"""Log each run to MLflow: parameters, figures with intervals, stage results, and reports as artifacts."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from importlib.util import find_spec
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from flows.run.hook import Hook, RunEnd, StageEnd
from tasks.errors import BadInput

Item = TypeVar("Item")
PLACE, STATE = "params.yaml: run.hooks.mlflow", ".benchloom"
"""The path of the settings in params.yaml, for error messages, and the name of Benchloom's state folder.

The state folder also contains the worktrees of nightly runs.
"""
STATUS = {0: "FINISHED", 130: "KILLED"}
"""Exit code -> MLflow's run status; for any other exit code, the status is FAILED."""
PER_BATCH = 100
"""Maximum items per request: MLflow's limit for parameters, which is lower than its limit for metrics."""
NOT_IN_NAMES = re.compile(r"[^\w./ -]", re.ASCII)
COUNTS = ("rows_out", "calls", "calls_live", "seconds", "usd", "paid_usd")


class MLflow(Hook):
    """The settings `run.hooks.mlflow`: where runs are logged, and which artifacts are logged."""

    name: ClassVar[str] = "mlflow"

    tracking_uri: str | None = None
    """URL of an MLflow server or a local store.

    null means the value of MLFLOW_TRACKING_URI or, if this variable is not set, the project's file mlflow.db.
    """
    experiment: str = Field(default="benchloom", min_length=1)
    artifacts: tuple[str, ...] = ("data/reports/*",)
    """Outputs of stages to log, by path; `*` matches anything.

    The hashes of all outputs are always logged.
    """

    @field_validator("tracking_uri")
    @classmethod
    def _refuse_password(cls, address: str | None) -> str | None:
        if address is not None and urlsplit(address).password:
            raise ValueError("contains a password: set MLFLOW_TRACKING_PASSWORD instead")
        return address

    def prepare(self, root: Path) -> None:
        """Check that MLflow is installed, and that its store is outside the nightly worktree.

        Raises BadInput if a check fails.
        """
        if find_spec("mlflow") is None:
            hint = "run pip install 'benchloom[mlflow]'"
            raise BadInput(PLACE, "needs mlflow, which is not installed", hint=hint)
        if STATE in root.parts and not (self.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")):
            problem = "would log to a file in the nightly run's worktree, which is deleted after the run"
            raise BadInput(
                PLACE,
                problem,
                hint="set tracking_uri to the URL of a server, or to sqlite:////an/absolute/path.db",
            )

    def end_run(self, end: RunEnd) -> None:
        """Log a run to MLflow. If MLflow raises an error, mark the run as FAILED in MLflow."""
        # MLflow starts its telemetry when it is imported.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        from mlflow.tracking import MlflowClient

        logging.getLogger("mlflow").setLevel(logging.WARNING)  # MLflow logs every table of a new store
        client: Any = MlflowClient(tracking_uri=self.tracking_uri)
        found = client.get_experiment_by_name(self.experiment)
        experiment = found.experiment_id if found else client.create_experiment(self.experiment)
        began_ms = int(1000 * (time.time() - end.seconds))
        tags: dict[str, object] = {"benchloom.exit_code": end.exit_code, "benchloom.replay": end.replay}
        if end.commit:
            tags["mlflow.source.git.commit"] = end.commit
        run = client.create_run(experiment, began_ms, tags, end.title).info.run_id
        status = "FAILED"
        try:
            self._log(client, run, end)
            status = STATUS.get(end.exit_code, status)
        finally:
            client.set_terminated(run, status)

    def _log(self, client: Any, run: str, end: RunEnd) -> None:
        from mlflow.entities import Metric, Param

        now_ms = int(1000 * time.time())
        metrics = [Metric(name, value, now_ms, 0) for name, value in list_metrics(end)]
        params = [Param(name, value) for name, value in collect_params(end.stages).items()]
        for numbers in cut(metrics):
            client.log_batch(run, metrics=numbers)
        for texts in cut(params):
            client.log_batch(run, params=texts)
        stages = {stage.stage: asdict(stage) for stage in end.stages}
        client.log_dict(run, json.loads(json.dumps(stages, default=str)), "stages.json")
        for path in self._choose(end.stages):
            local, folder = end.root / path, PurePosixPath(path).parent
            if local.is_dir():
                client.log_artifacts(run, str(local), path)
            elif local.is_file():
                client.log_artifact(run, str(local), None if folder == PurePosixPath() else str(folder))

    def _choose(self, stages: Sequence[StageEnd]) -> list[str]:
        paths = {output.path for stage in stages for output in stage.outputs}
        return sorted(path for path in paths if any(fnmatchcase(path, pattern) for pattern in self.artifacts))


def list_metrics(end: RunEnd) -> Iterator[tuple[str, float]]:
    """Yield a run's metrics as (name, value): figures of reports, then results of each stage, then totals."""
    for stage in end.stages:
        for name, figure in stage.figures.items():
            for part, value in figure.items():
                yield spell(name if part == "value" else f"{name}.{part}"), value
        if stage.state != "fresh":
            for name in COUNTS:
                if (value := getattr(stage, name)) is not None:
                    yield spell(f"stages/{stage.stage}/{name}"), value
    states = [stage.state for stage in end.stages]
    yield from ((f"run/{state}", float(states.count(state))) for state in sorted(set(states)))
    yield "run/seconds", end.seconds
    yield "run/paid_tokens", end.paid_tokens
    yield "run/paid_usd", end.paid_usd


def collect_params(stages: Sequence[StageEnd]) -> Mapping[str, str]:
    """Return the parameters of all stages: dotted name -> value; values other than text are JSON."""
    found: dict[str, str] = {}
    for stage in stages:
        for name, value in stage.params.items():
            found[spell(name)] = value if isinstance(value, str) else json.dumps(value, default=str)
    return found


def spell(name: str) -> str:
    """Replace the characters that MLflow does not allow in names with `/`."""
    return NOT_IN_NAMES.sub("/", name)


def cut(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Yield items in batches of `PER_BATCH`."""
    rest = iter(items)
    while batch := list(islice(rest, PER_BATCH)):
        yield batch
