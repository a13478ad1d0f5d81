"""Tests of nightly runs with a real Prefect server: display, schedule, kill and continue."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml
from aiohttp import web

from flows.prefect_file import PREFECT_YAML
from flows.run.prefect_server import AUTH, read_auth, server_folder
from flows.run.servers import find_server, stop_servers
from tasks.artifacts.parquet import count_rows
from tests.flows.nights.night_project import list_branches, run_git, run_night, set_param
from tests.flows.prefect_api import ask_prefect
from tests.flows.sample import Sample, find_port, kill_family, wait_for
from tests.models.scenes import answering
from tests.signals import hear_signals

pytestmark = [pytest.mark.drill, pytest.mark.timeout(1500)]
PATIENCE_S = 600.0
EVERY_MINUTE = "nightly.cron='* * * * *'"


def read_list(root: Path, url: str, kind: str) -> list[dict]:
    try:
        return ask_prefect(root, f"{url}/api/{kind}/filter")
    except OSError:
        return []  # the server is still starting


def fired(root: Path, url: str) -> list[dict]:
    """List the flow runs created by a schedule, not the runs that contain a night's stages."""
    return [run for run in read_list(root, url, "flow_runs") if run["deployment_id"]]


def told(root: Path, url: str, state: str, words: str = "") -> list[str]:
    """List the messages of the scheduled runs in a state."""
    said = [run["state"]["message"] or "" for run in fired(root, url) if run["state_type"] == state]
    return [line for line in said if words in line]


class Deployed:
    """A deployment of nightly runs on a separate port, and the worker that the unit starts."""

    def __init__(self, sample: Sample) -> None:
        self.sample, self.port = sample, find_port()
        self.url = f"http://127.0.0.1:{self.port}"
        done = sample.call("flows.cli", "nightly", "deploy", "--port", str(self.port))
        assert done.returncode == 0, done.stderr
        self.said = done.stderr
        (unit,) = (sample.root / ".benchloom/nightly").glob("*.service")
        line = re.search("^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
        self.command = shlex.split(line[1])
        self.worker: subprocess.Popen[str] | None = None

    def work(self) -> subprocess.Popen[str]:
        self.worker = subprocess.Popen(
            self.command, cwd=self.sample.root, env=self.sample.environment, stderr=subprocess.PIPE,
            text=True, preexec_fn=hear_signals,
        )  # fmt: skip
        return self.worker

    def end(self) -> None:
        if self.worker is not None and self.worker.poll() is None:
            self.worker.send_signal(signal.SIGTERM)
            self.worker.communicate(timeout=120)
        stop_servers(server_folder(self.sample.root))


def find_processes(sample: Sample, *words: str) -> list[psutil.Process]:
    """Find the processes in the project whose command line contains all words."""
    found = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if all(word in command for word in words) and process.cwd().startswith(str(sample.root)):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_nights_stages_are_tasks_of_its_flow_run_with_their_parameters(built, model):
    try:
        done = built.call("flows.cli", "nightly", "once", "--as-of", "shown")
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        server = find_server(server_folder(built.root), "prefect")
        (flow,) = read_list(built.root, server.url, "flows")
        assert flow["name"] == "night shown"
        (run,) = read_list(built.root, server.url, "flow_runs")
        assert run["state_name"] == "Completed"
        stages = run["parameters"]["stages"]
        assert {"grammar-answers@films-weak", "grammar-canaries@films-weak"} <= set(stages)
        tasks = {task["name"]: task for task in read_list(built.root, server.url, "task_runs")}
        assert tasks.keys() == set(stages)
        assert {task["flow_run_id"] for task in tasks.values()} == {run["id"]}
        assert {task["state_type"] for task in tasks.values()} == {"COMPLETED"}
        tables = {
            table["task_run_id"]: table["data"] for table in read_list(built.root, server.url, "artifacts")
        }
        answers = tables[tasks["grammar-answers@films-weak"]["id"]]
        assert '"parameter evaluation.as_of", "figure": "\\"shown\\""' in answers
        assert '"parameter systems.weak.top_k"' in answers
    finally:
        stop_servers(server_folder(built.root))


@pytest.mark.usefixtures("without_rules")
def test_served_nights_fire_and_the_second_finds_a_planted_regression(built, model):
    set_param(built, EVERY_MINUTE)
    served = start_serving(built)
    try:
        wait_for(lambda: find_server(server_folder(built.root), "prefect") is not None, served)
        url = find_server(server_folder(built.root), "prefect").url
        wait_for(lambda: bool(told(built.root, url, "COMPLETED")), served, PATIENCE_S)
        model.broken = True
        wait_for(lambda: bool(told(built.root, url, "FAILED", "the mean fell by")), served, PATIENCE_S)
        assert "exit 5" in told(built.root, url, "FAILED", "the mean fell by")[0]
    finally:
        os.killpg(served.pid, signal.SIGINT)
        served.communicate(timeout=120)
        stop_servers(server_folder(built.root))


def start_serving(sample: Sample) -> subprocess.Popen[str]:
    return subprocess.Popen(
        sample.command("flows.cli", "nightly", "serve"),
        cwd=sample.root, env=sample.environment, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=hear_signals,
    )  # fmt: skip


def test_a_killed_serve_is_gone_on_with_by_the_next_and_nothing_is_paid_twice(built, model):
    """Kill the process twice in one night: first alone, then with its child processes."""
    set_param(built, EVERY_MINUTE)
    model.pause_s = 1.0
    set_param(built, "run.endpoints.qwen25-coder-1b5.in_flight=2")
    questions = count_rows(built.root / "data/grammar/films/questions.parquet")
    served = start_serving(built)
    try:
        for group in (False, True):
            start = model.counted.requests
            wait_for(lambda start=start: model.counted.requests >= start + 12, served, PATIENCE_S)
            if group:
                os.killpg(served.pid, signal.SIGKILL)
            else:
                served.kill()
            served.communicate()
            served = start_serving(built)
        model.pause_s = 0
        nights = built.root / "data/nightly/nights.json"
        wait_for(nights.exists, served, PATIENCE_S)
    finally:
        os.killpg(served.pid, signal.SIGINT)
        served.communicate(timeout=120)
        stop_servers(server_folder(built.root))
    history = yaml.safe_load(nights.read_text())
    print([night["label"] for night in history], model.counted.requests, model.counted.after_commit)
    assert model.counted.after_commit == 0
    assert history[0]["state"] == "accepted"
    assert [(metric["n"], metric["n_scored"]) for metric in history[0]["series"]] == [(questions, questions)]


@pytest.mark.usefixtures("without_rules")
def test_a_deployed_schedule_fires_runs_commits_and_alarms_beside_a_server_that_stays(built, model):
    posted = []

    async def hear(request: web.Request) -> web.Response:
        posted.append(await request.json())
        return web.json_response({})

    refused = built.call("flows.cli", "nightly", "work")
    assert refused.returncode == 2
    assert "this project has no nightly deployment (run `benchloom nightly deploy`)" in refused.stderr
    set_param(built, EVERY_MINUTE)
    with answering(hear) as hook:
        set_param(built, "nightly.webhook={url_env: NIGHT_HOOK}")
        built.environment["NIGHT_HOOK"] = f"{hook}/chat/completions"
        nights = Deployed(built)
        try:
            print(nights.said)
            assert "/api/api" not in nights.said
            assert read_auth(built.root) not in nights.said
            assert "prefect.yaml was written" in nights.said
            (declared,) = yaml.safe_load((built.root / PREFECT_YAML).read_text())["deployments"]
            (registered,) = read_list(built.root, nights.url, "deployments")
            assert registered["name"] == declared["name"] == "nightly"
            assert [schedule["schedule"]["cron"] for schedule in registered["schedules"]] == ["* * * * *"]
            assert not registered["parameters"]
            worker = nights.work()
            wait_for(lambda: bool(told(built.root, nights.url, "COMPLETED")), worker, PATIENCE_S)
            branch = list_branches(built)[0]
            wait_for(lambda: "Record the night" in run_git(built, "log", "-1", "--format=%s", branch), worker)
            assert "# Night" in run_git(built, "show", f"{branch}:nightly/summary.md")
            assert "films-weak" in (built.root / "data/nightly/index.html").read_text()
            assert not posted, "nobody is told of a good night"

            model.broken = True
            wait_for(
                lambda: bool(told(built.root, nights.url, "FAILED", "the mean fell by")), worker, PATIENCE_S
            )
            (alarm, *_) = told(built.root, nights.url, "FAILED", "the mean fell by")
            assert "exit 5: ALARM (regression): assessments.films-weak/weak accuracy" in alarm
            assert posted[0]["alarms"][0]["kind"] == "regression"
            assert posted[0]["branch"] in list_branches(built)
            subject = run_git(built, "log", "-1", "--format=%s", posted[0]["branch"])
            assert subject == f"Record the night {posted[0]['night']}"
            model.broken = False

            kill_family(find_server(server_folder(built.root), "prefect").pid)
            said = worker.communicate(timeout=120)[1]
            assert worker.returncode == 1
            assert "the Prefect server of the nightly deployment has stopped; run this command again" in said
            assert "Traceback" not in said
            worker = nights.work()
            before = len(told(built.root, nights.url, "COMPLETED"))
            wait_for(lambda: len(told(built.root, nights.url, "COMPLETED")) > before, worker, PATIENCE_S)
            assert find_server(server_folder(built.root), "prefect").url == nights.url
            worker.send_signal(signal.SIGTERM)
            worker.communicate(timeout=120)
            assert worker.returncode == 130

            assert "the nightly deployment needs" in built.call("flows.cli", "stop").stderr
            removed = built.call("flows.cli", "nightly", "deploy", "--remove")
            assert removed.returncode == 0, removed.stderr
            assert "the deployment was removed" in removed.stderr
            assert find_server(server_folder(built.root), "prefect") is None
            assert not list((built.root / ".benchloom/nightly").glob("*.service"))
        finally:
            built.environment.pop("NIGHT_HOOK")
            nights.end()


def test_prefect_deploy_registers_what_prefect_yaml_says(built, model):
    set_param(built, "nightly.cron='30 4 * * 1'")
    set_param(built, "nightly.timezone=Europe/Berlin")
    assert built.call("flows.cli", "graph", "--check").returncode == 1
    assert built.call("flows.cli", "graph").returncode == 0
    assert built.call("flows.cli", "graph", "--check").returncode == 0
    before = dict(built.environment)
    nights = Deployed(built)
    try:
        (registered,) = read_list(built.root, nights.url, "deployments")
        ours = {
            name: registered[name] for name in ("schedules", "pull_steps", "entrypoint", "work_pool_name")
        }
        built.environment |= {
            "PREFECT_API_URL": f"{nights.url}/api",
            AUTH: read_auth(built.root),
            "PREFECT_HOME": str(server_folder(built.root) / "prefect"),
        }
        deployment = f"night/{registered['name']}"
        assert built.call("prefect", "--no-prompt", "deployment", "delete", deployment).returncode == 0
        done = built.call("prefect", "--no-prompt", "deploy", "--all")
        assert done.returncode == 0, done.stdout + done.stderr
        (again,) = read_list(built.root, nights.url, "deployments")
        theirs = {name: again[name] for name in ours}
        for schedules in (ours["schedules"], theirs["schedules"]):
            for listed_schedule in schedules:
                for name in ("id", "created", "updated", "deployment_id"):
                    listed_schedule.pop(name)
        assert theirs == ours
        (schedule,) = ours["schedules"]
        assert (schedule["schedule"]["cron"], schedule["active"]) == ("30 4 * * 1", True)
        assert schedule["schedule"]["timezone"] == "Europe/Berlin"
    finally:
        built.environment.clear()
        built.environment |= before
        nights.end()


def test_killed_server_worker_and_run_lose_nothing_and_nothing_is_paid_twice(built, model):
    set_param(built, EVERY_MINUTE)
    model.pause_s = 1.0
    set_param(built, "run.endpoints.qwen25-coder-1b5.in_flight=2")
    questions = count_rows(built.root / "data/grammar/films/questions.parquet")
    nights = Deployed(built)
    killed = []

    def reach(more: int) -> None:
        """Wait until a running night has made `more` further calls."""
        start = model.counted.requests
        wait_for(lambda: model.counted.requests >= start + more, nights.worker, PATIENCE_S)

    try:
        nights.work()
        reach(12)
        second = run_night(built)
        assert second.returncode == 6, second.stderr
        assert re.search(r"the nightly run \S+ is running \(PID \d+, since ", second.stderr)
        kill_family(find_server(server_folder(built.root), "prefect").pid)
        killed.append(("server", model.counted.requests))
        nights.worker.communicate(timeout=180)
        assert nights.worker.returncode == 1

        # A night whose worker was killed still makes calls: wait for the next worker before counting.
        nights.work()
        wait_for(lambda: bool(find_processes(built, "prefect", "worker", "start")), nights.worker)
        reach(12)
        (inner,) = find_processes(built, "prefect", "worker", "start")
        nights.worker.kill()
        inner.kill()
        nights.worker.communicate()
        killed.append(("worker", model.counted.requests))

        nights.work()
        reach(12)
        runs = find_processes(built, "flows.cli", "nightly", "inside")
        for run in runs:
            run.kill()
        killed.append(("run", model.counted.requests))
        assert runs
        model.pause_s = 0
        wait_for(lambda: bool(told(built.root, nights.url, "COMPLETED")), nights.worker, PATIENCE_S)
        print(killed, model.counted.requests, model.counted.after_commit)
    finally:
        nights.end()
    assert model.counted.after_commit == 0, "what was paid for is never asked again"
    branch = list_branches(built)[0]
    assert len(list_branches(built)) == 1 or "Record the night" in run_git(
        built, "log", "-1", "--format=%s", branch
    )
    history = yaml.safe_load((built.root / "data/nightly/nights.json").read_text())
    assert (history[0]["label"], history[0]["state"]) == (branch.removeprefix("nightly/"), "accepted")
    assert [(metric["n"], metric["n_scored"]) for metric in history[0]["series"]] == [(questions, questions)]
    deadline = time.monotonic() + 60
    while found := find_processes(built, sys.executable, "flows.cli"):
        assert time.monotonic() < deadline, found
        time.sleep(0.5)
