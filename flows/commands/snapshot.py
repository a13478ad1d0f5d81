"""`benchloom snapshot`: write down what database servers hold."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from flows.run.snapshots import find_servers, refresh_record
from flows.settings import find_project, load_params
from tasks.errors import BadInput


def snapshot_command(names: Sequence[str]) -> int:
    """Carry out `benchloom snapshot`; returns the exit code."""
    root = find_project()
    servers = find_servers(root, load_params(root))
    unknown = [name for name in names if name not in servers]
    if unknown:
        known = ", ".join(sorted(servers)) or "params.yaml names none"
        raise BadInput(unknown[0], "is no database with a url", hint=known)
    for name in names or sorted(servers):
        print(refresh_record(servers[name]), file=sys.stderr)
    return 0
