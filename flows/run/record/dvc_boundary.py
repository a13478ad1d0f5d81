"""Convert DVC's errors to Benchloom errors that name the stage and the holder of a lock."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from traceback import clear_frames
from typing import Any, Literal

import psutil
from dvc.exceptions import DvcException
from dvc.lock import LockError
from dvc.rwlock import RWLockFileCorruptedError, RWLockFileFormatError

from tasks.errors import BadInput, LockHeld, StageFailed

LOCK_PATIENCE_S = 30.0
"""Seconds to wait for the repository lock: other processes hold it while they hash files."""
LONGEST_SAID = 200
"""Maximum length of a remote's message in an error line, in characters."""
REMOTE_HINTS = {
    "NoCredentialsError": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
    "NoSuchBucket": "create the bucket, or correct the remote's URL (.dvc/config)",
    "PermissionError": "the key in the environment does not have permission",
    "RemoteMissingDepsError": "run pip install 'benchloom[s3]'",
}
"""Name of an error's class, or a substring of the error's message -> advice."""
AGAIN = "run the same command again after it ends"
BUSY = re.compile(r"'(?P<path>.*)' is busy, it is being blocked by:\n\s*\(PID (?P<pid>\d+)\): (?P<cmd>.*)")


@contextmanager
def translate_errors(root: Path, what: str) -> Iterator[None]:
    """Convert DVC errors raised in the block to a BenchloomError. what: the stage's name, for the message.

    Raises LockHeld with the path and its holder, BadInput for a truncated lock file, and StageFailed for a
    missing file or any other error.
    """
    try:
        yield
    except LockError as error:
        raise LockHeld(f"{what}: {describe_holder(root, error)}; {AGAIN}") from error
    except (RWLockFileCorruptedError, RWLockFileFormatError) as error:
        raise BadInput(
            root / ".dvc" / "tmp" / "rwlock",
            "is truncated, perhaps because the disk was full",
            hint="make sure that no other run is active, then delete this file",
        ) from error
    except DvcException as error:
        raise StageFailed(f"{what}: {' '.join(str(error).split())}") from error
    except FileNotFoundError as error:
        gone = name_path(root, Path(error.filename or "a file"))
        raise StageFailed(
            f"{what}: {gone} was deleted while it was being read; restore it and run the same command again"
        ) from error
    except OSError as error:
        # If a lock file cannot be written on a full disk, it stays open and locked by this process while the
        # error's frames exist; a run stores its errors until it ends.
        clear_frames(error.__traceback__)
        raise


@contextmanager
def hold_repo(repo: Any, patience_s: float = LOCK_PATIENCE_S) -> Iterator[None]:
    """Hold DVC's repository lock while the block runs; nested blocks share the lock.

    Raises LockHeld, which names the process, if another process holds the lock for longer than `patience_s`.
    """
    if repo.lock.is_locked:
        yield
        return
    deadline = time.monotonic() + patience_s
    while True:
        try:
            repo.lock.lock()
            break
        except LockError as error:
            if time.monotonic() > deadline:
                root = Path(repo.root_dir)
                raise LockHeld(f"{describe_holder(root, error)}; {AGAIN}") from error
        except OSError as error:
            clear_frames(error.__traceback__)  # as in `translate_errors`
            raise
    try:
        yield
    finally:
        repo.lock.unlock()


@dataclass(frozen=True)
class Moved:
    """The result of a push or pull.

    `problem`: why the transfer is incomplete; empty if the transfer is complete.
    """

    files: int
    problem: str = ""


def move_objects(repo: Any, way: Literal["push", "pull"], objects: set[Any]) -> Moved:
    """Push objects of the cache to DVC's default remote, or pull them.

    The caller must hold the repository lock. Any error from a remote's library is returned in `problem`,
    since DVC converts only some errors.
    """
    name = repo.config["core"]["remote"]
    lines: list[str] = []
    with _collect_errors(lines):
        try:
            done = getattr(repo.cloud, way)(objects)
        except Exception as error:  # noqa: BLE001 - remotes' errors have no common base class
            return Moved(0, f"{name}: {describe_remote_error(error)}")
    count, first = len(done.failed), next(iter(lines), "")
    failed = f"{name}: {count} files failed" + (f", {first}" if first else "")
    return Moved(len(done.transferred), failed if count else "")


@contextmanager
def _collect_errors(lines: list[str]) -> Iterator[None]:
    """Collect DVC's log messages about failed files in `lines` instead of printing the messages."""

    def collect(record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            return True
        error = record.exc_info[1] if record.exc_info else None
        lines.append(describe_remote_error(error) if error else shorten(record.getMessage()))
        return False

    logger = logging.getLogger("dvc_data.hashfile.transfer")
    logger.addFilter(collect)
    try:
        yield
    finally:
        logger.removeFilter(collect)


def describe_remote_error(error: BaseException) -> str:
    """Return a short reason why a remote failed, with advice if the cause is known."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    names, said = {type(cause).__name__ for cause in chain}, " ".join(str(cause) for cause in chain)
    hint = next((hint for mark, hint in REMOTE_HINTS.items() if mark in names or mark in said), "")
    return "; ".join(filter(None, (shorten(str(error)) or type(error).__name__, hint)))


def shorten(text: str) -> str:
    """Shorten a string to one line of at most `LONGEST_SAID` characters."""
    return " ".join(text.split())[:LONGEST_SAID]


def describe_holder(root: Path, error: LockError) -> str:
    """Return a message with the locked path and, if known to DVC, the locking process and its command."""
    if busy := BUSY.search(str(error)):
        name = name_path(root, Path(busy["path"]))
        return f"another run holds {name} (PID {busy['pid']}: {busy['cmd']})"
    return f"another run holds DVC's lock on {root}{_describe_process(root / '.dvc' / 'tmp' / 'lock')}"


def name_path(root: Path, path: Path) -> Path:
    """Return a path relative to the project; a path outside the project is returned unchanged."""
    return path.relative_to(root) if path.is_relative_to(root) else path


def _describe_process(lock: Path) -> str:
    """Return a description of the process whose id is in a lock file; empty if there is no such process."""
    with suppress(OSError, ValueError, psutil.Error):
        process = psutil.Process(int(lock.read_text(encoding="utf-8")))
        return f" (PID {process.pid}: {' '.join(process.cmdline())})"
    return ""
