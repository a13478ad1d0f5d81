"""Choose the Prefect server for a run: PREFECT_API_URL if set, otherwise the project's own server.

The project's server stops after ten idle minutes. If nightly runs are deployed, the server runs permanently
on a fixed port.
"""

from __future__ import annotations

import math
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from flows.run.servers import (
    IDLE_S,
    Server,
    ensure_server,
    find_server,
    keep_server,
    require_free_port,
    stop_server,
)
from tasks.errors import BadInput, BenchloomError
from tasks.files import write_text

SERVER = "prefect"
AUTH_FILE = "prefect.secret"
"""File with the credentials of the project's own server."""
PORT_FILE = "prefect.port"
"""File with the port of the server for nightly runs; exists only while nightly runs are deployed."""
AUTH = "PREFECT_API_AUTH_STRING"
SERVER_AUTH = "PREFECT_SERVER_API_AUTH_STRING"
QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_API_URL": "/api",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
    "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1",
    "DO_NOT_TRACK": "1",
}
"""Prefect settings that disable telemetry, console logs and requests from other web pages."""
RETRIES = "PREFECT_CLIENT_MAX_RETRIES"
"""Prefect's setting for the number of retries.

The number is low, because a local server that is down does not restart, and five retries take a minute.
"""


@contextmanager
def use_prefect(root: Path, say: Callable[[str], None], *, needed: bool = False) -> Iterator[str | None]:
    """Make this process use a Prefect server, and start the project's own server if there is none.

    The context manager yields the server's URL. If the server does not start, a message is printed, None is
    yielded, and the run continues without Prefect. `needed`: whether to raise BenchloomError if the server
    does not start or does not answer. Call this function before Prefect is imported, since Prefect reads its
    settings on import.
    """
    folder = server_folder(root)
    folder.mkdir(parents=True, exist_ok=True)  # Prefect warns if it cannot create its folder inside
    for name, value in describe_home(root).items():
        os.environ.setdefault(name, value)
    if url := find_foreign(root):
        if needed:
            check_foreign()
        yield url
        return
    if find_server(folder, SERVER) is None:
        port = read_port(root)
        end = "only with `benchloom stop`" if port else "after ten idle minutes, or with `benchloom stop`"
        say(f"starting a Prefect server in the background; it stops {end}")
    try:
        server = start_server(root)
    except BenchloomError as error:
        if needed:
            raise
        say(f"{error}; this run continues without Prefect")
        yield None
        return
    os.environ["PREFECT_API_URL"] = f"{server.url}/api"
    os.environ[AUTH] = read_auth(root)
    os.environ.setdefault(RETRIES, "2")
    say(f"Prefect's web interface: {server.url} (password: {(folder / AUTH_FILE).relative_to(root)})")
    with keep_server(folder, SERVER):
        yield server.url


def check_foreign() -> None:
    """Raise BenchloomError unless a Prefect server of the same major version answers at PREFECT_API_URL.

    This function disables Prefect's retries by default, because Prefect would otherwise print a traceback
    after each of five tries.
    """
    os.environ.setdefault(RETRIES, "0")
    from prefect import __version__
    from prefect.client.orchestration import get_client

    found, hint = "", f"start it, or set another URL; this project has Prefect {__version__}"
    try:
        with get_client(sync_client=True) as client:
            if (problem := client.api_healthcheck()) is None:
                found = str(client.api_version())
    except Exception as error:  # noqa: BLE001 - any error of the server or the network
        problem = error
    address = os.environ["PREFECT_API_URL"]
    if problem is not None:
        status = getattr(getattr(problem, "response", None), "status_code", None)
        said = f"status {status}" if status else f"{type(problem).__name__}: {problem}"
        line = " ".join(said.split())[:200]
        raise BenchloomError(f"PREFECT_API_URL: no Prefect server responds at {address} ({line}); {hint}")
    if found.split(".")[:1] != __version__.split(".")[:1]:
        raise BenchloomError(f"PREFECT_API_URL: the server at {address} runs Prefect {found[:20]}; {hint}")


def find_foreign(root: Path) -> str | None:
    """Return the URL in PREFECT_API_URL without `/api`.

    Returns None if the variable is not set or contains the URL of the project's own server.
    """
    found = os.environ.get("PREFECT_API_URL", "").rstrip("/").removesuffix("/api")
    running = find_server(server_folder(root), SERVER)
    own = (running.url if running else None, describe_url(read_port(root)))
    return found if found and found not in own else None


@contextmanager
def run_persistent_server(root: Path, port: int, say: Callable[[str], None]) -> Iterator[None]:
    """Make the project's own server use a given port and run permanently.

    A running server is stopped, unless `port` is already the permanent port. The server that starts next uses
    `port`, and does not stop when it is idle. If the block raises an error, the new server is stopped and the
    previous setting is restored. Raises BadInput if the port is not free.
    """
    folder = server_folder(root)
    file, before, running = folder / PORT_FILE, read_port(root), find_server(folder, SERVER)
    if before == port:
        yield
        return
    if running is None or running.url != describe_url(port):
        require_free_port(port)
    if running is not None and stop_server(folder, SERVER):
        say(f"the Prefect server at {running.url} is replaced by a permanent one on port {port}")
    try:
        write_text(file, str(port))
        yield
    except BaseException:
        stop_server(folder, SERVER)
        if before is None:
            file.unlink()
        else:
            write_text(file, str(before))
        raise


def stop_persistent_server(root: Path) -> None:
    """Stop the permanent server; servers started later stop when they are idle."""
    stop_server(server_folder(root), SERVER)
    (server_folder(root) / PORT_FILE).unlink(missing_ok=True)


def read_port(root: Path) -> int | None:
    """Return the port of the project's permanent server; None if no nightly runs are deployed."""
    file = server_folder(root) / PORT_FILE
    try:
        return int(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise BadInput(file, "contains no port", hint="run `benchloom nightly deploy` again") from error


def describe_url(port: int | None) -> str | None:
    """Return the URL of the project's own server on a port."""
    return f"http://127.0.0.1:{port}" if port else None


def is_server_up(root: Path) -> bool:
    """Return whether PREFECT_API_URL is set or the project's own server is running. Starts no server."""
    return bool(os.environ.get("PREFECT_API_URL")) or find_server(server_folder(root), SERVER) is not None


def start_server(root: Path) -> Server:
    """Find the project's own server, or start it. Raises BenchloomError if the server does not start."""
    port = read_port(root)
    return ensure_server(
        server_folder(root),
        SERVER,
        [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", "{port}"],
        "/api/health",
        {**describe_home(root), AUTH: read_auth(root), SERVER_AUTH: read_auth(root)},
        IDLE_S if port is None else math.inf,
        port,
    )


def read_auth(root: Path) -> str:
    """Return the credentials of the project's own server, which are created on first use.

    The server requires credentials because anyone who can submit work to it runs code as this user, with the
    keys in the environment.
    """
    file = server_folder(root) / AUTH_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        # The link appears with the complete content, so no process reads incomplete credentials.
        with NamedTemporaryFile("w", dir=file.parent) as draft:  # readable only by its owner
            draft.write(f"benchloom:{secrets.token_urlsafe(32)}")
            draft.flush()
            with suppress(FileExistsError):  # another process created it first
                os.link(draft.name, file)
    return file.read_text(encoding="utf-8")


def describe_home(root: Path) -> dict[str, str]:
    """Return the environment variables for a project's Prefect processes."""
    return {"PREFECT_HOME": str(server_folder(root) / "prefect"), **QUIET}


def server_folder(root: Path) -> Path:
    """Return the folder for the state of a project's background servers."""
    return root / ".benchloom" / "servers"
