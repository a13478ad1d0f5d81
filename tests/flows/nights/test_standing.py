"""What a deployment of nights goes on by: a port of its own, and files that hold no secret."""

import math
import shlex
import shutil
import socket
import stat
import subprocess
import sys

import pytest
import yaml

from flows.nights.standing import FOLDER, write_files
from flows.run import prefect_server
from flows.run.prefect_server import (
    AUTH_FILE,
    describe_url,
    find_foreign,
    read_auth,
    read_port,
    server_folder,
    stand_server,
    start_server,
)
from flows.run.servers import ensure_server, find_server, require_free_port, stop_servers
from tasks.errors import BadInput
from tests.flows.sample import find_port

PARAMS = {
    "run": {"endpoints": {"hosted": {"url": "https://host/v1", "key_env": "MY_API_KEY"}}},
    "databases": {"shop": {"password_env": "SHOP_PASSWORD"}},
}
WEB = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "{port}"]


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    root = tmp_path / "my $project 100%"
    root.mkdir()
    yield root
    stop_servers(server_folder(root))


@pytest.fixture
def taken():
    """A port on which something else listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_neither_file_holds_a_secret_and_the_one_for_keys_is_its_owners(root, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-told-to-nobody")
    secret = read_auth(root)
    files = write_files(root, "benchloom", PARAMS)
    assert stat.S_IMODE(files.keys.stat().st_mode) == 0o600
    assert "MY_API_KEY, SHOP_PASSWORD" in files.keys.read_text()
    for path in (root / FOLDER).iterdir():
        assert secret not in path.read_text()
        assert "sk-told-to-nobody" not in path.read_text()
    files.keys.write_text("MY_API_KEY=mine")
    write_files(root, "benchloom", PARAMS)
    assert files.keys.read_text() == "MY_API_KEY=mine"
    files.keys.chmod(0o640)
    with pytest.raises(BadInput, match=r"keys\.env: can be read by others \(chmod 600 "):
        write_files(root, "benchloom", PARAMS)


def test_the_unit_is_one_that_systemd_reads_and_starts_a_worker_in_the_project(root):
    files = write_files(root, 'a "pool" at 5%', PARAMS)
    settings = dict(line.split("=", 1) for line in files.unit.read_text().splitlines() if "=" in line)
    assert settings["WorkingDirectory"] == str(root).replace("%", "%%")
    assert settings["EnvironmentFile"] == "-" + str(files.keys).replace("%", "%%")
    words = shlex.split(settings["ExecStart"])
    assert words == [sys.executable, "-m", "flows.cli", "nightly", "work", "--pool", 'a "pool" at 5%%']
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    done = subprocess.run(
        ["systemd-analyze", "verify", files.unit], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_container_finds_the_project_and_what_was_paid_for_in_place(root, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/var/my data")
    text = write_files(root, "benchloom", PARAMS).compose.read_text()
    service = yaml.safe_load(text.replace("$$", "$"))["services"]["nights"]
    assert service["working_dir"] == service["build"]["context"] == str(root)
    assert service["volumes"] == [f"{root}:{root}", "/var/my data/benchloom:/var/my data/benchloom"]
    assert service["environment"]["XDG_DATA_HOME"] == "/var/my data"
    assert "requirements.lock" in service["build"]["dockerfile_inline"]
    assert "$" not in text.replace("$$", "")


def test_a_path_that_would_add_lines_to_the_unit_is_refused(tmp_path):
    with pytest.raises(BadInput, match="control characters"):
        write_files(tmp_path / "x\nExecStartPre=touch pwned", "benchloom", PARAMS)
    with pytest.raises(BadInput, match="control characters"):
        write_files(tmp_path, "benchloom\nExecStartPre=touch pwned", PARAMS)


def test_a_port_that_is_taken_is_said_in_a_line_and_nothing_stands(root, taken):
    line = rf"port {taken}: is not free: .* \(`benchloom nightly deploy --port` takes another\)"
    with pytest.raises(BadInput, match=line), stand_server(root, taken, print):
        pass
    assert read_port(root) is None
    with pytest.raises(BadInput, match=line):
        ensure_server(server_folder(root), "prefect", WEB, "/", {}, port=taken)
    assert find_server(server_folder(root), "prefect") is None


def test_a_server_that_stays_keeps_its_port_and_takes_the_place_of_one_that_would_not(root, monkeypatch):
    asked = []

    def ensure_web(folder, name, command, path, environment, idle_s, port):
        asked.append((idle_s, port))
        return ensure_server(folder, name, WEB, "/", {}, idle_s, port)

    monkeypatch.setattr(prefect_server, "ensure_server", ensure_web)
    said, port = [], find_port()
    passing = start_server(root)
    with pytest.raises(ZeroDivisionError), stand_server(root, port, said.append):
        raise ZeroDivisionError  # what could not be deployed needs no server
    assert (read_port(root), passing.is_alive()) == (None, False)
    passing = start_server(root)
    with stand_server(root, port, said.append):
        standing = start_server(root)
    assert standing.url == describe_url(port)
    assert [passing.is_alive(), standing.is_alive()] == [False, True]
    assert said[1] == f"the Prefect server at {passing.url} makes room for one that stays, on port {port}"
    with stand_server(root, port, said.append):  # deployed again: it is left alone
        assert standing.is_alive()
    stop_servers(server_folder(root))
    require_free_port(port)
    assert start_server(root).url == standing.url
    assert asked == [(600.0, None), (600.0, None), (math.inf, port), (math.inf, port)]

    monkeypatch.setenv("PREFECT_API_URL", f"{standing.url}/api/")
    assert find_foreign(root) is None
    monkeypatch.setenv("PREFECT_API_URL", "https://prefect.example/api")
    assert find_foreign(root) == "https://prefect.example"


def test_a_port_file_that_holds_none_is_named(root):
    read_auth(root)
    (server_folder(root) / AUTH_FILE).with_name("prefect.port").write_text("nope")
    with pytest.raises(BadInput, match="holds no port"):
        read_port(root)
