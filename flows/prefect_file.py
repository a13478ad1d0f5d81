"""Write prefect.yaml: the deployment of nightly runs, then the user's own deployments.

`benchloom nightly deploy` and `prefect deploy --all` both register the deployment from this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from flows.graph_file import IndentedDumper
from flows.night_settings import Nightly
from flows.settings import parse_section

PREFECT_YAML = "prefect.yaml"
DEPLOYMENT, POOL = "nightly", "benchloom"
ENTRYPOINT = "flows/nights/deployment.py:night"
HEAD = """\
# Written by `benchloom graph` from `nightly` in params.yaml; do not edit it above the line at its end.
# `benchloom nightly deploy` registers this deployment and starts a Prefect server. For your own server, set
# PREFECT_API_URL and run `prefect work-pool create --type process benchloom`, then `prefect deploy --all`.
"""
OWN = "# Deployments of your own stand below this line; `benchloom graph` leaves them as they are."


def compare_deployments(root: Path, params: Mapping[str, object]) -> tuple[str, str]:
    """Return the current and the required text of prefect.yaml. Raises BadInput for an invalid `nightly`."""
    path = root / PREFECT_YAML
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    text = yaml.dump(
        {"deployments": [describe_nights(parse_section(params, "nightly", Nightly))]},
        Dumper=IndentedDumper, sort_keys=False, width=1000,
    )  # fmt: skip
    _, _, own = before.partition(f"{OWN}\n")
    return before, f"{HEAD}{text}\n  {OWN}\n{own}"


def describe_nights(nightly: Nightly) -> dict[str, Any]:
    """Return the deployment of nightly runs for prefect.yaml; inactive if there are no assessments."""
    active = bool(nightly.assessments)
    return {
        "name": DEPLOYMENT,
        "entrypoint": ENTRYPOINT,
        "work_pool": {"name": POOL},
        "schedules": [{"cron": nightly.cron, "timezone": nightly.timezone, "active": active}],
    }
