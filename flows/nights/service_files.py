"""Write the service files for a deployment of nightly runs: a systemd unit and a compose file.

Both files start the server and a worker, and neither file contains a secret. The server's password is read
from the server's password file. Keys come from the environment, or from a file with mode 0600 next to the
unit file.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from benchloom.yaml_files import write_yaml
from flows.nights.quoting import quote
from flows.run.origin import lead_child
from flows.run.prefect_server import SERVER, server_folder
from flows.run.servers import find_server
from tasks.errors import BadInput, BenchloomError
from tasks.files import write_text
from tasks.settings import check_variable

FOLDER = ".benchloom/nightly"
PATIENCE_S = 30.0
"""Seconds to wait for a worker and its nightly run to end before the worker is killed."""
LOOK_EVERY_S = 2.0
"""Seconds between two checks that the project's Prefect server is running."""
# The minus sign makes the file of keys optional. 130 is the exit code after SIGTERM, with which systemd stops
# the unit.
UNIT = """\
# Written by `benchloom nightly deploy`, which overwrites it.
[Unit]
Description=Benchloom nightly runs of {name}: Prefect server and worker

[Service]
WorkingDirectory={root}
EnvironmentFile=-{keys}
ExecStart="{python}" -m flows.cli nightly work --pool "{pool}"
Restart=on-failure
RestartSec=30
SuccessExitStatus=130
UMask=0077

[Install]
WantedBy=default.target
"""
# bubblewrap isolates programs that models write; DVC and nightly runs need Git.
DOCKERFILE = """\
FROM python:{version}-slim
RUN apt-get update && apt-get install --yes --no-install-recommends bubblewrap git
COPY requirements.lock /tmp/requirements.lock
RUN pip install --no-cache-dir --no-deps --require-hashes --requirement /tmp/requirements.lock
"""
INSTALL = "RUN pip install --no-cache-dir --no-deps benchloom=={version}\n"
KEYS = """\
# NAME=value for each key that params.yaml names, for the unit and the container. Names: {names}
# Only the file's owner may have read access (chmod 600).
"""


@dataclass(frozen=True)
class ServiceFiles:
    """The files that start a deployment's server and worker automatically."""

    unit: Path
    compose: Path
    keys: Path

    def describe_needs(self, pool: str, foreign: bool) -> list[str]:
        """Return the programs that the user must start for nightly runs.

        foreign: whether the server belongs to another project.
        """
        server = (
            "the server at PREFECT_API_URL"
            if foreign
            else "the project's Prefect server (`benchloom stop` stops it)"
        )
        return [
            f"{server}, and a worker: `benchloom nightly work --pool {pool}` runs both until Ctrl-C",
            f"or a systemd unit: systemctl --user enable --now {shlex.quote(str(self.unit))}",
            f"or a container: docker compose --file {shlex.quote(str(self.compose))} up --detach",
            f"{'PREFECT_API_URL, and ' * foreign}the keys that params.yaml names, set in the environment "
            f"or in {self.keys}",
        ]


def write_files(root: Path, pool: str, params: Mapping[str, Any]) -> ServiceFiles:
    """Write the unit, the compose file and, if there is none, an empty file for keys.

    Raises BadInput if a path or a variable's name cannot be written to these files.
    """
    folder = root / FOLDER
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-") or "project"
    files = ServiceFiles(folder / f"nights-{slug}.service", folder / "compose.yaml", folder / "keys.env")
    keys = sorted(set(list_keys(params)))
    unit = UNIT.format(
        name=quote(root.name, "unit text"),
        root=quote(str(root), "unit folder"),
        keys=quote(str(files.keys), "unit file"),
        python=quote(sys.executable, "unit program"),
        pool=quote(pool, "unit argument"),
    )
    container = describe_container(root, f"nights-{slug}", pool, files.keys)
    make_keys(files.keys, keys)
    write_text(files.unit, unit)
    write_yaml(files.compose, container)
    return files


def remove_files(root: Path) -> None:
    """Remove the unit and the compose file, but not the file for keys."""
    for path in [*(root / FOLDER).glob("*.service"), root / FOLDER / "compose.yaml"]:
        path.unlink(missing_ok=True)


def make_keys(path: Path, names: list[str]) -> None:
    """Create a file for keys that only its owner can read, unless the file exists.

    Raises BadInput if other accounts have access to the existing file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise BadInput(path, "is readable by other users", hint=f"run chmod 600 {path}") from None
        return
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(KEYS.format(names=", ".join(names) or "none yet"))


def list_keys(params: Any, *place: str) -> Iterator[str]:
    """Yield the environment variables that are named in `*_env` parameters and in `headers` of endpoints.

    `place`: the key path of these parameters. Raises BadInput if a value is not a valid variable name.
    """
    if not isinstance(params, Mapping):
        return
    headers = place[:2] == ("run", "endpoints") and place[3:] == ("headers",)
    for key, value in params.items():
        name = str(key)
        if isinstance(value, str) and (headers or name.endswith("_env")):
            try:
                yield check_variable(value)
            except ValueError as error:
                raise BadInput(f"params.yaml: {'.'.join((*place, name))}", str(error)) from None
        else:
            yield from list_keys(value, *place, name)


def describe_container(root: Path, name: str, pool: str, keys: Path) -> dict[str, Any]:
    """Return the definition of a container that runs the server and a worker.

    The container mounts the project's folder and the user's Benchloom data folder, which contains the ledger
    by default.
    """
    lines = DOCKERFILE.format(version=".".join(map(str, sys.version_info[:2])))
    if not (root / "benchloom").is_dir():
        from importlib.metadata import version

        lines += INSTALL.format(version=version("benchloom"))
    data = platformdirs.user_data_path("benchloom", appauthor=False, ensure_exists=True)
    home = Path.home()
    service = {
        "build": {"context": str(root)},
        "working_dir": str(root),
        "user": f"{os.getuid()}:{os.getgid()}",
        # The user has no account in the container, so these variables locate the home folder and the ledger.
        "environment": {"HOME": str(home), "USER": getpass.getuser(), "XDG_DATA_HOME": str(data.parent)},
        "env_file": [{"path": str(keys), "required": False}],
        # Use the long form: the short form ends a path at its first colon, and Docker would create missing
        # folders.
        "volumes": [
            {
                "type": "bind",
                "source": str(place),
                "target": str(place),
                "bind": {"create_host_path": False},
            }
            for place in (root, data)
        ],
        # The project's servers listen only on the loopback address of the host.
        "network_mode": "host",
        "command": ["python", "-m", "flows.cli", "nightly", "work", "--pool", pool],
        "restart": "on-failure",
    }
    escaped: dict[str, Any] = escape_for_compose(service)
    escaped["build"]["dockerfile_inline"] = lines
    return {"name": name, "services": {"nights": escaped}}


def escape_for_compose(value: Any) -> Any:
    """Escape every string in a value for a compose file."""
    if isinstance(value, dict):
        return {key: escape_for_compose(item) for key, item in value.items()}
    if isinstance(value, list):
        return [escape_for_compose(item) for item in value]
    return quote(value, "compose") if isinstance(value, str) else value


def keep_worker(root: Path, pool: str, own: bool) -> None:
    """Run a worker of a work pool until Ctrl-C or SIGTERM.

    Raises BenchloomError if the worker exits, or if the project's own server has stopped. `own`: whether the
    server belongs to this project. The worker must not outlive this server, since the worker would send the
    password to any program that uses the port next.
    """
    signal.signal(signal.SIGTERM, interrupt)
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--type", "process"]
    worker = subprocess.Popen(command, cwd=root, env=lead_child())  # noqa: S603 - no shell
    try:
        while worker.poll() is None:
            if own and find_server(server_folder(root), SERVER) is None:
                raise BenchloomError(
                    "the Prefect server of the nightly deployment has stopped; run this command again"
                )
            with suppress(subprocess.TimeoutExpired):
                worker.wait(LOOK_EVERY_S)
    finally:
        end_worker(worker)
    raise BenchloomError(f"the worker exited with code {worker.returncode}")


def end_worker(worker: subprocess.Popen[bytes]) -> None:
    """Stop a worker with SIGTERM, and with SIGKILL after 30 s."""
    worker.terminate()
    try:
        worker.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


def interrupt(number: int, frame: object) -> None:
    """Handle SIGTERM like Ctrl-C."""
    raise KeyboardInterrupt
