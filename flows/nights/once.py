"""Perform a nightly run in its own worktree and process; commit the run to its branch when it has finished.

A lock prevents simultaneous nightly runs; the operating system releases the lock when the run's process ends.
A file records an unfinished run.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from flows.night_settings import FOLDER, read_nightly, require_label
from flows.nights.history import find_night, read_history
from flows.nights.service_files import FOLDER as SERVICE
from flows.nights.service_files import interrupt
from flows.nights.worktree import (
    SUMMARY,
    NightTree,
    describe_left_out,
    drop_branch,
    require_commit,
    require_committed,
)
from flows.settings import load_params
from tasks.errors import Alarm, BenchloomError, LockHeld
from tasks.files import is_alive, write_text

GOES_ON = 75
"""Exit code (EX_TEMPFAIL) of a nightly run's process that must be restarted to evaluate more items."""
# Without a colon, which the name of a Git branch cannot contain.
LABEL_FORM = "%Y-%m-%dT%H-%MZ"
LOCK = f"{SERVICE}/lock"
UNFINISHED = f"{SERVICE}/unfinished.json"
PATIENCE_S = 60.0
"""Seconds to wait for the child processes of a killed nightly run to record their calls in progress."""
LOOK_AGAIN_S = 0.2
"""Seconds between two attempts to acquire the lock."""


def run_night(home: Path, as_of: str | None, options: Sequence[str], say: Callable[[str], None]) -> int:
    """Start a nightly run, or continue the unfinished run; return the exit code.

    `as_of`: label of the run; by default the label of the unfinished run or, if there is none, the current
    minute. `options`: options for `nightly inside`. Raises LockHeld during another nightly run, and
    BadInput if there is no commit to run.
    """
    with hold_lock(home) as lock:
        commit = require_commit(home)
        require_committed(home, read_nightly(load_params(home)).assessments)
        label = require_label(as_of) if as_of else choose_label(home, commit, say)
        lock.note(label)
        tree = NightTree(home, label)
        begun = read_unfinished(home)
        # The branch must contain the code of the current commit, so a run of another commit starts again.
        moved = begun is not None and begun.label == label and begun.commit != commit
        replace = moved or not tree.has_branch()
        if left_out := describe_left_out(home):
            say(left_out)
        tree.open(replace=replace)
        # A resumed run keeps the number of parts that was recorded before its interruption.
        if begun is None or (begun.label, begun.commit) != (label, commit):
            write_unfinished(home, UnfinishedNight(label, commit))
        code = run_inside(tree, options, lock.handle)
        while code == GOES_ON:
            code = run_inside(tree, options, lock.handle)
        night = find_night(read_history(home), label)
        if night is not None and night.state != "unfinished" and code in (0, 1, Alarm.exit_code):
            try:
                keep_night(tree)
                say(f"the run's artifacts are recorded on the branch {tree.branch}")
            except BenchloomError as error:
                if code != Alarm.exit_code:
                    raise
                say(f"benchloom: {error}")  # the alarm's exit code takes precedence
        return code


def choose_label(home: Path, commit: str, say: Callable[[str], None]) -> str:
    """Return the label of a commit's unfinished nightly run; the current minute if there is no such run.

    An unfinished run of another commit is abandoned: its worktree is removed, and its branch is deleted if
    the branch contains no commit of the run.
    """
    begun = read_unfinished(home)
    if begun is not None and begun.commit == commit:
        say(f"nightly run {begun.label} is unfinished; resuming it now")
        return begun.label
    if begun is not None:
        say(f"nightly run {begun.label} is abandoned: its commit {begun.commit[:8]} is no longer HEAD")
        NightTree(home, begun.label).close()
        drop_branch(home, begun.label, begun.commit)
    return datetime.now(UTC).strftime(LABEL_FORM)


def keep_night(tree: NightTree) -> None:
    """Commit a finished nightly run to its branch, and remove its worktree."""
    summary = (tree.home / FOLDER / tree.label / "summary.md").read_text(encoding="utf-8")
    write_text(tree.root / SUMMARY, summary)
    # In this order, an interrupted call leaves a run that is still unfinished, and that is resumed.
    tree.commit(f"Record the night {tree.label}")
    tree.close()
    forget_unfinished(tree.home)


def run_inside(tree: NightTree, options: Sequence[str], lock: int) -> int:
    """Perform a nightly run in a child process, with the code of the worktree; return the exit code.

    `lock`: handle of the lock, which the child process inherits. If this process ends or is interrupted, the
    child reads end-of-file on its standard input and stops. Raises BenchloomError if a signal killed the
    child.
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
        raise BenchloomError(f"the run was killed ({name}); the next `benchloom nightly once` continues it")
    return process.returncode


def place_ledger(home: Path) -> dict[str, str]:
    """Return the variable BENCHLOOM_LEDGER with the absolute path of the ledger in params.yaml.

    Return an empty mapping if BENCHLOOM_LEDGER is already set, or if `run.ledger` is missing or a URL.
    """
    named = (load_params(home).get("run") or {}).get("ledger")
    if not named or os.environ.get("BENCHLOOM_LEDGER") or "://" in str(named):
        return {}
    # In the worktree, a relative path would refer to another file.
    return {"BENCHLOOM_LEDGER": str(home / Path(str(named)).expanduser())}


@dataclass(frozen=True)
class NightLock:
    """An acquired lock. handle: the lock file's descriptor; a child process inherits it with the lock."""

    path: Path
    handle: int

    def note(self, label: str) -> None:
        """Write this process's details into the lock file, for processes that fail to acquire the lock."""
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        text = json.dumps({"pid": os.getpid(), "label": label, "since": since})
        os.ftruncate(self.handle, 0)
        os.pwrite(self.handle, text.encode(), 0)


@dataclass(frozen=True)
class UnfinishedNight:
    """A nightly run that has begun but not finished. commit: the commit whose code the run executes."""

    label: str
    commit: str
    parts: int = 1
    """Number of parts of the item set to evaluate, if nightly runs evaluate a subset; 0 means all items."""
    why: str = ""
    """The reason why the nightly run evaluates more than one part."""


@contextmanager
def hold_lock(root: Path) -> Iterator[NightLock]:
    """Hold the lock on a project's nightly runs. Raises LockHeld with the holder's details."""
    path = root / LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not truncated, because the file may describe the current holder of the lock.
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        take_lock(path, handle)
        lock = NightLock(path, handle)
        lock.note("")
        yield lock
    finally:
        os.close(handle)


def take_lock(path: Path, handle: int) -> None:
    """Lock a file, waiting for processes that a killed nightly run left behind.

    Raises LockHeld if another nightly run is in progress.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = read_holder(path)
            pid = holder.get("pid")
            if isinstance(pid, int) and not is_alive(pid) and time.monotonic() < deadline:
                time.sleep(LOOK_AGAIN_S)
                continue
            label = f"the nightly run {holder['label']}" if holder.get("label") else "a nightly run"
            raise LockHeld(
                f"{label} is running (PID {pid or 'unknown'}, since {holder.get('since') or 'just now'}); "
                "run the same command again after it ends"
            ) from None
        return


def read_holder(path: Path) -> dict[str, object]:
    """Read the details of a lock's holder from its file; empty if they cannot be read."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def read_unfinished(root: Path) -> UnfinishedNight | None:
    """Return the unfinished nightly run; None if there is none."""
    try:
        return UnfinishedNight(**json.loads((root / UNFINISHED).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def write_unfinished(root: Path, night: UnfinishedNight) -> None:
    """Record that a nightly run has begun."""
    write_text(root / UNFINISHED, json.dumps(asdict(night)))


def forget_unfinished(root: Path) -> None:
    """Record that there is no unfinished nightly run."""
    (root / UNFINISHED).unlink(missing_ok=True)
