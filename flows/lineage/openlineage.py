"""Emit the stages of a lineage as OpenLineage events, with the official package, to a file or a server.

An event contains names, hashes, parameters and the commit, but no absolute paths or secrets. The package's
client would add environment variables and git remotes, so events are passed directly to the package's
transport.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from flows.lineage.lock import read_graph
from flows.settings import load_params, parse_section
from tasks.errors import BadInput, BenchloomError
from tasks.lineage.records import Graph, StageRecord
from tasks.lineage.result import LineageResult
from tasks.models.settings import Price
from tasks.settings import VariableName

if TYPE_CHECKING:
    from flows.lineage.facets import FacetMaker

PRODUCER = "urn:benchloom:lineage"
RUNS_FILE = ".benchloom/lineage/runs.jsonl"
"""The file to which runs append their events, unless a server is configured."""
RETRIES = 1
"""Retries per request to a server; kept low because a run waits for the requests before it ends."""
LARGEST_FILE = 64 << 20
"""Size limit of the events file in bytes; a run renames a larger file and starts a new one."""
RUNS = uuid.uuid5(uuid.NAMESPACE_URL, PRODUCER)
CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
SECRET_OPTION = re.compile(r"([?&][\w-]*(?:pass(?!file)|pwd|secret|token)\w*=)[^&\s]+", re.IGNORECASE)
ABSOLUTE = re.compile(r"(?<![\w./:-])/(?:[^\s'\",\]]+/)*([^\s'\",\]/]+)")
SECRET = re.compile(r"password|secret|token$|api_?key", re.IGNORECASE)


class Destination(BaseModel):
    """`run.openlineage` in params.yaml: where OpenLineage events are sent."""

    # An error must not show its input: the URL may contain a password.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: str | None = None
    """URL of an OpenLineage server, without a password (see key_env); null: events are written to a file."""
    key_env: VariableName | None = None
    """The NAME of the environment variable that contains the server's key."""
    namespace: str = Field(default="benchloom", min_length=1)
    """The OpenLineage namespace of the events."""
    timeout_s: float = Field(default=10, gt=0)
    """Timeout in seconds for sending one event."""


class NotSent(BenchloomError):
    """The OpenLineage server did not accept the events."""


@dataclass(frozen=True)
class FailedStage:
    """A stage that a run started but did not finish.

    `inputs`: paths of the stage's data files, relative to the project's folder.
    """

    name: str
    command: str
    inputs: tuple[str, ...]
    error: str
    ended: datetime
    seconds: float


def emit_events(lineage: LineageResult, root: Path, file: Path) -> str:
    """Emit an event for each stage of a lineage, upstream first; return their number and location as text.

    Raises BadInput if `run.openlineage` is invalid or no recorded stage made the target, and NotSent if the
    server refuses the events.
    """
    from openlineage.client.serde import Serde

    from flows.lineage.facets import FacetMaker

    params = load_params(root)
    destination = read_destination(params)
    graph = lineage.graph
    names = {node.reference for node in lineage.list_kind("stage")}
    stages = [stage for stage in graph.stages if stage.name in names] if graph else []
    if graph is None or not stages:
        raise BadInput(lineage.target, "was not written by a recorded stage, so there is no event to write")
    maker = FacetMaker(root, graph, destination.namespace, read_prices(params))
    events = list(make_events(order_stages(stages), graph, maker))
    if destination.url is None:
        file.unlink(missing_ok=True)
    for event in events:
        Serde.to_json(event)  # raises for an invalid event before the first one is sent
    return _deliver(events, destination, file)


def emit_run(root: Path, seconds: Mapping[str, float], failed: Sequence[FailedStage] = ()) -> None:
    """Emit a START event and a COMPLETE or FAIL event for each stage of a run, upstream first.

    `seconds`: completed stage -> its duration. The events are appended to `RUNS_FILE`, or
    sent to the configured server. Raises BadInput if `run.openlineage` is invalid, and NotSent if the server
    refuses the events.
    """
    from flows.lineage.facets import FacetMaker

    params = load_params(root)
    destination = read_destination(params)
    graph = read_graph(root)
    stages = order_stages(stage for stage in graph.stages if stage.name in seconds)
    maker = FacetMaker(root, graph, destination.namespace, read_prices(params))
    ended = [
        (event, seconds[stage.name])
        for stage, event in zip(stages, make_events(stages, graph, maker, datetime.now(UTC)), strict=True)
    ]
    ended += [(make_failure(stage, destination.namespace), stage.seconds) for stage in failed]
    events = [event for last, lasted in ended for event in (make_start(last, lasted), last)]
    file = root / RUNS_FILE
    if file.is_file() and file.stat().st_size > LARGEST_FILE:
        file.replace(file.with_suffix(".old.jsonl"))
    _deliver(events, destination, file)


def is_disabled() -> bool:
    """Return whether the environment variable OPENLINEAGE_DISABLED disables the events of runs."""
    return os.environ.get("OPENLINEAGE_DISABLED", "").lower() in ("true", "1")


def make_start(last: Any, seconds: float) -> Any:
    """Make the START event of a run from the event that ended the run."""
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

    begun = datetime.fromisoformat(last.eventTime) - timedelta(seconds=seconds)
    return RunEvent(
        eventType=RunState.START,
        eventTime=begun.isoformat(),
        run=Run(last.run.runId),
        job=Job(last.job.namespace, last.job.name),
        producer=PRODUCER,
    )


def make_failure(stage: FailedStage, namespace: str) -> Any:
    """Make the FAIL event of a stage, with its error on one line and without outputs."""
    from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import error_message_run

    ended = stage.ended.isoformat()
    message = error_message_run.ErrorMessageRunFacet(
        message=clean(stage.error), programmingLanguage="Python", producer=PRODUCER
    )
    return RunEvent(
        eventType=RunState.FAIL,
        eventTime=ended,
        run=Run(
            runId=str(uuid.uuid5(RUNS, f"{stage.name}\n{ended}\n{stage.error}")),
            facets={"errorMessage": message},
        ),
        job=Job(namespace=namespace, name=stage.name, facets=describe_job(stage.command)),
        inputs=[InputDataset(namespace, name_file(path)) for path in stage.inputs],
        producer=PRODUCER,
    )


def describe_job(command: str) -> dict[str, Any]:
    """Return the facets of a job: its type, and the stage's command without secrets."""
    from openlineage.client.facet_v2 import job_type_job, source_code_job

    return {
        "jobType": job_type_job.JobTypeJobFacet(
            processingType="BATCH", integration="BENCHLOOM", jobType="STAGE", producer=PRODUCER
        ),
        "sourceCode": source_code_job.SourceCodeJobFacet(
            language="shell", sourceCode=clean(command), producer=PRODUCER
        ),
    }


def _deliver(events: Sequence[Any], destination: Destination, file: Path) -> str:
    """Append events to a file or send them to a server; return their number and location as text."""
    if destination.url is None:
        file.parent.mkdir(parents=True, exist_ok=True)
        _send(events, {"type": "file", "log_file_path": str(file), "append": True})
        return f"{len(events)} events: {file}"
    _send(events, _describe_server(destination))
    return f"{len(events)} events: sent to {destination.url}"


def read_destination(params: Mapping[str, object]) -> Destination:
    """Read `run.openlineage`. Raises BadInput if a value is invalid; the message omits the value."""
    found = parse_section(params, "run.openlineage", Destination)
    if found.url is not None and (
        CREDENTIALS.search(found.url) or not found.url.startswith(("http://", "https://"))
    ):
        raise BadInput(
            "params.yaml: run.openlineage.url",
            "is not an HTTP or HTTPS URL, or contains a password",
            hint="set key_env to the environment variable that contains the key",
        )
    return found


def read_prices(params: Mapping[str, object]) -> dict[str, tuple[float, float]]:
    """Read `run.prices`: model -> dollars per million input and output tokens.

    Raises BadInput for an invalid price.
    """
    run = params.get("run")
    given = run.get("prices") if isinstance(run, Mapping) else None
    try:
        prices = TypeAdapter(dict[str, Price]).validate_python(given or {})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInput(f"params.yaml: run.prices.{'.'.join(map(str, first['loc']))}", first["msg"]) from None
    return {
        model: (price.input_usd_per_million, price.output_usd_per_million) for model, price in prices.items()
    }


def order_stages(stages: Iterable[StageRecord]) -> list[StageRecord]:
    """Sort stages topologically, breaking ties by name."""
    waiting = sorted(stages, key=lambda stage: stage.name)
    ordered: list[StageRecord] = []
    while waiting:
        unmade = {out.path for stage in waiting for out in stage.outs}
        # If records depend on each other in a cycle, no stage is ready; taking the first ends the loop.
        ready = [stage for stage in waiting if not {dep.path for dep in stage.deps} & unmade] or waiting[:1]
        ordered += ready
        waiting = [stage for stage in waiting if stage not in ready]
    return ordered


def make_events(
    stages: Iterable[StageRecord], graph: Graph, maker: FacetMaker, emitted: datetime | None = None
) -> Iterator[Any]:
    """Make a COMPLETE event for each recorded stage.

    `emitted`: end time of the run. The time is part of the event's run id, since a later run may have the
    same record. If `emitted` is None, the run id depends only on the record, so the same lineage always has
    the same ids.
    """
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import execution_parameters_run

    namespace = maker.namespace
    for stage in stages:
        parameter = execution_parameters_run.ExecutionParameter
        parameters = [
            parameter(key=name, name=name, value=value)
            for name, value in describe_parameters(stage, graph).items()
        ]
        facets = {**describe_job(stage.command), **maker.locate_code(stage)}
        execution = execution_parameters_run.ExecutionParametersRunFacet(
            parameters=parameters, producer=PRODUCER
        )
        yield RunEvent(
            eventType=RunState.COMPLETE,
            eventTime=find_time(stage, maker.root),
            run=Run(
                runId=str(uuid.uuid5(RUNS, f"{stage.name}\n{emitted}")) if emitted else hash_record(stage),
                facets={"executionParameters": execution, **maker.count_calls(stage)},
            ),
            job=Job(namespace=namespace, name=stage.name, facets=facets),
            inputs=[
                InputDataset(
                    namespace,
                    name_file(dep.path),
                    facets=maker.describe_file(dep),
                    inputFacets=maker.tell_quality(dep),
                )
                for dep in stage.data
            ],
            outputs=[
                OutputDataset(
                    namespace,
                    name_file(out.path),
                    facets={**maker.describe_file(out), **maker.describe_columns(out, stage, name_file)},
                    outputFacets=maker.measure_output(out),
                )
                for out in stage.outs
            ],
            producer=PRODUCER,
        )


def describe_parameters(stage: StageRecord, graph: Graph) -> dict[str, str]:
    """Return a run's parameters, the hashes of its code, and the commit, without secrets."""
    found = {f"params.{name}": clean(value) for name, value in sorted(flatten(stage.params))}
    found |= {f"code.{file.path}": f"md5:{file.md5}" for file in stage.code}
    found["record"] = hash_record(stage)
    found["git.commit"] = graph.commit or "none"
    found["git.uncommitted_changes"] = str(graph.dirty).lower()
    found["git.recorded_in"] = graph.recorded_in or "none"
    return found


def flatten(params: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested parameters as (dotted name, value as text); the value of a secret is `(omitted)`."""
    for name, value in params.items():
        place = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{place}.")
        elif SECRET.search(str(name)) and not str(name).endswith("_env"):
            yield place, "(omitted)"
        else:
            yield place, str(value)


def clean(text: str) -> str:
    """Remove credentials from URLs, and the folders from absolute paths."""
    return ABSOLUTE.sub(r"outside/\1", SECRET_OPTION.sub(r"\1***", CREDENTIALS.sub("", text)))


def name_file(path: str) -> str:
    """Return a file's path in the project, or `outside/NAME` for a file outside the project."""
    pure = PurePath(path)
    return f"outside/{pure.name}" if pure.is_absolute() or ".." in pure.parts else pure.as_posix()


def hash_record(stage: StageRecord) -> str:
    """Return a UUID derived from a stage's record: name, files with their hashes, and parameters."""
    recorded = [stage.name, *(f"{file.path} {file.md5}" for file in (*stage.deps, *stage.outs))]
    return str(uuid.uuid5(RUNS, "\n".join([*recorded, repr(sorted(flatten(stage.params)))])))


def find_time(stage: StageRecord, root: Path) -> str:
    """Return the ISO time when a stage's newest output was written; the current time if no output exists."""
    times = [(root / out.path).stat().st_mtime for out in stage.outs if (root / out.path).exists()]
    return datetime.fromtimestamp(max(times), UTC).isoformat() if times else datetime.now(UTC).isoformat()


def _describe_server(destination: Destination) -> dict[str, Any]:
    server: dict[str, Any] = {"type": "http", "url": destination.url, "timeout": destination.timeout_s}
    server["retry"] = {"total": RETRIES, "connect": RETRIES, "read": RETRIES}
    if destination.key_env is not None:
        key = os.environ.get(destination.key_env)
        if key is None:
            raise BadInput(
                "run.openlineage.key_env", f"the environment variable {destination.key_env} is not set"
            )
        server["auth"] = {"type": "api_key", "apiKey": key}
    return server


def _send(events: Iterable[Any], config: dict[str, Any]) -> None:
    from openlineage.client.transport import get_default_factory

    transport = get_default_factory().create(config)
    try:
        for event in events:
            transport.emit(event)
    except Exception as error:  # noqa: BLE001 - its transports raise any error of their HTTP package
        raise NotSent(
            f"run.openlineage: the server did not accept the events: {type(error).__name__}"
        ) from None
    finally:
        transport.close()
