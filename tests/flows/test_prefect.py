"""`benchloom run` under a real Prefect server: states, tables, and the same record as a plain run."""

import json
import os
import subprocess
import sys
import urllib.request

import pytest
import yaml

from flows.prefect_server import server_folder
from flows.servers import find_server, stop_servers

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


def ask_api(url, path):
    request = urllib.request.Request(f"{url}/api/{path}/filter", b"{}", {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


@pytest.mark.timeout(280)
def test_a_run_under_prefect(project, benchloom):
    first = benchloom()
    assert first.returncode == 0, first.stderr
    assert "starting a Prefect server" in first.stderr
    assert "3 stages: 3 ran" in first.stderr
    server = find_server(server_folder(project.root), "prefect")

    tables = {
        each["key"]: {row["what"]: row["figure"] for row in json.loads(each["data"])}
        for each in ask_api(server.url, "artifacts")
    }
    assert set(tables) == {"first", "second", "third"}
    assert {"model calls", "paid by this run, dollars", "seconds"} <= set(tables["first"])

    theirs = yaml.safe_load(project.read("dvc.lock"))
    assert "up to date" in project.dvc("status")

    again = benchloom(PREFECT_API_URL=f"{server.url}/api")
    assert again.returncode == 0, again.stderr
    assert "starting a Prefect server" not in again.stderr
    assert "3 stages: 3 up to date" in again.stderr
    states = sorted((run["name"], run["state_name"]) for run in ask_api(server.url, "task_runs"))
    assert states == [
        ("first", "Cached"), ("first", "Completed"), ("second", "Cached"), ("second", "Completed"),
        ("third", "Cached"), ("third", "Completed"),
    ]  # fmt: skip

    project.write("dvc.yaml", project.read("dvc.yaml").replace("tr a-z A-Z < first.txt", "false"))
    broken = benchloom(PREFECT_API_URL=f"{server.url}/api")
    assert broken.returncode == 1
    assert "1 failed" in broken.stderr
    assert "Traceback" not in broken.stderr
    flows = ask_api(server.url, "flow_runs")
    assert sorted(run["state_name"] for run in flows) == ["Completed", "Completed", "Failed"]

    (project.root / "dvc.yaml").write_text(
        project.read("dvc.yaml").replace("false >", "tr a-z A-Z < first.txt >")
    )
    assert benchloom("--plain").returncode == 0
    assert yaml.safe_load(project.read("dvc.lock")) == theirs
