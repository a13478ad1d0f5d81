"""Nights on a schedule: a Prefect flow that runs `benchloom nightly once` in a process of its own.

Such a night ends as the command does (exit 5 is an alarm), leaves no memory behind in the process that
waits for the clock, and stops on Ctrl-C like any run. Prefect reads its settings when this is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.exceptions import ObjectNotFound

from flows.run.origin import lead_child
from tasks.errors import Alarm, BadInput, BenchloomError

NAME = "nightly"
ALARM_MARK = "ALARM"


@flow(name="night", persist_result=False)
def night(root: str) -> None:
    """Run one night of the project in `root`. It fails with the alarm's line where something really fell."""
    run_once(Path(root), get_run_logger().info)


def run_once(root: Path, tell: Callable[[str], None]) -> None:
    """Run one night as a command, and hand its lines on. Raises Alarm or BenchloomError."""
    lines = [""]
    with subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "nightly", "once"],
        cwd=root,
        env=lead_child(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stderr or ():
            lines.append(line.strip())
            tell(line.strip())
    if process.returncode == Alarm.exit_code:
        alarm = next((line for line in reversed(lines) if ALARM_MARK in line), lines[-1])
        raise Alarm(f"exit {process.returncode}: {alarm}")
    if process.returncode:
        raise BenchloomError(f"exit {process.returncode}: {lines[-1]}")


def serve_nights(root: Path, cron: str) -> None:
    """Wait here for the cron's minutes and run a night at each, until interrupted. Raises BadInput."""
    # Prefect starts each in a process that imports this file by its path from here.
    os.chdir(root)
    os.environ.update(lead_child())
    try:
        night.serve(
            name=NAME, cron=cron, parameters={"root": str(root)}, limit=1, print_starting_message=False
        )
    except ValueError as error:
        raise refuse_cron(error) from error


def deploy_nights(root: Path, cron: str, pool: str) -> None:
    """Register the nights with a work pool of type process, made where it is missing. Raises BadInput."""
    ensure_pool(pool)
    source: Any = night.from_source(source=str(root), entrypoint="flows/nights/deployment.py:night")
    try:
        source.deploy(
            name=NAME, work_pool_name=pool, cron=cron, parameters={"root": str(root)}, print_next_steps=False
        )
    except ValueError as error:
        raise refuse_cron(error) from error


def refuse_cron(error: ValueError) -> BadInput:
    """Say what is wrong with the schedule."""
    return BadInput("params.yaml: nightly.cron", " ".join(str(error).split()))


def ensure_pool(name: str) -> None:
    """Make a work pool of type process where there is none of that name. Raises BadInput for another type."""
    with get_client(sync_client=True) as client:
        try:
            found = client.read_work_pool(name)
        except ObjectNotFound:
            client.create_work_pool(WorkPoolCreate(name=name, type="process"))
            return
    if found.type != "process":
        raise BadInput(f"--pool {name}", f"is a work pool of type {found.type}, not process")
