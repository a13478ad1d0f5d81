"""One night at a time: a lock that dies with whoever holds it, and a note of the night that is not over."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from flows.nights.standing import FOLDER
from tasks.errors import LockHeld
from tasks.files import is_alive, write_text

LOCK = "lock"
UNFINISHED = "unfinished.json"
PATIENCE_S = 60.0
"""How long the rest of a killed night is waited for: its calls in flight are recorded first."""
LOOK_AGAIN_S = 0.2


@dataclass(frozen=True)
class NightLock:
    """The lock, held. handle: of its file; a process that inherits it holds the lock, too."""

    path: Path
    handle: int

    def note(self, label: str) -> None:
        """Say in the lock's file who holds it, for those that come too late."""
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        text = json.dumps({"pid": os.getpid(), "label": label, "since": since})
        os.ftruncate(self.handle, 0)
        os.pwrite(self.handle, text.encode(), 0)


@dataclass(frozen=True)
class UnfinishedNight:
    """A night that has begun. commit: what it runs."""

    label: str
    commit: str


@contextmanager
def hold_lock(root: Path) -> Iterator[NightLock]:
    """Hold the lock of a project's nights. Raises LockHeld, saying who holds it."""
    path = root / FOLDER / LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        take_lock(path, handle)
        lock = NightLock(path, handle)
        lock.note("")
        yield lock
    finally:
        os.close(handle)


def take_lock(path: Path, handle: int) -> None:
    """Lock a file. What a killed night left running is waited for: it ends by itself. Raises LockHeld."""
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
            label = f"the night {holder['label']}" if holder.get("label") else "a night"
            raise LockHeld(
                f"{label} is running (PID {pid or 'unknown'}, since {holder.get('since') or 'just now'}); "
                "the same command again once it has ended"
            ) from None
        return


def read_holder(path: Path) -> dict[str, object]:
    """Read who holds a lock, as far as its file says it."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}


def read_unfinished(root: Path) -> UnfinishedNight | None:
    """Read which night is not over; None where all are."""
    try:
        return UnfinishedNight(**json.loads((root / FOLDER / UNFINISHED).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def write_unfinished(root: Path, night: UnfinishedNight) -> None:
    """Note that a night has begun."""
    write_text(root / FOLDER / UNFINISHED, json.dumps(asdict(night)))


def forget_unfinished(root: Path) -> None:
    """Note that no night is under way."""
    (root / FOLDER / UNFINISHED).unlink(missing_ok=True)
