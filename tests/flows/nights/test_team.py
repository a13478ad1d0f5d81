"""Tests of several machines on one Prefect server: deployment files, and two workers on PostgreSQL."""

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import kubernetes_validate
import psutil
import pytest
import yaml
from prefect.client.schemas.objects import FlowRun
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_kubernetes.worker import KubernetesWorkerJobConfiguration

from flows.run.prefect_server import AUTH, SERVER_AUTH, read_auth
from tasks.artifacts.parquet import count_rows
from tests.databases.servers import open_place
from tests.flows.nights.night_project import set_param
from tests.flows.nights.test_night_drills import (
    EVERY_MINUTE,
    PATIENCE_S,
    find_port,
    find_processes,
    fired,
    kill_family,
    told,
)
from tests.flows.prefect_api import ask_prefect
from tests.flows.sample import ROOT, Sample, wait_for

TEAM = ROOT / "docs/team"


@pytest.fixture(scope="module")
def documents() -> list[dict]:
    return list(yaml.safe_load_all((TEAM / "kubernetes.yaml").read_text()))


def list_pods(documents: list[dict]) -> dict[str, dict]:
    return {
        document["metadata"]["name"]: document["spec"]["template"]["spec"]
        for document in documents
        if "template" in document.get("spec", {})
    }


def test_kubernetes_documents_hold_the_apis_schemas(documents):
    for document in documents:
        kubernetes_validate.validate(document, "1.37", strict=True)
    wrong = json.loads(json.dumps(documents[-1]))
    wrong["spec"]["replicas"] = "one"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.37", strict=True)


def test_what_kubernetes_documents_name_is_among_them(documents):
    named = {(document["kind"], document["metadata"]["name"]) for document in documents}
    for pod in list_pods(documents).values():
        for volume in pod.get("volumes", []):
            assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in named
        if account := pod.get("serviceAccountName"):
            assert ("ServiceAccount", account) in named
    for document in documents:
        if document["kind"] == "Service":
            assert document["spec"]["selector"]["app"] in list_pods(documents)
    text = (TEAM / "kubernetes.yaml").read_text()
    assert not re.search(r"(PASSWORD|AUTH)\w*, value:", text), "secrets come from secrets"


def test_the_job_template_is_rendered_by_prefects_worker_and_valid(documents):
    template = json.loads((TEAM / "job-template.json").read_text())
    with temporary_settings({PREFECT_API_URL: "http://server:4200/api"}):  # otherwise Prefect starts a server
        rendered = asyncio.run(
            KubernetesWorkerJobConfiguration.from_template_and_values(template, {"memory": "8Gi"})
        )
    rendered.prepare_for_flow_run(FlowRun(id=uuid4(), flow_id=uuid4(), name="night"))
    job = rendered.job_manifest
    pod = job["spec"]["template"]["spec"]
    for word in ("parallelism", "completions"):  # fields for Prefect that the API lacks
        pod.pop(word)
    job["metadata"]["name"] = job["metadata"].pop("generateName") + "1"
    kubernetes_validate.validate(job, "1.37", strict=True)
    (container,) = pod["containers"]
    assert container["resources"]["limits"]["memory"] == "8Gi"
    assert {"name": "BENCHLOOM_LEDGER", "value": "/ledger/ledger.sqlite"} in container["env"]
    assert container["args"] == ["prefect", "flow-run", "execute"]
    claims = {document["metadata"]["name"] for document in documents}
    assert {volume["persistentVolumeClaim"]["claimName"] for volume in pod["volumes"]} <= claims


def test_the_compose_file_names_what_it_uses_and_holds_no_secret():
    text = (TEAM / "compose.yaml").read_text()
    composed = yaml.safe_load(text)
    services = composed["services"]
    for service in services.values():
        assert service.get("image")
        assert set(service.get("depends_on", {})) <= services.keys()
        for mount in service.get("volumes", []):
            name = mount.partition(":")[0]
            assert name.startswith("$") or name in composed["volumes"]
    assert services["worker"]["image"] == services["server"]["image"]
    assert services["worker"]["command"][2:] == ["flows.cli", "nightly", "work", "--pool", "benchloom"]
    secrets = [line for line in text.splitlines() if re.search(r"_PASSWORD: |AUTH_STRING: |_URL: .*@", line)]
    assert secrets
    assert all("${" in line for line in secrets)
    assert services["server"]["ports"] == ["127.0.0.1:4200:4200"]


def test_the_image_has_what_a_run_needs_and_no_project():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert [line.split()[1] for line in lines if line.startswith("COPY")] == ["requirements.lock"]
    assert "USER benchloom" in lines
    assert any("--require-hashes" in line for line in lines)


@contextmanager
def serve_on_postgres(sample: Sample) -> Iterator[str]:
    """Serve Prefect's API from a PostgreSQL database; yield its URL."""
    port = find_port()
    with open_place("postgresql") as place:
        url = place.owner.url.set(drivername="postgresql+asyncpg").render_as_string(hide_password=False)
        environment = {
            **sample.environment,
            "PREFECT_API_DATABASE_CONNECTION_URL": url,
            SERVER_AUTH: read_auth(sample.root),
            "PREFECT_HOME": str(sample.root / ".benchloom/team"),
        }
        server = subprocess.Popen(
            sample.command("prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)),
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            served = f"http://127.0.0.1:{port}"
            wait_for(lambda: is_answering(sample.root, served), server, PATIENCE_S)
            yield served
        finally:
            kill_family(server.pid)
            server.wait()


def is_answering(root: Path, url: str) -> bool:
    try:
        ask_prefect(root, f"{url}/api/flows/filter")
    except OSError:
        return False
    return True


def start_worker(sample: Sample) -> subprocess.Popen[str]:
    command = sample.command("flows.cli", "nightly", "work")
    return subprocess.Popen(
        command, cwd=sample.root, env=sample.environment, stderr=subprocess.DEVNULL, text=True
    )


def find_worker(run: psutil.Process, workers: list[subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Find the worker that started a night."""
    above = {process.pid for process in run.parents()}
    (found,) = [worker for worker in workers if worker.pid in above]
    return found


@pytest.mark.drill
@pytest.mark.timeout(1500)
def test_a_night_whose_machine_dies_goes_on_with_another_worker_of_the_pool(built, model):
    set_param(built, EVERY_MINUTE)
    model.pause_s = 1.0
    set_param(built, "run.endpoints.qwen25-coder-1b5.in_flight=2")
    questions = count_rows(built.root / "data/grammar/films/questions.parquet")
    before = dict(built.environment)
    workers: list[subprocess.Popen[str]] = []
    try:
        with serve_on_postgres(built) as url:
            built.environment |= {"PREFECT_API_URL": f"{url}/api", AUTH: read_auth(built.root)}
            done = built.call("flows.cli", "nightly", "deploy")
            assert done.returncode == 0, done.stderr
            workers += [start_worker(built), start_worker(built)]
            wait_for(lambda: model.counted.requests >= 12, workers[0], PATIENCE_S)
            (run, *_) = find_processes(built, "flows.cli", "nightly", "inside")
            lost = find_worker(run, workers)
            kill_family(lost.pid)
            lost.wait()
            (left,) = [worker for worker in workers if worker is not lost]
            model.pause_s = 0
            wait_for(lambda: bool(told(built.root, url, "COMPLETED")), left, PATIENCE_S)
            assert len(fired(built.root, url)) >= 2
            print(model.counted.requests, model.counted.after_commit)
    finally:
        built.environment.clear()
        built.environment |= before
        for worker in workers:
            if worker.poll() is None:
                kill_family(worker.pid)
                worker.wait()
    assert model.counted.after_commit == 0, "what was paid for is never asked again"
    history = yaml.safe_load((built.root / "data/nightly/nights.json").read_text())
    assert history[0]["state"] == "accepted"
    assert [(metric["n"], metric["n_scored"]) for metric in history[0]["series"]] == [(questions, questions)]
