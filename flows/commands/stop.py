"""`benchloom stop`: end the background servers of this project."""

from __future__ import annotations

import sys

from flows.run.prefect_server import server_folder
from flows.run.servers import stop_servers
from flows.settings import find_project


def stop_command() -> int:
    """Carry out `benchloom stop`; returns the exit code."""
    from tasks.models.embedded import stop_servers as stop_models

    stopped = [*stop_servers(server_folder(find_project())), *stop_models()]
    print(
        f"stopped: {', '.join(stopped)}" if stopped else "no server of this project is running",
        file=sys.stderr,
    )
    return 0
