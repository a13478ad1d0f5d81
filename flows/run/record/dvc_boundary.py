"""Convert DVC's errors to errors of Benchloom that name the stage and, for a lock, its holder."""

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
"""How long the repository lock is waited for: other processes hold it while they hash."""
LONGEST_SAID = 200
"""Characters of a remote's own words in a line of ours."""
REMOTE_HINTS = {
    "NoCredentialsError": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
    "NoSuchBucket": "create the bucket, or correct the remote's URL (.dvc/config)",
    "PermissionError": "the key in the environment does not have permission",
    "RemoteMissingDepsError": "pip install 'benchloom[s3]'",
}
"""What an error's type or text has in it -> what to do."""
AGAIN = "run the same command again after it ends"
BUSY = re.compile(r"'(?P<path>.*)' is busy, it is being blocked by:\n\s*\(PID (?P<pid>\d+)\): (?P<cmd>.*)")


@contextmanager
def translate_errors(root: Path, what: str) -> Iterator[None]:
    """Raise what DVC raises inside as an error of ours. what: the stage, at the line's head.

    Raises LockHeld (who holds what), BadInput (a lock file that was cut short), StageFailed (the rest,
    and a file that went away meanwhile).
    """
    try:
        yield
    except LockError as error:
        raise LockHeld(f"{what}: {describe_holder(root, error)}; {AGAIN}") from error
    except (RWLockFileCorruptedError, RWLockFileFormatError) as error:
        raise BadInput(
            root / ".dvc" / "tmp" / "rwlock",
            "is truncated, for example because the disk was full",
            hint="make sure that no other run is active, then delete it",
        ) from error
    except DvcException as error:
        raise StageFailed(f"{what}: {' '.join(str(error).split())}") from error
    except FileNotFoundError as error:
        gone = name_path(root, Path(error.filename or "a file"))
        raise StageFailed(
            f"{what}: {gone} was deleted while it was read; restore it and run the same command again"
        ) from error
    except OSError as error:
        # A lock file that could not be written on a full disk stays open, and locked by us, for as long as
        # the frames that the error went through hold it; and a run keeps its errors to its end.
        clear_frames(error.__traceback__)
        raise


@contextmanager
def hold_repo(repo: Any, patience_s: float = LOCK_PATIENCE_S) -> Iterator[None]:
    """Hold DVC's repository lock; a block inside another holds it already.

    Raises LockHeld, naming the process, where another has it for longer than `patience_s`.
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
            clear_frames(error.__traceback__)  # see above
            raise
    try:
        yield
    finally:
        repo.lock.unlock()


@dataclass(frozen=True)
class Moved:
    """The result of a push or pull. problem: why it is incomplete, in a few words; empty if complete."""

    files: int
    problem: str = ""


def move_objects(repo: Any, way: Literal["push", "pull"], objects: set[Any]) -> Moved:
    """Push objects of the cache to DVC's default remote, or pull them from it, under the repository lock.

    Whatever a remote's library raises becomes the words in `problem`: DVC translates only a part of it.
    """
    name = repo.config["core"]["remote"]
    lines: list[str] = []
    with _collect_errors(lines):
        try:
            done = getattr(repo.cloud, way)(objects)
        except Exception as error:  # noqa: BLE001 - botocore's errors and others have no base in common
            return Moved(0, f"{name}: {describe_remote_error(error)}")
    count, first = len(done.failed), next(iter(lines), "")
    failed = f"{name}: {count} files failed" + (f", {first}" if first else "")
    return Moved(len(done.transferred), failed if count else "")


@contextmanager
def _collect_errors(lines: list[str]) -> Iterator[None]:
    """Collect what DVC logs of every file that fails, which it would print a line each."""

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
    """Say in a few words what a remote refused, and what to do where that is known."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    names, said = {type(cause).__name__ for cause in chain}, " ".join(str(cause) for cause in chain)
    hint = next((hint for mark, hint in REMOTE_HINTS.items() if mark in names or mark in said), "")
    return "; ".join(filter(None, (shorten(str(error)) or type(error).__name__, hint)))


def shorten(text: str) -> str:
    """Cut a text to a line of at most `LONGEST_SAID` characters."""
    return " ".join(text.split())[:LONGEST_SAID]


def describe_holder(root: Path, error: LockError) -> str:
    """Say which path is held, by which process and command, as far as DVC knows."""
    if busy := BUSY.search(str(error)):
        name = name_path(root, Path(busy["path"]))
        return f"another run holds {name} (PID {busy['pid']}: {busy['cmd']})"
    return f"another run holds DVC's lock on {root}{_describe_process(root / '.dvc' / 'tmp' / 'lock')}"


def name_path(root: Path, path: Path) -> Path:
    """Name a path as the project's files name it."""
    return path.relative_to(root) if path.is_relative_to(root) else path


def _describe_process(lock: Path) -> str:
    """Name the process whose id stands in a lock file; nothing where none does."""
    with suppress(OSError, ValueError, psutil.Error):
        process = psutil.Process(int(lock.read_text(encoding="utf-8")))
        return f" (PID {process.pid}: {' '.join(process.cmdline())})"
    return ""
