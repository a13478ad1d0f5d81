"""Which Prefect server a run reports to: PREFECT_API_URL where it is set, else one of the project's own."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from flows.run.servers import Server, ensure_server, find_server, keep_server
from tasks.errors import BenchloomError

SERVER = "prefect"
AUTH_FILE = "prefect.secret"
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
"""Nothing is told to anybody outside, no page from elsewhere may ask, and the console is left to our own
lines."""
RETRIES = "PREFECT_CLIENT_MAX_RETRIES"
"""A server of our own, on this machine, that does not answer is gone: five tries would take a minute each."""


@contextmanager
def use_prefect(root: Path, say: Callable[[str], None]) -> Iterator[str | None]:
    """Point this process at a Prefect server, starting the project's own if there is none.

    Gives its URL, or None, said in a line, where it does not come up: a run can do without.
    Must come before Prefect is imported: it reads its settings then.
    """
    folder = server_folder(root)
    for name, value in describe_home(root).items():
        os.environ.setdefault(name, value)
    running = find_server(folder, SERVER)
    if url := os.environ.get("PREFECT_API_URL"):
        found = url.rstrip("/").removesuffix("/api")
        if running is not None and found == running.url:
            os.environ.setdefault(AUTH, read_auth(root))
        yield found
        return
    if running is None:
        say(
            "starting a Prefect server in the background; it ends after ten idle minutes, "
            "or by `benchloom stop`"
        )
    try:
        server = start_server(root)
    except BenchloomError as error:
        say(f"{error}; this run goes on without Prefect")
        yield None
        return
    os.environ["PREFECT_API_URL"] = f"{server.url}/api"
    os.environ[AUTH] = read_auth(root)
    os.environ.setdefault(RETRIES, "2")
    say(f"Prefect's pages: {server.url} (password: {(folder / AUTH_FILE).relative_to(root)})")
    with keep_server(folder, SERVER):
        yield server.url


def is_server_up(root: Path) -> bool:
    """Tell whether there is a server to show a run to, without starting one."""
    return bool(os.environ.get("PREFECT_API_URL")) or find_server(server_folder(root), SERVER) is not None


def start_server(root: Path) -> Server:
    """Find a project's own server, or start it. Raises BenchloomError where it does not come up."""
    return ensure_server(
        server_folder(root),
        SERVER,
        [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", "{port}"],
        "/api/health",
        {**describe_home(root), AUTH: read_auth(root), SERVER_AUTH: read_auth(root)},
    )


def read_auth(root: Path) -> str:
    """Read what the project's own server wants of whoever asks it, made when it is first needed.

    Whoever may tell the server what to run runs it as this user, with the keys in the environment.
    """
    file = server_folder(root) / AUTH_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        with NamedTemporaryFile("w", dir=file.parent) as draft:  # readable by its owner alone
            draft.write(f"benchloom:{secrets.token_urlsafe(32)}")
            draft.flush()
            with suppress(FileExistsError):  # another process was first
                os.link(draft.name, file)
    return file.read_text(encoding="utf-8")


def describe_access(root: Path, url: str | None) -> str:
    """Give what a command line needs before it to ask a server: nothing, unless it is the project's own."""
    running = find_server(server_folder(root), SERVER)
    own = running is not None and running.url == url
    return f'{AUTH}="$(cat {server_folder(root) / AUTH_FILE})" ' if own else ""


def describe_home(root: Path) -> dict[str, str]:
    """Give the environment of everything of Prefect's that a project runs."""
    return {"PREFECT_HOME": str(server_folder(root) / "prefect"), **QUIET}


def server_folder(root: Path) -> Path:
    """Name the folder for the state of a project's background servers."""
    return root / ".benchloom" / "servers"
