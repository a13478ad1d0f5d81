"""Describe on one line why a stage failed, for logs and reports."""

from __future__ import annotations

import errno
import sqlite3

from tasks.errors import BenchloomError
from tasks.lines import write_error


class Interrupted(BenchloomError):
    """The user stopped the run; results of finished stages are recorded."""

    exit_code = 130


def describe_error(error: BaseException) -> str:
    """Describe an error on one line; an error that is not a BenchloomError includes its class name."""
    text = write_error(error)
    if is_disk_full(error):
        return f"the disk is full; make room and run the same command again ({text})"
    return text if isinstance(error, BenchloomError) else f"{type(error).__name__}: {text}"


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error or its cause reports a full disk or an exhausted quota."""
    if error is None:
        return False
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    # An error raised by the sqlite3 module itself, not by the engine, has no error code.
    full = full or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return full or is_disk_full(error.__cause__ or error.__context__)
