"""Manage background servers, which start once, are reused by later runs, and stop when they are idle.

A supervisor (`python -m flows.run.servers STATE_FILE IDLE_S -- COMMAND`) starts each server. The supervisor
stops the server if the state file has not been touched for IDLE_S seconds. A process touches the state file
when it starts to use the server, and a run touches the file every 30 s.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from flows.run.origin import lead_child
from tasks.errors import BadInput, BenchloomError
from tasks.files import write_text
from tasks.processes import is_running, list_words, read_start

IDLE_S = 600.0
"""Idle time in seconds after which a server is stopped."""
START_PATIENCE_S = 120.0
"""Seconds to wait for a started server to answer."""
POLL_S = 2.0
"""Seconds between two checks by a supervisor."""
MODULE = "flows.run.servers"
"""The module name that identifies the command line of a supervisor.

The path of the server's state file follows this name in the command line.
"""


@dataclass(frozen=True)
class Server:
    """A running background server.

    started: start time of the process, to distinguish it from a later process with the same id.
    """

    name: str
    url: str
    pid: int
    started: float

    def is_alive(self) -> bool:
        """Return whether the started process is still running."""
        return is_running(self.pid, self.started)


def find_server(folder: Path, name: str) -> Server | None:
    """Find a server by its state file; None if the server is not running or belongs to another project."""
    state_file = _state_file(folder, name)
    try:
        server = Server(**json.loads(state_file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return server if server.is_alive() and _is_own(server, state_file) else None


def _is_own(server: Server, state_file: Path) -> bool:
    """Return whether a server was started for this state file.

    If the project's folder was copied, the state file is a copy, and the server belongs to the original
    project. If the original file no longer exists, the folder was moved, and the server belongs to the moved
    folder.
    """
    words = list_words(server.pid)
    began_with = Path(words[words.index(MODULE) + 1]) if MODULE in words[:-1] else state_file
    return not began_with.exists() or began_with.samefile(state_file)


def ensure_server(
    folder: Path,
    name: str,
    command: Sequence[str],
    path: str,
    environment: Mapping[str, str],
    idle_s: float = IDLE_S,
    port: int | None = None,
) -> Server:
    """Find a server or start it, and wait until it answers at `path`.

    `command`: starts the server. `{port}` in the command is replaced by `port`, or by a free port if `port`
    is None. If several processes call this function at once, only one of them starts the server. Raises
    BadInput if the port is not free, and BenchloomError if the server does not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    import portalocker  # imported here because it imports a Redis client, which takes half a second

    try:
        with portalocker.Lock(folder / f"{name}.lock", timeout=START_PATIENCE_S):
            server = find_server(folder, name)
            if server is None:
                server = _start_server(folder, name, command, environment, idle_s, port)
            _wait_until_ready(server, path, folder / f"{name}.log")
    except portalocker.LockException as error:
        raise BenchloomError(
            f"the {name} server has been starting in another process for more than {START_PATIENCE_S:.0f} s"
        ) from error
    touch_server(folder, name)
    return server


def touch_server(folder: Path, name: str) -> None:
    """Mark a server as in use."""
    with suppress(FileNotFoundError):
        os.utime(_state_file(folder, name))


@contextmanager
def keep_server(folder: Path, name: str) -> Iterator[None]:
    """Prevent a server from becoming idle while the block runs."""
    done = threading.Event()

    def touch() -> None:
        # Much shorter than IDLE_S, so that a server in use never counts as idle.
        while not done.wait(30):
            touch_server(folder, name)

    thread = threading.Thread(target=touch, name=f"keep-{name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()


def stop_servers(folder: Path) -> list[str]:
    """Stop every background server of a project; return their names."""
    names = [file.name.removesuffix(".server.json") for file in sorted(folder.glob("*.server.json"))]
    return [name for name in names if stop_server(folder, name)]


def stop_server(folder: Path, name: str) -> bool:
    """Stop a background server; return whether it was running."""
    server = find_server(folder, name)
    if server is not None:
        _end_process(psutil.Process(server.pid))
    _state_file(folder, name).unlink(missing_ok=True)
    return server is not None


def _state_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.server.json"


def _start_server(
    folder: Path,
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    idle_s: float,
    port: int | None,
) -> Server:
    if port is None:
        port = _find_free_port()
    require_free_port(port)
    words = [word.replace("{port}", str(port)) for word in command]
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [
                sys.executable,
                "-m",
                MODULE,
                str(_state_file(folder, name)),
                str(idle_s),
                "--",
                *words,
            ],
            env=lead_child(dict(environment)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # The server must survive Ctrl-C in this terminal, and the end of this run.
            start_new_session=True,
        )
    server = Server(name, f"http://127.0.0.1:{port}", process.pid, read_start(process.pid))
    write_text(_state_file(folder, name), json.dumps(asdict(server)))
    return server


def require_free_port(port: int) -> None:
    """Check that a port on this machine is free. Raises BadInput, naming the listening process."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # allow a port that a server has just released
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise BadInput(
                f"port {port}",
                f"is not free: {_describe_listener(port) or error.strerror}",
                hint="choose another port with `benchloom nightly deploy --port`",
            ) from error


def _describe_listener(port: int) -> str:
    """Return a description of the process that listens on a port; empty for another account's process."""
    with suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
            if listens and connection.pid:
                return f"{psutil.Process(connection.pid).name()} listens there (PID {connection.pid})"
    return ""


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(server: Server, path: str, log: Path) -> None:
    deadline = time.monotonic() + START_PATIENCE_S
    while time.monotonic() < deadline:
        with (
            suppress(urllib.error.URLError, OSError),
            urllib.request.urlopen(server.url + path, timeout=5) as reply,  # noqa: S310 - loopback
        ):
            if reply.status == 200:
                return
        if not server.is_alive():
            break
        time.sleep(0.2)
    raise BenchloomError(f"the {server.name} server did not start; its log is {log}")


def _end_process(process: psutil.Process) -> None:
    """Stop a process and its children with SIGTERM, and after 10 s with SIGKILL."""
    with suppress(psutil.NoSuchProcess):
        family = [*process.children(recursive=True), process]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs(family, timeout=10)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def supervise(state_file: Path, idle_s: float, command: Sequence[str]) -> int:
    """Run a server as a child; stop it if its state file has not been touched for `idle_s` seconds."""
    child = subprocess.Popen(list(command))  # noqa: S603 - our own command line
    # By default, SIGTERM would end this process without the `finally` block that stops the server.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    begun = time.time()
    try:
        while child.poll() is None:
            time.sleep(POLL_S)
            with suppress(FileNotFoundError):
                begun = max(begun, state_file.stat().st_mtime)
            if time.time() - begun > idle_s:
                return 0
        return child.returncode
    finally:
        if child.poll() is None:
            _end_process(psutil.Process(child.pid))


if __name__ == "__main__":
    split = sys.argv.index("--")
    sys.exit(supervise(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[split + 1 :]))
