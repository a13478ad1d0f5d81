"""The stages of a lineage as OpenLineage events, by the official package: into a file, or to a server.

An event holds names, hashes, parameters and the commit. It holds no path of this machine and no secret: the
package's own additions (environment variables, git remotes) are left out by handing events straight to its
transport.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from flows.settings import load_params, parse_section
from tasks.errors import BadInput, BenchloomError
from tasks.lineage.records import FileRecord, Graph, StageRecord
from tasks.lineage.result import LineageResult

PRODUCER = "urn:benchloom:lineage"
RUNS = uuid.uuid5(uuid.NAMESPACE_URL, PRODUCER)
CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
ABSOLUTE = re.compile(r"(?<![\w./:-])/(?:[^\s'\",\]]+/)*([^\s'\",\]/]+)")
SECRET = re.compile(r"password|secret|token$|api_?key", re.IGNORECASE)


class Destination(BaseModel):
    """`run.openlineage` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: str | None = None
    """Of an OpenLineage server; null writes a file. Without a password: name one in key_env."""
    key_env: str | None = None
    """The NAME of the environment variable that holds the server's key."""
    namespace: str = Field(default="benchloom", min_length=1)
    timeout_s: float = Field(default=10, gt=0)


class NotSent(BenchloomError):
    """The OpenLineage server did not take the events."""


def emit_events(lineage: LineageResult, root: Path, file: Path) -> str:
    """Emit an event for each stage of a lineage, sources first; say where they went.

    Raises BadInput where `run.openlineage` is not as it must be, and NotSent where the server refuses.
    """
    from openlineage.client.serde import Serde

    destination = read_destination(load_params(root))
    graph = lineage.graph
    names = {node.reference for node in lineage.list_kind("stage")}
    stages = [stage for stage in graph.stages if stage.name in names] if graph else []
    if graph is None or not stages:
        raise BadInput(lineage.target, "no recorded stage made it, so there is no event")
    events = list(make_events(order_stages(stages), graph, destination.namespace, root))
    if destination.url is None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        _send(events, {"type": "file", "log_file_path": str(file), "append": True})
        return f"{len(events)} events: {file}"
    for event in events:
        Serde.to_json(event)  # refused here, before the first is sent
    _send(events, _describe_server(destination))
    return f"{len(events)} events: sent to {destination.url}"


def read_destination(params: Mapping[str, Any]) -> Destination:
    """Read `run.openlineage`; raises BadInput without repeating a value."""
    found = parse_section(params, "run.openlineage", Destination)
    if found.url is not None and (
        CREDENTIALS.search(found.url) or not found.url.startswith(("http://", "https://"))
    ):
        raise BadInput(
            "params.yaml: run.openlineage.url", "is no http(s) address without a password", hint="use key_env"
        )
    return found


def order_stages(stages: Iterable[StageRecord]) -> list[StageRecord]:
    """Put stages behind those whose outputs they read; ties by name."""
    waiting = sorted(stages, key=lambda stage: stage.name)
    ordered: list[StageRecord] = []
    while waiting:
        unmade = {out.path for stage in waiting for out in stage.outs}
        ready = [stage for stage in waiting if not {dep.path for dep in stage.deps} & unmade] or waiting[:1]
        ordered += ready
        waiting = [stage for stage in waiting if stage not in ready]
    return ordered


def make_events(stages: Iterable[StageRecord], graph: Graph, namespace: str, root: Path) -> Iterator[Any]:
    """Make a COMPLETE event of each recorded stage.

    A run's id follows from what is recorded of it, so the same run is the same event wherever it is told.
    """
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import execution_parameters_run, job_type_job, source_code_job

    for stage in stages:
        parameter = execution_parameters_run.ExecutionParameter
        parameters = [
            parameter(key=name, name=name, value=value)
            for name, value in tell_parameters(stage, graph).items()
        ]
        facets = {
            "jobType": job_type_job.JobTypeJobFacet(
                processingType="BATCH", integration="BENCHLOOM", jobType="STAGE", producer=PRODUCER
            ),
            "sourceCode": source_code_job.SourceCodeJobFacet(
                language="shell", sourceCode=clean(stage.command), producer=PRODUCER
            ),
        }
        execution = execution_parameters_run.ExecutionParametersRunFacet(
            parameters=parameters, producer=PRODUCER
        )
        yield RunEvent(
            eventType=RunState.COMPLETE,
            eventTime=find_time(stage, root),
            run=Run(runId=name_run(stage), facets={"executionParameters": execution}),
            job=Job(namespace=namespace, name=stage.name, facets=facets),
            inputs=[
                InputDataset(namespace, name_file(dep.path), facets=tell_version(dep)) for dep in stage.data
            ],
            outputs=[
                OutputDataset(namespace, name_file(out.path), facets=tell_version(out)) for out in stage.outs
            ],
            producer=PRODUCER,
        )


def tell_version(file: FileRecord) -> dict[str, Any]:
    """Give the facet that holds a file's hash, where it has one."""
    from openlineage.client.facet_v2 import dataset_version_dataset as facets

    if file.md5 is None:
        return {}
    return {"version": facets.DatasetVersionDatasetFacet(f"md5:{file.md5}", producer=PRODUCER)}


def tell_parameters(stage: StageRecord, graph: Graph) -> dict[str, str]:
    """Give what shaped a run: its parameters, its code's hashes, and the commit; nothing secret."""
    told = {f"params.{name}": clean(value) for name, value in sorted(flatten(stage.params))}
    told |= {f"code.{file.path}": f"md5:{file.md5}" for file in stage.code}
    told["git.commit"] = graph.commit or "none"
    told["git.uncommitted_changes"] = str(graph.dirty).lower()
    told["git.recorded_in"] = graph.recorded_in or "none"
    return told


def flatten(params: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Give nested parameters by dotted name, values as text; a secret's value is left out."""
    for name, value in params.items():
        place = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{place}.")
        elif SECRET.search(str(name)) and not str(name).endswith("_env"):
            yield place, "(left out)"
        else:
            yield place, str(value)


def clean(text: str) -> str:
    """Take out credentials in URLs and the folders of absolute paths."""
    return ABSOLUTE.sub(r"outside/\1", CREDENTIALS.sub("", text))


def name_file(path: str) -> str:
    """Name a file by its path in the project; one outside it by its own name alone."""
    pure = PurePath(path)
    return f"outside/{pure.name}" if pure.is_absolute() or ".." in pure.parts else pure.as_posix()


def name_run(stage: StageRecord) -> str:
    """Make a run's id of what is recorded of it."""
    recorded = [stage.name, *(f"{file.path} {file.md5}" for file in (*stage.deps, *stage.outs))]
    return str(uuid.uuid5(RUNS, "\n".join([*recorded, repr(sorted(flatten(stage.params)))])))


def find_time(stage: StageRecord, root: Path) -> str:
    """Say when a stage's newest output was written; now, where none is here."""
    times = [(root / out.path).stat().st_mtime for out in stage.outs if (root / out.path).exists()]
    return datetime.fromtimestamp(max(times), UTC).isoformat() if times else datetime.now(UTC).isoformat()


def _describe_server(destination: Destination) -> dict[str, Any]:
    server: dict[str, Any] = {"type": "http", "url": destination.url, "timeout": destination.timeout_s}
    if destination.key_env is not None:
        key = os.environ.get(destination.key_env)
        if key is None:
            raise BadInput("run.openlineage.key_env", f"the environment has no {destination.key_env}")
        server["auth"] = {"type": "api_key", "apiKey": key}
    return server


def _send(events: Iterable[Any], config: dict[str, Any]) -> None:
    from openlineage.client.transport import get_default_factory

    transport = get_default_factory().create(config)
    try:
        for event in events:
            transport.emit(event)
    except Exception as error:  # noqa: BLE001 - its transports raise whatever their HTTP package does
        raise NotSent(f"run.openlineage: the events were not taken: {type(error).__name__}") from None
    finally:
        transport.close()
