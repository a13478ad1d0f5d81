import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import psutil
import pytest

from tasks.errors import BadInput
from tasks.models.serving import embedded
from tasks.models.serving.embedded_server import wait_until_idle
from tasks.models.settings import EmbeddedModel
from tasks.processes import read_start

MODEL = EmbeddedModel(file="nothing.gguf", bytes=1, sha256="0" * 64, licence="MIT")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BENCHLOOM_MODELS", str(tmp_path / "models"))


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


def leave_state(pid, started, name="m"):
    state = embedded.state_folder() / f"{name}.json"
    fields = {"pid": pid, "started": started, "name": name, "sha256": MODEL.sha256, "context": MODEL.context,
             "threads": MODEL.threads, "url": "http://127.0.0.1:1/v1"}  # fmt: skip
    state.write_text(json.dumps(fields))
    return state


@contextmanager
def hold_use(project):
    """Make a process of another project use the server."""
    asking = (
        "import sys, pathlib; from tasks.models.serving.embedded import note_use; "
        "note_use('m', pathlib.Path(sys.argv[1])); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", asking, str(project)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
        user.stdout.readline()
        yield
        user.communicate()


def test_a_running_server_is_found_and_marked_as_used(sleeper):
    state = leave_state(sleeper.pid, read_start(sleeper.pid))
    os.utime(state, (0, 0))
    assert embedded.ensure_server("m", MODEL, 600) == "http://127.0.0.1:1/v1"
    assert time.time() - state.stat().st_mtime < 60
    assert [running.name for running in embedded.list_servers()] == ["m"]


def test_a_server_is_stopped(sleeper):
    leave_state(sleeper.pid, read_start(sleeper.pid))
    assert embedded.stop_servers() == ["m"]
    assert not sleeper.is_running() or sleeper.status() == psutil.STATUS_ZOMBIE
    assert embedded.list_servers() == []


def test_a_project_stops_its_own_servers_and_leaves_those_that_another_uses(sleeper, tmp_path):
    """Two projects: the first started the server, and a process of the second also calls it."""
    own, other = tmp_path / "own", tmp_path / "other"
    leave_state(sleeper.pid, read_start(sleeper.pid))
    (embedded.state_folder() / "m.owner").write_text(str(own))
    with hold_use(other):
        embedded.note_use("m", own)
        assert embedded.stop_own_servers(other) == embedded.Stopped([], {})
        assert embedded.stop_own_servers(own) == embedded.Stopped([], {"m": [str(other)]})
        assert sleeper.is_running()
    assert embedded.stop_own_servers(other) == embedded.Stopped([], {})
    assert embedded.stop_own_servers(own) == embedded.Stopped(["m"], {})
    assert embedded.list_servers() == []


def test_a_server_that_another_project_uses_is_not_replaced_by_one_with_other_settings(sleeper, tmp_path):
    leave_state(sleeper.pid, read_start(sleeper.pid))
    larger = MODEL.model_copy(update={"context": MODEL.context * 2})
    with hold_use(tmp_path / "other"), pytest.raises(BadInput) as caught:
        embedded.ensure_server("m", larger, 600)
    assert str(caught.value).startswith(f"m: is in use by {tmp_path}/other, with other settings")
    assert sleeper.is_running()


def test_the_time_of_day_may_be_set_while_a_server_runs(sleeper, monkeypatch):
    leave_state(sleeper.pid, read_start(sleeper.pid))
    monkeypatch.setattr(psutil.Process, "create_time", lambda _: time.time() - 7_200)
    assert [running.name for running in embedded.list_servers()] == ["m"]


def test_a_server_of_no_known_project_is_left_to_its_idle_time(sleeper):
    leave_state(sleeper.pid, read_start(sleeper.pid))
    assert embedded.stop_own_servers() == embedded.Stopped([], {})
    assert sleeper.is_running()


def test_a_process_that_only_has_the_same_id_is_left_alone(sleeper):
    leave_state(sleeper.pid, read_start(sleeper.pid) - 1_000)
    assert embedded.find_server("m") is None
    assert not embedded.stop_server("m")
    assert sleeper.is_running()


def test_a_broken_state_file_is_no_server():
    (embedded.state_folder() / "m.json").write_text('{"pid": 1')
    assert embedded.list_servers() == []


def test_a_model_that_is_not_here_says_how_to_get_it():
    with pytest.raises(BadInput, match="benchloom model pull m"):
        embedded.ensure_server("m", MODEL, 600)


def test_an_unused_server_ends_and_a_used_one_does_not(tmp_path):
    state = tmp_path / "m.json"
    state.write_text("{}")
    ended = threading.Event()

    def watch():
        wait_until_idle(state, 0.6, threading.Event(), poll_s=0.05)
        ended.set()

    thread = threading.Thread(target=watch)
    thread.start()
    for _ in range(10):
        time.sleep(0.1)
        os.utime(state)
    assert not ended.is_set()
    assert ended.wait(20)
    thread.join()


def test_a_server_whose_state_file_is_gone_ends(tmp_path):
    wait_until_idle(tmp_path / "gone.json", 0, threading.Event(), poll_s=0.01)


def test_a_missing_library_is_named_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setattr(embedded, "find_spec", lambda _: None)
    with pytest.raises(
        BadInput, match=r"^m: needs xllamacpp, which is not installed \(run pip install 'benchloom\[e"
    ):
        embedded.ensure_server("m", MODEL, 600)
