"""Run imports in a separate process with resource limits, since the input is untrusted.

`benchloom import` runs the same command line in a child process, which limits its resources before it reads
a source. If the operating system kills the child, this process removes the child's leftover files.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import Field

from flows.run.origin import lead_child
from flows.settings import find_project
from tasks.errors import BadInput
from tasks.files import remove_drafts
from tasks.limits import STEP_S, limit_import
from tasks.settings import Settings

INSIDE = "BENCHLOOM_IMPORT"
"""Environment variable that marks a child process of an import; the value is the parent's process id."""
SIZE = 50_000_000
"""Source size in bytes above which the CPU limit grows in proportion to the size."""
PATIENCE_S = 5.0
"""Seconds between SIGINT and SIGKILL when an import is stopped."""
WATCH_S = 0.5
"""Seconds between two checks that the parent process is running."""
ADVICE = "check that the file is as published; if so, increase run.importing.{} in params.yaml"
SIGNAL_MESSAGES = {
    signal.SIGXCPU: ("took too long without producing a valid record", ADVICE.format("seconds")),
    signal.SIGINT: ("was interrupted", ""),
}


class ImportLimits(Settings):
    """Limits on each process of `benchloom import`."""

    memory_mb: int = Field(default=512, ge=256)
    """Maximum memory in MiB; Benchloom itself needs 140 to 200 MiB."""
    seconds: float = Field(default=STEP_S, gt=0)
    """Maximum CPU seconds until the first record is read; a source over 50 MB gets proportionally more."""


def is_inside() -> bool:
    """Return whether this process was started by `import_apart`."""
    return INSIDE in os.environ


def import_apart(words: Sequence[str]) -> int:
    """Run a command line of `benchloom import` in a separate process; return its exit code.

    Raises BadInput if a signal ended the process.
    """
    # A killed child cannot delete its temporary files, so this process deletes their folder.
    with TemporaryDirectory(prefix="benchloom-import-") as scratch:
        environment = lead_child({INSIDE: str(os.getpid()), "TMPDIR": scratch})
        # -P: a file in the current folder must not be imported in place of an installed module.
        process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-P", "-m", "flows.cli", *words], env=environment
        )
        try:
            code = process.wait()
        except KeyboardInterrupt:
            # A terminal sends SIGINT to both processes. The child removes its drafts; if it does not end, it
            # is killed.
            code = _end(process)
    if code >= 0:
        return code
    remove_left(process.pid)
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    raise explain_end(words, -code)


def remove_left(pid: int) -> None:
    """Remove the draft files of a process that was killed."""
    with suppress(BadInput):  # not in a project
        remove_drafts(find_project() / "data", pid)


def explain_end(words: Sequence[str], number: int) -> BadInput:
    """Return the error for an import process that was ended by a signal."""
    name = signal.Signals(number).name
    other = (f"was killed by {name}, possibly because memory ran out", ADVICE.format("memory_mb"))
    what, hint = SIGNAL_MESSAGES.get(signal.Signals(number), other)
    return BadInput(f"benchloom {shlex.join(words)}", f"{what}; nothing was imported", hint=hint)


def limit_this_process(limits: ImportLimits, options: Iterable[Any]) -> None:
    """Limit memory and, by source size, CPU time. End this process when its parent process ends."""
    size = sum(measure(option) for option in options)
    limit_import(limits.memory_mb << 20, limits.seconds * max(1.0, size / SIZE))
    threading.Thread(target=_end_after, args=(int(os.environ[INSIDE]),), daemon=True).start()


def measure(option: object) -> int:
    """Return the size in bytes of the files at an option's paths; 0 if the option is not a path."""
    if isinstance(option, list | tuple):
        return sum(map(measure, option))
    if not isinstance(option, str | Path):
        return 0
    try:
        path = Path(option)
        files = path.rglob("*") if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files if file.is_file())
    except (OSError, ValueError):  # a URL, or not a valid path
        return 0


def _end(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(PATIENCE_S / 5)
    except subprocess.TimeoutExpired:
        # SIGINT may have been sent to this process alone, not by a terminal.
        process.send_signal(signal.SIGINT)
    try:
        return process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return -signal.SIGINT


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_S)
    os._exit(1)  # `sys.exit` would end only this thread
