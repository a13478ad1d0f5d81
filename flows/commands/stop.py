"""`benchloom stop`: end the background servers of this project."""

from __future__ import annotations

import sys

from flows.run.prefect_server import read_port, server_folder
from flows.run.servers import stop_servers
from flows.settings import find_project


def stop_command() -> int:
    """Carry out `benchloom stop`; returns the exit code."""
    from tasks.models.serving.embedded import stop_own_servers

    root = find_project()
    models = stop_own_servers()
    stopped = [*stop_servers(server_folder(root)), *models.names]
    said = f"stopped: {', '.join(stopped)}" if stopped else "no server of this project is running"
    if read_port(root) is not None:
        said += "; the deployed nights wait for theirs (`benchloom nightly work`, or any run, brings it back)"
    for name, projects in models.shared.items():
        said += (
            f"; left: {name}, which {', '.join(projects)} is using (`benchloom model stop {name}` ends it)"
        )
    print(said, file=sys.stderr)
    return 0
