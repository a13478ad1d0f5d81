"""Tests of the files and servers of a project that another account on the machine can access."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from flows.nights.service_files import make_keys
from flows.run.prefect_server import read_auth, server_folder, start_server
from flows.run.servers import stop_servers
from flows.settings import find_project
from tasks.models.recording.ledger import Ledger
from tasks.models.serving.embedded import state_folder

PUBLIC = ["project", "project/dvc.yaml", "project/params.yaml", "states", "states/benchloom"]
"""Paths that other accounts may read: files in the user's readable folders, and parent folders."""
BECOME = """
import http.client, json, os, socket, sys
"".encode("idna")  # what is imported later could not be read
os.setgroups([]); os.setresgid(*[int(sys.argv[1])] * 3); os.setresuid(*[int(sys.argv[1])] * 3)
"""
SEARCH = """
found = []
for folder, folders, files in os.walk(sys.argv[2]):
    for name in folders + files:
        path = os.path.join(folder, name)
        if os.access(path, os.R_OK) or os.access(path, os.W_OK):
            found.append(os.path.relpath(path, sys.argv[2]))
print(json.dumps(sorted(found)))
"""
TALK = """
said = {}
for line in sys.argv[3:]:
    method, path = line.split()
    connection = http.client.HTTPConnection(sys.argv[2], timeout=20)
    body = None if method == "GET" else "{}"
    connection.request(method, path, body, {"Content-Type": "application/json"})
    said[path] = connection.getresponse().status
print(json.dumps(said))
"""
ASKED = [
    "GET /api/admin/settings",
    "POST /api/flows/filter",
    "POST /api/flow_runs/filter",
    "POST /api/logs/filter",
    "POST /api/deployments/filter",
    "POST /api/deployments/00000000-0000-0000-0000-000000000000/create_flow_run",
    "POST /api/flow_runs/",
    "POST /api/variables/",
]


@pytest.fixture(scope="module")
def account() -> Iterator[int]:
    if os.geteuid() != 0 or shutil.which("useradd") is None:
        pytest.skip("only root can add a second account, by useradd")
    name = f"benchloom{os.getpid()}"
    subprocess.run(["useradd", "--no-create-home", "--user-group", name], check=True, capture_output=True)
    try:
        yield int(subprocess.run(["id", "-u", name], check=True, capture_output=True, text=True).stdout)
    finally:
        subprocess.run(["userdel", name], check=True, capture_output=True)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that all accounts may enter, like many home folders; pytest's folder is private."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv("XDG_STATE_HOME", f"{folder}/states")
        yield Path(folder)


@pytest.fixture
def root(place: Path) -> Path:
    root = place / "project"
    for name in ("dvc.yaml", "params.yaml"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("{}\n")
    return find_project(root)


def run_as(account: int, script: str, *words: str) -> Any:
    command = [sys.executable, "-I", "-c", BECOME + script, str(account), *words]
    return json.loads(subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout)


def test_another_account_reads_nothing_of_a_project_and_its_user(
    account: int, place: Path, root: Path
) -> None:
    read_auth(root)
    make_keys(root / ".benchloom" / "nightly" / "keys.env", ["KEY"])
    (root / ".benchloom" / "stages").mkdir()
    (root / ".benchloom" / "stages" / "x.json").write_text("{}")
    (state_folder() / "model.log").write_text("a prompt")
    with closing(Ledger(place / "ledgers" / "ledger.sqlite")):
        seen = run_as(account, SEARCH, str(place))
    assert seen == PUBLIC


def test_a_state_that_was_open_is_closed(account: int, place: Path, root: Path) -> None:
    (root / ".benchloom").chmod(0o755)
    (root / ".benchloom" / "log").write_text("what was said")
    assert "project/.benchloom/log" in run_as(account, SEARCH, str(place))
    find_project(root)
    assert "project/.benchloom/log" not in run_as(account, SEARCH, str(place))


@pytest.mark.drill
@pytest.mark.timeout(280)
def test_another_account_is_refused_by_the_server_of_a_project(
    account: int, place: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    try:
        server = start_server(root)
        said = run_as(account, TALK, server.url.removeprefix("http://"), *ASKED)
        seen = run_as(account, SEARCH, str(place))
    finally:
        stop_servers(server_folder(root))
    assert said == dict.fromkeys(said, 401)
    assert seen == PUBLIC[:3]
