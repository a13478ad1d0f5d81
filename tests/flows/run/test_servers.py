"""Tests of background servers: shared, ended when idle or by stop, and separate for each project."""

import json
import shutil
import sys
import threading
import time
import urllib.request

import psutil
import pytest

from flows.run.servers import ensure_server, find_server, stop_servers, touch_server
from tasks.errors import BenchloomError

COMMAND = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "{port}"]


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def folder(tmp_path):
    yield tmp_path / "servers"
    stop_servers(tmp_path / "servers")


def test_many_who_ask_at_once_get_one_server(folder):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(ensure_server(folder, "web", COMMAND, "/", {})))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({server.url for server in found}) == 1
    with urllib.request.urlopen(found[0].url) as reply:
        assert reply.status == 200


def test_stop_ends_the_server_and_its_supervisor(folder):
    server = ensure_server(folder, "web", COMMAND, "/", {})
    family = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
    assert stop_servers(folder) == ["web"]
    assert wait_until(lambda: not any(process.is_running() for process in family))
    assert find_server(folder, "web") is None
    assert stop_servers(folder) == []


def test_an_idle_server_ends_by_itself_and_a_used_one_does_not(folder):
    server = ensure_server(folder, "web", COMMAND, "/", {}, idle_s=4)
    for _ in range(8):
        touch_server(folder, "web")
        time.sleep(0.8)
    assert server.is_alive()
    assert wait_until(lambda: not server.is_alive())


def test_a_process_that_only_has_the_same_id_is_left_alone(folder):
    folder.mkdir(parents=True)
    stranger = psutil.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    state = {"name": "web", "url": "http://127.0.0.1:1", "pid": stranger.pid, "started": 1.0}
    (folder / "web.server.json").write_text(json.dumps(state))
    assert find_server(folder, "web") is None
    assert stop_servers(folder) == []
    assert stranger.is_running()
    stranger.kill()
    stranger.wait()


def test_a_copy_of_a_project_has_no_server_and_a_moved_one_keeps_its_own(folder, tmp_path):
    server = ensure_server(folder, "web", COMMAND, "/", {})
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert stop_servers(copy) == []
    assert server.is_alive()
    assert find_server(folder, "web") == server
    moved = folder.rename(tmp_path / "moved")
    assert stop_servers(moved) == ["web"]
    assert wait_until(lambda: not server.is_alive())


def test_a_server_that_does_not_start_is_said_with_its_log(folder):
    with pytest.raises(BenchloomError, match=r"the web server did not start; its log is .*web.log"):
        ensure_server(folder, "web", [sys.executable, "-c", "raise SystemExit(3)"], "/", {})
