"""Tests of the files for a deployment of nightly runs: a fixed port, and files without secrets."""

import ctypes
import json
import math
import os
import shlex
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from flows.nights.service_files import FOLDER, write_files
from flows.run import prefect_server
from flows.run.prefect_server import (
    AUTH_FILE,
    describe_url,
    find_foreign,
    read_auth,
    read_port,
    run_persistent_server,
    server_folder,
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
    """A port on which another program listens."""
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
    with pytest.raises(BadInput, match=r"keys\.env: is readable by other users \(run chmod 600 "):
        write_files(root, "benchloom", PARAMS)


def test_the_unit_is_one_that_systemd_reads_and_starts_a_worker_in_the_project(root):
    files = write_files(root, 'a "pool" at 5%', PARAMS)
    settings = dict(line.split("=", 1) for line in files.unit.read_text().splitlines() if "=" in line)
    assert settings["WorkingDirectory"] == str(root).replace("%", "%%") + "/"
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
    home = str(root.parent / "my: data")
    monkeypatch.setenv("XDG_DATA_HOME", home)
    text = write_files(root, "benchloom", PARAMS).compose.read_text()
    service = yaml.safe_load(text.replace("$$", "$"))["services"]["nights"]
    assert service["working_dir"] == service["build"]["context"] == str(root)
    mounted = [(volume["type"], volume["source"], volume["target"]) for volume in service["volumes"]]
    data = f"{home}/benchloom"
    assert mounted == [("bind", str(root), str(root)), ("bind", data, data)]
    assert Path(data).is_dir(), "Docker makes no folder whose name has a colon"
    assert service["environment"]["XDG_DATA_HOME"] == home
    assert "requirements.lock" in service["build"]["dockerfile_inline"]
    assert "$" not in text.replace("$$", "")


HOSTILE = [
    "with : colon", "ends in \\", "\\", "a\\nb", "100%h", "$HOME", "${HOME}", "$$", "*", "[a]", "?", '"', "'",
    "#", ";", " begins", "ends ", "Ünïcödé 数", "-", "a=b", "{{ x }}", "!tag", "&a *a", "| x", "%", "~",
]  # fmt: skip


@pytest.mark.parametrize("inside", [False, True], ids=["python elsewhere", "python inside"])
@pytest.mark.parametrize("name", HOSTILE)
def test_every_name_of_a_project_stands_for_itself_in_unit_and_compose_file(
    name, inside, tmp_path, monkeypatch
):
    root = tmp_path / name
    root.mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(root))
    if inside:
        (root / "python").symlink_to(sys.executable)
        monkeypatch.setattr("sys.executable", str(root / "python"))
        if any(mark in name for mark in ("$$", "${", "\\", '"', "'")):
            with pytest.raises(BadInput, match="cannot be started by systemd"):
                write_files(root, name, PARAMS)
            assert not (root / FOLDER).exists(), "nothing is left of what is refused"
            return
    files = write_files(root, name, PARAMS)
    service = undo_dollars(yaml.safe_load(files.compose.read_text()))["services"]["nights"]
    assert [volume["source"] for volume in service["volumes"]] == [str(root), f"{root}/benchloom"]
    assert service["working_dir"] == service["build"]["context"] == str(root)
    assert service["env_file"][0]["path"] == str(files.keys)
    assert service["command"][-1] == name
    lines = files.unit.read_text().splitlines()
    assert not [line for line in lines if line.endswith(("\\", " "))]
    settings = dict(line.split("=", 1) for line in lines if "=" in line)
    assert settings["WorkingDirectory"].replace("%%", "%") == f"{root}/"
    pattern = settings["EnvironmentFile"].removeprefix("-").replace("%%", "%")
    assert match_as_systemd(pattern) == [str(files.keys)]
    if shutil.which("systemd-analyze"):
        unit = files.unit.rename(tmp_path / "nights.service")
        done = subprocess.run(
            ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def undo_dollars(value):
    if isinstance(value, dict):
        return {key: undo_dollars(item) for key, item in value.items()}
    if isinstance(value, list):
        return [undo_dollars(item) for item in value]
    return value.replace("$$", "$") if isinstance(value, str) else value


def match_as_systemd(pattern):
    """Find files by glob(3), like systemd for EnvironmentFile=."""

    class Found(ctypes.Structure):
        _fields_ = [
            ("count", ctypes.c_size_t),
            ("paths", ctypes.POINTER(ctypes.c_char_p)),
            ("rest", ctypes.c_char * 256),
        ]

    found = Found()
    if ctypes.CDLL(None).glob(os.fsencode(pattern), 0, None, ctypes.byref(found)):
        return []
    return [os.fsdecode(found.paths[number]) for number in range(found.count)]


@pytest.mark.parametrize(
    "name", ["x\nExecStartPre=touch pwned", "x\r", "\x1b[2J", "\u2028", os.fsdecode(b"\xff")]
)
def test_a_name_that_would_add_lines_is_refused(name, tmp_path):
    (tmp_path / name).mkdir()
    for root, pool in ((tmp_path / name, "benchloom"), (tmp_path, name)):
        with pytest.raises(BadInput, match="control characters") as refused:
            write_files(root, pool, PARAMS)
        assert str(refused.value).isprintable()
        assert not (root / FOLDER).exists()


@pytest.mark.parametrize("name", ["A\nLD_PRELOAD=/tmp/x.so", "A=1", "sk-the-secret"])
@pytest.mark.parametrize("fields", [{"key_env": "{}"}, {"headers": {"api-key": "{}"}}])
def test_what_names_no_variable_never_reaches_the_file_of_keys(name, fields, root):
    text = json.dumps({"run": {"endpoints": {"hosted": fields}}}).replace('"{}"', json.dumps(name))
    with pytest.raises(
        BadInput, match=r"^params\.yaml: run\.endpoints\.hosted\.[a-z_.-]+: is not the name"
    ) as refused:
        write_files(root, "benchloom", json.loads(text))
    assert name not in str(refused.value)
    assert not (root / FOLDER).exists()


def test_a_port_that_is_taken_is_said_in_a_line_and_nothing_stands(root, taken):
    line = rf"port {taken}: is not free: .* \(choose another port with `benchloom nightly deploy --port`\)"
    with pytest.raises(BadInput, match=line), run_persistent_server(root, taken, print):
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
    with pytest.raises(ZeroDivisionError), run_persistent_server(root, port, said.append):
        raise ZeroDivisionError  # a failed deployment needs no server
    assert (read_port(root), passing.is_alive()) == (None, False)
    passing = start_server(root)
    with run_persistent_server(root, port, said.append):
        persistent = start_server(root)
    assert persistent.url == describe_url(port)
    assert [passing.is_alive(), persistent.is_alive()] == [False, True]
    assert said[1] == f"the Prefect server at {passing.url} is replaced by a permanent one on port {port}"
    with run_persistent_server(root, port, said.append):  # deployed again: the server keeps running
        assert persistent.is_alive()
    stop_servers(server_folder(root))
    require_free_port(port)
    assert start_server(root).url == persistent.url
    assert asked == [(600.0, None), (600.0, None), (math.inf, port), (math.inf, port)]

    monkeypatch.setenv("PREFECT_API_URL", f"{persistent.url}/api/")
    assert find_foreign(root) is None
    monkeypatch.setenv("PREFECT_API_URL", "https://prefect.example/api")
    assert find_foreign(root) == "https://prefect.example"


def test_a_port_file_that_holds_none_is_named(root):
    read_auth(root)
    (server_folder(root) / AUTH_FILE).with_name("prefect.port").write_text("nope")
    with pytest.raises(BadInput, match="contains no port"):
        read_port(root)
