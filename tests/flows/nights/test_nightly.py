"""Nights on the whole project: asked anew each time, compared in pairs, alarmed on a real drop."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from flows.run.prefect_server import read_auth, server_folder
from flows.run.servers import find_server, stop_servers
from tasks.artifacts.parquet import count_rows
from tests.flows.night_model import NightModel
from tests.flows.prefect_api import ask_prefect
from tests.flows.sample import NOWHERE, Sample, make_sample, wait_for
from tests.models.scenes import answering

GROUND = "grammar-assessment@films-weak"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Sample:
    """The project with all that a night stands on, from the shipped ledger."""
    sample = make_sample(tmp_path_factory.mktemp("night"))
    sample.run(GROUND)
    return sample


@pytest.fixture
def model(built) -> Iterator[NightModel]:
    model = NightModel()
    with answering(model.answer) as url:
        params = built.root / "params.yaml"
        before = params.read_text()
        set_param(built, f"run.endpoints.qwen25-coder-1b5={{kind: openai, url: '{url}', in_flight: 16}}")
        set_param(built, "nightly.assessments=[films-weak]")
        yield model
        params.write_text(before)
    nights = built.root / "data/nightly"
    for path in sorted(nights.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def set_param(sample: Sample, assignment: str) -> None:
    from flows.settings import set_params

    set_params(sample.root, [assignment])


def run_night(sample: Sample, *words: str) -> subprocess.CompletedProcess[str]:
    return sample.call("flows.cli", "nightly", "once", *words)


@pytest.mark.timeout(280)
def test_a_night_asks_anew_passes_unchanged_and_alarms_on_a_planted_regression(built, model):
    lock = (built.root / "dvc.lock").read_bytes()
    first = run_night(built, "--as-of", "one")
    assert first.returncode == 0, first.stderr
    assert "the first night, accepted" in first.stderr
    asked = dict(model.asked)
    # Each question once; the assessment leaves the reference-free methods out.
    assert asked["system"] == count_rows(built.root / "data/grammar/films/questions.parquet")
    assert asked["judge"] >= 48, "the canaries of both sets are judged, whatever rules decide of the answers"
    assert "construction" not in asked

    again = run_night(built, "--as-of", "one")
    assert again.returncode == 0, again.stderr
    assert dict(model.asked) == asked, "the same label goes on from the ledger"

    second = run_night(built, "--as-of", "two", "--json")
    assert second.returncode == 0, second.stderr
    assert dict(model.asked) == {kind: 2 * count for kind, count in asked.items()}
    (night,) = json.loads(second.stdout)
    assert (night["against"], night["accepted"], night["change"]["difference"]) == ("one", True, 0.0)

    model.broken = True
    third = run_night(built, "--as-of", "three")
    assert third.returncode == 5, third.stderr
    assert "ALARM: the mean fell by" in third.stderr
    assert "Traceback" not in third.stderr

    model.broken = False
    fourth = run_night(built, "--as-of", "four", "--json")
    assert json.loads(fourth.stdout)[0]["against"] == "two", "an alarmed night is nothing to compare with"

    later = run_night(built, "--as-of", "two", "--json")
    assert json.loads(later.stdout)[0]["against"] == "one", "what came after is no past of it"
    history = json.loads((built.root / "data/nightly/nights.json").read_text())
    assert [night["label"] for night in history] == ["one", "two", "three", "four"]

    page = (built.root / "data/nightly/index.html").read_text()
    assert "films-weak" in page
    assert "the mean fell by" in page
    assert (built.root / "dvc.lock").read_bytes() == lock
    assert "nightly" not in built.dvc("status")


def test_a_night_whose_endpoint_is_gone_ends_with_a_line_and_goes_on(built, model):
    set_param(built, NOWHERE)
    done = run_night(built, "--as-of", "lost")
    assert done.returncode in (1, 5), done.stderr
    assert "Traceback" not in done.stderr


def test_a_night_stands_on_what_is_up_to_date(built, model):
    text = (built.root / "params.yaml").read_text()
    set_param(built, "grammar.questions.groups=29")
    done = run_night(built, "--as-of", "stale")
    (built.root / "params.yaml").write_text(text)
    assert done.returncode == 2
    assert "grammar-questions@films: is not up to date" in done.stderr
    assert not model.asked


@pytest.mark.parametrize(
    ("assignment", "words", "line"),
    [
        ("nightly.assessments=[]", (), "nightly.assessments: is empty: name what to ask (there: films-alone"),
        ("nightly.assessments=[nobody]", (), "no assessment 'nobody' (there: films-alone"),
        ("nightly.alarm={drop: -1}", (), ": nightly.alarm.drop: must be "),
        ("nightly.cron=daily", ("--as-of", "../up"), "--as-of ../up: is no label"),
    ],
)
def test_what_is_wrong_with_a_night_is_one_line(built, model, assignment, words, line):
    set_param(built, assignment)
    done = run_night(built, *words)
    assert done.returncode == 2, done.stderr
    assert line in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("benchloom:")]) == 1
    assert not model.asked


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_a_cron_a_minute_ahead_fires_and_its_second_night_finds_a_planted_regression(built, model):
    # More than a minute ahead: a server that is up late misses the first, and an hour passes to the next.
    now = time.localtime()
    minutes = sorted({(now.tm_min + ahead) % 60 for ahead in (2, 4)})
    set_param(built, f"nightly.cron='{','.join(map(str, minutes))} * * * *'")
    served = subprocess.Popen(
        built.command("flows.cli", "nightly", "serve"),
        cwd=built.root, env=built.environment, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(lambda: find_server(server_folder(built.root), "prefect") is not None, served)
        server = find_server(server_folder(built.root), "prefect")
        wait_for(lambda: finished(built.root, server.url) == ["Completed"], served, 300)
        model.broken = True
        asked = dict(model.asked)
        wait_for(lambda: len(finished(built.root, server.url)) == 2, served, 300)
        assert sorted(finished(built.root, server.url)) == ["Completed", "Failed"]
        failed = next(run for run in flow_runs(built.root, server.url) if run["state_name"] == "Failed")
        assert "exit 5" in failed["state"]["message"]
        assert "the mean fell by" in failed["state"]["message"]
        assert dict(model.asked) == {kind: 2 * count for kind, count in asked.items()}
    finally:
        os.killpg(served.pid, signal.SIGINT)
        served.communicate(timeout=60)
        stop_servers(server_folder(built.root))


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_deployed_nights_are_run_by_what_the_unit_starts_beside_a_server_that_stays(built, model):
    set_param(built, "nightly.cron='* * * * *'")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder, url = server_folder(built.root), f"http://127.0.0.1:{port}"
    refused = built.call("flows.cli", "nightly", "work")
    assert refused.returncode == 2
    assert "no nights are deployed here (benchloom nightly deploy)" in refused.stderr
    deployed = built.call("flows.cli", "nightly", "deploy", "--port", str(port))
    assert deployed.returncode == 0, deployed.stderr
    print(deployed.stderr)
    assert "/api/api" not in deployed.stderr
    assert read_auth(built.root) not in deployed.stderr
    (unit,) = (built.root / ".benchloom/nightly").glob("*.service")
    command = shlex.split(re.search("^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)[1])
    try:
        first = find_server(folder, "prefect")
        assert first.url == url
        worker = subprocess.Popen(
            command, cwd=built.root, env=built.environment, stderr=subprocess.PIPE, text=True
        )
        wait_for(lambda: "Completed" in finished(built.root, url), worker, 300)
        first_pid = psutil.Process(first.pid)
        for process in [*first_pid.children(recursive=True), first_pid]:
            process.kill()
        said = worker.communicate(timeout=60)[1]
        assert worker.returncode == 1
        assert "the Prefect server of the deployed nights has ended; start this again" in said
        assert "Traceback" not in said

        worker = subprocess.Popen(
            command, cwd=built.root, env=built.environment, stderr=subprocess.PIPE, text=True
        )
        before = len(flow_runs(built.root, url))
        wait_for(lambda: finished(built.root, url).count("Completed") >= 2, worker, 300)
        assert find_server(folder, "prefect").url == url
        assert len(flow_runs(built.root, url)) > before
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)
        assert worker.returncode == 130

        assert "the deployed nights wait for theirs" in built.call("flows.cli", "stop").stderr
        removed = built.call("flows.cli", "nightly", "deploy", "--remove")
        assert removed.returncode == 0, removed.stderr
        assert "the deployment is taken back" in removed.stderr
        assert find_server(folder, "prefect") is None
        assert not list((built.root / ".benchloom/nightly").glob("*.service"))
    finally:
        if worker.poll() is None:
            worker.kill()
            worker.communicate()
        stop_servers(folder)


def flow_runs(root: Path, url: str) -> list[dict]:
    try:
        return ask_prefect(root, f"{url}/api/flow_runs/filter")
    except OSError:
        return []  # it is still coming up


def finished(root: Path, url: str) -> list[str]:
    ended = ("COMPLETED", "FAILED", "CRASHED")
    return [run["state_name"] for run in flow_runs(root, url) if run["state_type"] in ended]
