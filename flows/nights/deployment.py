"""Schedule nightly runs: a Prefect flow runs `benchloom nightly once` in a separate process.

A separate process frees its memory when it ends, returns the command's exit code (5 is an alarm), and stops
on Ctrl-C like any run. Prefect reads its settings when this module is imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from prefect import flow, get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.exceptions import ObjectNotFound
from prefect.schedules import Cron

from flows.prefect_file import DEPLOYMENT, PREFECT_YAML, compare_deployments
from flows.run.origin import HERE, lead_child
from flows.settings import load_params
from tasks.errors import Alarm, BadInput, BenchloomError
from tasks.files import write_text

ALARM_MARK = "ALARM"


@flow(name="night", persist_result=False)
def night() -> None:
    """Start a nightly run of the project that contains this code; fail with the text of any alarm.

    The flow deliberately has no parameters. A path or module parameter would let anyone who can start the
    flow run other code with this project's keys.
    """
    run_once(HERE, get_run_logger().info)


def run_once(root: Path, report: Callable[[str], None]) -> None:
    """Run `benchloom nightly once` in a child process, and wait until the process ends.

    `report`: function called with each line of output. Raises Alarm if the run raised an alarm, and
    BenchloomError for any other exit code except 0.
    """
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
            report(line.strip())
    if process.returncode == Alarm.exit_code:
        alarm = next((line for line in reversed(lines) if ALARM_MARK in line), lines[-1])
        raise Alarm(f"exit {process.returncode}: {alarm}")
    if process.returncode:
        raise BenchloomError(f"exit {process.returncode}: {lines[-1]}")


def serve_nights(root: Path, cron: str, timezone: str) -> None:
    """Start a nightly run at each time of the cron schedule, until interrupted."""
    schedule = Cron(cron, timezone)
    # Prefect starts each night in a process that imports this file by a path relative to the project.
    os.chdir(root)
    os.environ.update(lead_child())
    # limit=1: a second nightly run would fail, because the first run holds the lock.
    night.serve(name=DEPLOYMENT, schedule=schedule, limit=1, print_starting_message=False)


def deploy_nights(root: Path, pool: str) -> bool:
    """Register the deployment of prefect.yaml with a work pool of type process.

    prefect.yaml is updated first, and the pool is created if it does not exist. Returns whether the file was
    outdated. Raises BenchloomError if Prefect reports an error.
    """
    before, after = compare_deployments(root, load_params(root))
    if before != after:
        write_text(root / PREFECT_YAML, after)
    ensure_pool(pool)
    words = ("--no-prompt", "deploy", "--name", DEPLOYMENT, "--pool", pool)
    done = subprocess.run(  # noqa: S603 - no shell
        [sys.executable, "-m", "prefect", *words],
        cwd=root, env=lead_child(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise BenchloomError(f"prefect {' '.join(words[1:])}: {said[-1] if said else done.returncode}")
    return before != after


def remove_nights() -> bool:
    """Delete the deployment; return whether it existed."""
    with get_client(sync_client=True) as client:
        try:
            found = client.read_deployment_by_name(f"{night.name}/{DEPLOYMENT}")
        except ObjectNotFound:
            return False
        client.delete_deployment(found.id)
    return True


def ensure_pool(name: str) -> None:
    """Create a work pool of type process unless it exists.

    Raises BadInput if a pool with the name has another type.
    """
    with get_client(sync_client=True) as client:
        try:
            found = client.read_work_pool(name)
        except ObjectNotFound:
            client.create_work_pool(WorkPoolCreate(name=name, type="process"))
            return
    if found.type != "process":
        raise BadInput(f"--pool {name}", f"is a work pool of type {found.type}, not process")
