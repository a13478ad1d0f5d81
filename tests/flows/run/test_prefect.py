"""Tests of `benchloom run` with a real Prefect server: states, tables, the same record as a plain run."""

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
import yaml

from flows.run.prefect_server import server_folder
from flows.run.servers import find_server, stop_servers
from tests.flows.prefect_api import ask_prefect
from tests.flows.sample import interrupt, wait_for
from tests.signals import hear_signals

RUN = [sys.executable, "-m", "flows.cli", "run"]


@pytest.fixture
def benchloom(project):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("PREFECT_API_URL", None)

    def call(*words, **variables):
        return subprocess.run(
            [*RUN, *words],
            cwd=project.root,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    yield call
    stop_servers(server_folder(project.root))


def ask_api(project, url, path):
    return ask_prefect(project.root, f"{url}/api/{path}/filter")


@pytest.mark.timeout(280)
def test_a_run_under_prefect(project, benchloom):
    first = benchloom()
    assert first.returncode == 0, first.stderr
    assert "starting a Prefect server" in first.stderr
    assert "3 stages: 3 ran" in first.stderr
    server = find_server(server_folder(project.root), "prefect")

    tables = {
        artifact["key"]: {row["what"]: row["figure"] for row in json.loads(artifact["data"])}
        for artifact in ask_api(project, server.url, "artifacts")
    }
    assert set(tables) == {"first", "second", "third"}
    assert {"model calls", "paid in this run, US dollars", "seconds"} <= set(tables["first"])

    theirs = yaml.safe_load(project.read("dvc.lock"))
    assert "up to date" in project.dvc("status")

    secret = server_folder(project.root) / "prefect.secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert secret.read_text() not in first.stderr
    for headers in (
        {},
        {"Authorization": "Basic YTpi"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
    ):
        for path in ("flow_runs/filter", "deployments/filter", "admin/settings"):
            request = urllib.request.Request(f"{server.url}/api/{path}", b"{}", headers)
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(request)

    again = benchloom(PREFECT_API_URL=f"{server.url}/api")
    assert again.returncode == 0, again.stderr
    assert "starting a Prefect server" not in again.stderr
    assert "3 stages: 3 up to date" in again.stderr
    states = sorted((run["name"], run["state_name"]) for run in ask_api(project, server.url, "task_runs"))
    assert states == [
        ("first", "Cached"), ("first", "Completed"), ("second", "Cached"), ("second", "Completed"),
        ("third", "Cached"), ("third", "Completed"),
    ]  # fmt: skip

    project.write("dvc.yaml", project.read("dvc.yaml").replace("tr a-z A-Z < first.txt", "false"))
    broken = benchloom(PREFECT_API_URL=f"{server.url}/api")
    assert broken.returncode == 1
    assert "1 failed" in broken.stderr
    assert "Traceback" not in broken.stderr
    flows = ask_api(project, server.url, "flow_runs")
    assert sorted(run["state_name"] for run in flows) == ["Completed", "Completed", "Failed"]

    (project.root / "dvc.yaml").write_text(
        project.read("dvc.yaml").replace("false >", "tr a-z A-Z < first.txt >")
    )
    assert benchloom("--plain").returncode == 0
    assert yaml.safe_load(project.read("dvc.lock")) == theirs


@pytest.mark.timeout(280)
def test_a_run_whose_server_does_not_come_up_goes_on_without_it(project, benchloom, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sitecustomize.py").write_text(
        "import sys\nif 'prefect' in sys.orig_argv: raise SystemExit(1)\n"
    )
    path = os.pathsep.join([str(tmp_path / "bin"), *sys.path])
    done = benchloom(PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "the prefect server did not start; its log is" in done.stderr
    assert "this run continues without Prefect" in done.stderr
    assert "3 stages: 3 ran" in done.stderr


@pytest.mark.drill
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_under_prefect_ends_the_stage_that_runs_and_the_next_run_goes_on(project, benchloom, number):
    slow = "sleep 120 && wc -c < first.txt > third.txt"
    quick = project.read("dvc.yaml")
    project.write("dvc.yaml", quick.replace("wc -c < first.txt > third.txt", slow))
    process = subprocess.Popen(
        RUN,
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_signals,
    )
    wait_for(lambda: (project.root.parent / "second.runs").exists(), process)
    said = interrupt(process, number)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "stopping: finished stages are kept" in said
    assert list(yaml.safe_load(project.read("dvc.lock"))["stages"]) == ["first", "second"]

    project.write("dvc.yaml", quick)
    again = benchloom()
    assert again.returncode == 0, again.stderr
    assert "3 stages: 1 ran, 2 up to date" in again.stderr
