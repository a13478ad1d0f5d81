"""Find, start and stop the servers of embedded models; processes find running servers by state files."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import platformdirs
import psutil

from tasks.errors import BadInput, ModelFailed
from tasks.models.serving.fetching import find_file, is_sound
from tasks.models.settings import EmbeddedModel
from tasks.processes import is_running, read_start

SERVERS = {
    "embedded": "tasks.models.serving.embedded_server",
    "embedded-onnx": "tasks.models.serving.onnx_server",
}
"""Model kind -> the module that serves models of this kind."""
LIBRARIES = {"embedded": ("xllamacpp", "embedded"), "embedded-onnx": ("onnxruntime", "retrieval")}
"""Model kind -> (the library that its server requires, the extra that installs the library)."""
PROJECT = Path(__file__).resolve().parents[3]
"""The folder of the project whose code this process runs; a server belongs to the project that started it."""
START_S = 180.0
"""Maximum time in seconds for a server to start."""
STOP_S = 10.0
"""Maximum time in seconds for a server to stop, before it is killed."""


@dataclass(frozen=True)
class RunningServer:
    """A running loopback server, as described in its state file."""

    pid: int
    started: float
    name: str
    sha256: str
    context: int
    threads: int
    url: str

    def is_alive(self) -> bool:
        """Return whether the process with this id and start time is running; the id alone may be reused."""
        return is_running(self.pid, self.started)

    def serves(self, model: EmbeddedModel) -> bool:
        """Return whether the server uses this model's file and settings."""
        return (self.sha256, self.context, self.threads) == (model.identity, model.context, model.threads)


@dataclass(frozen=True)
class Stopped:
    """The result of stopping a project's servers: stopped servers, and servers still in use."""

    names: list[str]
    shared: dict[str, list[str]]
    """Name of each server that was not stopped -> the other projects whose running processes use it."""


def state_folder() -> Path:
    """Return the user's folder for state files, logs and locks; create the folder if missing."""
    folder = Path(platformdirs.user_state_dir("benchloom", appauthor=False)) / "servers"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def ensure_server(name: str, model: EmbeddedModel, idle_s: float) -> str:
    """Return the base URL of a model's server; start the server if necessary, and record its use.

    Raises BadInput if the model's file or library is missing, or if another project uses a server of this
    name with different settings. Raises ModelFailed if the server does not start.
    """
    library, extra = LIBRARIES[model.kind]
    if find_spec(library) is None:
        raise BadInput(
            name, f"needs {library}, which is not installed", hint=f"run pip install 'benchloom[{extra}]'"
        )
    running = find_server(name)
    if running is None or not running.serves(model):
        import portalocker  # imports the Redis client, which takes half a second

        with portalocker.Lock(state_folder() / f"{name}.lock", timeout=START_S):
            # Another process may have started the server while this process waited for the lock.
            running = find_server(name)
            if running is not None and not running.serves(model):
                if others := list_other_users(name):
                    raise BadInput(
                        name,
                        f"is in use by {', '.join(others)}, with other settings",
                        hint="wait for that run, or give this model another name in params.yaml",
                    )
                stop_server(name)
                running = None
            running = running or start_server(name, model, idle_s)
    note_use(name)
    return running.url


def note_use(name: str, project: Path = PROJECT) -> None:
    """Record that this process uses a model's server; `project`: the folder of this process's project."""
    note = state_folder() / f"{name}.users" / f"{os.getpid()}.json"
    user = {"project": str(project), "pid": os.getpid(), "started": read_start(os.getpid())}
    note.parent.mkdir(exist_ok=True, mode=0o700)
    if not note.is_file() or _read_json(note) != user:
        note.write_text(json.dumps(user), encoding="utf-8")


def list_users(name: str) -> list[str]:
    """Return the projects whose running processes use a model's server; delete stale records."""
    projects = set()
    for note in (state_folder() / f"{name}.users").glob("*.json"):
        user = _read_json(note)
        if user and is_running(user["pid"], user["started"]):
            projects.add(user["project"])
        else:
            note.unlink(missing_ok=True)
    return sorted(projects)


def list_other_users(name: str, project: Path = PROJECT) -> list[str]:
    """Return the other projects whose running processes use a model's server."""
    return [user for user in list_users(name) if user != str(project)]


def _read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; {} if the file is missing or unreadable."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def find_server(name: str) -> RunningServer | None:
    """Return a model's running server, and reset its idle time; None if there is no server."""
    state = state_folder() / f"{name}.json"
    running = read_state(state)
    if running is None or not running.is_alive():
        return None
    with contextlib.suppress(FileNotFoundError):
        os.utime(state)
    return running


def list_servers() -> list[RunningServer]:
    """Return this user's running servers, sorted by name."""
    found = [read_state(path) for path in sorted(state_folder().glob("*.json"))]
    return [running for running in found if running is not None and running.is_alive()]


def read_state(path: Path) -> RunningServer | None:
    """Parse a state file; return None if it is missing or unreadable."""
    try:
        return RunningServer(**_read_json(path))
    except TypeError:
        return None


def start_server(name: str, model: EmbeddedModel, idle_s: float) -> RunningServer:
    """Start a model's server in a separate process, which outlives this process.

    Raises BadInput if the model's file is missing, and ModelFailed if the server does not start.
    """
    paths = [find_file(file) for file in model.files]
    for path, file in zip(paths, model.files, strict=True):
        if not is_sound(path, file):
            raise BadInput(path, f"is not the model file for {name}", hint=f"run benchloom model pull {name}")
    state = state_folder() / f"{name}.json"
    state.unlink(missing_ok=True)
    log = state.with_suffix(".log")
    command = [
        sys.executable, "-m", SERVERS[model.kind], "--state", str(state), "--model", *map(str, paths),
        "--name", name, "--sha256", model.identity, "--context", str(model.context),
        "--threads", str(model.threads), "--idle", str(idle_s),
    ]  # fmt: skip
    code = Path(__file__).parents[3]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(code), os.environ.get("PYTHONPATH")])),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            # Ctrl-C in this terminal must not stop the server, which other processes may use.
            start_new_session=True,
        )
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        running = read_state(state)
        if running is not None and running.pid == process.pid:
            _owner_file(name).write_text(str(PROJECT), encoding="utf-8")
            return running
        if process.poll() is not None:
            break
        time.sleep(0.1)
    else:
        process.kill()
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    raise ModelFailed(f"{name}: the server did not start ({' '.join(last) or 'no message'}); see {log}")


def stop_server(name: str) -> bool:
    """Stop a model's server; return whether it was running."""
    running = read_state(state_folder() / f"{name}.json")
    if running is None or not running.is_alive():
        return False
    process = psutil.Process(running.pid)
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        try:
            process.wait(STOP_S)
        except psutil.TimeoutExpired:
            process.kill()
    (state_folder() / f"{name}.json").unlink(missing_ok=True)
    return True


def stop_servers() -> list[str]:
    """Stop all of this user's servers; return their names."""
    return [running.name for running in list_servers() if stop_server(running.name)]


def stop_own_servers(project: Path = PROJECT) -> Stopped:
    """Stop the servers that a project started, except those that other projects' processes use."""
    stopped = Stopped([], {})
    for running in list_servers():
        owner = _owner_file(running.name)
        if not owner.is_file() or owner.read_text(encoding="utf-8") != str(project):
            continue
        if others := list_other_users(running.name, project):
            stopped.shared[running.name] = others
        elif stop_server(running.name):
            stopped.names.append(running.name)
    return stopped


def _owner_file(name: str) -> Path:
    """Return the path of the file that stores which project started a server."""
    return state_folder() / f"{name}.owner"
