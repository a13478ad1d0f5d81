"""One night: in a worktree and a process of its own, committed on its branch once it is over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from flows.night_settings import FOLDER, require_label
from flows.nights.history import find_night, read_history
from flows.nights.holding import (
    UnfinishedNight,
    forget_unfinished,
    hold_lock,
    read_unfinished,
    write_unfinished,
)
from flows.nights.standing import interrupt
from flows.nights.worktree import SUMMARY, NightTree, describe_left_out, drop_branch, require_commit
from flows.settings import load_params
from tasks.errors import BenchloomError
from tasks.files import write_text

LABEL_FORM = "%Y-%m-%dT%H-%MZ"


def run_night(home: Path, as_of: str | None, options: Sequence[str], say: Callable[[str], None]) -> int:
    """Run a night, or go on with the one that is not over; return its exit code.

    as_of: its label; by default of the unfinished night, else this minute. options: for `nightly inside`.
    Raises LockHeld while another night runs, BadInput where there is nothing committed to run.
    """
    with hold_lock(home) as lock:
        commit = require_commit(home)
        label = require_label(as_of) if as_of else choose_label(home, commit, say)
        lock.note(label)
        tree = NightTree(home, label)
        begun = read_unfinished(home)
        moved = begun is not None and begun.label == label and begun.commit != commit
        anew = moved or not tree.has_branch()
        if left_out := describe_left_out(home):
            say(left_out)
        tree.open(anew=anew)
        write_unfinished(home, UnfinishedNight(label, commit))
        code = run_inside(tree, options, lock.handle)
        night = find_night(read_history(home), label)
        if night is not None and night.state != "unfinished" and code in (0, 1, 5):
            keep_night(tree)
            say(f"its artifacts are recorded on the branch {tree.branch}")
        return code


def choose_label(home: Path, commit: str, say: Callable[[str], None]) -> str:
    """Choose the label of the night that is not over, if it runs this commit; else this minute's."""
    begun = read_unfinished(home)
    if begun is not None and begun.commit == commit:
        say(f"night {begun.label} is not over: it goes on")
        return begun.label
    if begun is not None:
        say(f"night {begun.label} is given up: {begun.commit[:8]}, which it ran, is not HEAD any more")
        NightTree(home, begun.label).close()
        drop_branch(home, begun.label, begun.commit)
    return datetime.now(UTC).strftime(LABEL_FORM)


def keep_night(tree: NightTree) -> None:
    """Commit a night that is over on its branch, and take its worktree away."""
    summary = (tree.home / FOLDER / tree.label / "summary.md").read_text(encoding="utf-8")
    write_text(tree.root / SUMMARY, summary)
    tree.commit(f"Record the night {tree.label}")
    tree.close()
    forget_unfinished(tree.home)


def run_inside(tree: NightTree, options: Sequence[str], lock: int) -> int:
    """Run a night's work in its worktree, by the code of that; return its exit code.

    lock: the handle of the lock, which the process holds, too. It stops where this one is gone: it reads
    the end of its standard input.
    """
    before = signal.signal(signal.SIGTERM, interrupt)
    paths = [str(tree.root), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        **place_ledger(tree.home),
    }
    command = [sys.executable, "-m", "flows.cli", "nightly", "inside", str(tree.home), tree.label, *options]
    try:
        with subprocess.Popen(  # noqa: S603 - our own command line
            command, cwd=tree.root, env=environment, stdin=subprocess.PIPE, pass_fds=(lock,)
        ) as process:
            try:
                process.wait()
            except KeyboardInterrupt:
                if process.stdin is not None:
                    process.stdin.close()
                process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        raise BenchloomError(f"the night was killed ({name}); it goes on next time")
    return process.returncode


def place_ledger(home: Path) -> dict[str, str]:
    """Say where the live ledger lies, if params.yaml names it by a path within the project."""
    named = (load_params(home).get("run") or {}).get("ledger")
    if not named or os.environ.get("BENCHLOOM_LEDGER") or "://" in str(named):
        return {}
    return {"BENCHLOOM_LEDGER": str(home / Path(str(named)).expanduser())}
