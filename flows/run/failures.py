"""Describe in one line why a stage failed, for logs and reports."""

from __future__ import annotations

import errno
import sqlite3

from tasks.errors import BenchloomError
from tasks.lines import write_error


class Interrupted(BenchloomError):
    """The run was stopped by the user; what had finished is recorded."""

    exit_code = 130


def describe_error(error: BaseException) -> str:
    """Say what went wrong in one line; an error that is not ours with its kind, for it is a bug."""
    text = write_error(error)
    if is_disk_full(error):
        return f"the disk is full; make room and run the same command again ({text})"
    return text if isinstance(error, BenchloomError) else f"{type(error).__name__}: {text}"


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error, or what brought it about, is a disk or quota without room."""
    if error is None:
        return False
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    # An error that sqlite3 itself raises, not the engine, carries no code.
    full = full or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return full or is_disk_full(error.__cause__ or error.__context__)
