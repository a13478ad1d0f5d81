"""Functions for both sandboxed processes: drop privileges, load libraries, exchange messages."""

from __future__ import annotations

import importlib
import json
import math
import os
import random
import resource
import sys
from typing import Any

MAX_MESSAGE = 32 << 20
"""Maximum length of a message in bytes."""
HEAD = 8
"""Number of bytes in the length prefix of a message."""
REASON = 300
"""Maximum number of characters in an error description."""


class BadMessage(Exception):
    """Raised if the other process sent something that is not a valid message."""


class Ended(Exception):
    """Raised if the other process has ended."""


def silence() -> tuple[int, int]:
    """Redirect stdin, stdout and stderr to the null device; return duplicates of stdin and stdout."""
    kept = os.dup(0), os.dup(1)
    # Output of libraries and programs must not mix with the messages on stdout.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    return kept


def drop_privileges(limits: dict[str, int], user: int | None) -> None:
    """Set resource limits, then switch to the user id `user` (None: keep the current user).

    Root is exempt from the process limit.
    """
    for name in ("AS", "NPROC", "FSIZE", "NOFILE", "CORE"):
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limits[name], limits[name]))
    if user is not None:
        # The user is changed last, because an ordinary user may not change groups.
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def load_libraries(names: list[str]) -> str:
    """Import the test program's modules; return a message if a module is missing, otherwise "".

    Other import errors are ignored, because the test program raises and reports the same error.
    """
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            return f"there is no module {error.name or name}"
        except Exception:  # noqa: BLE001, S112 (the test program gets the same error and reports it)
            continue
    return ""


def begin(seconds: float) -> None:
    """Limit the remaining CPU time to `seconds`, and seed random numbers identically in both processes.

    The limit is rounded up to whole seconds, plus one second.
    """
    # RLIMIT_CPU limits the total since the process began, which includes loading the libraries.
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)


def send(descriptor: int, message: Any) -> None:
    """Send a message. Raises Ended if the reader has ended, and ValueError if the message is too long."""
    content = json.dumps(message).encode()
    if len(content) > MAX_MESSAGE:
        raise ValueError(f"longer than {MAX_MESSAGE >> 20} MiB")
    view = memoryview(len(content).to_bytes(HEAD, "big") + content)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BrokenPipeError:
        raise Ended from None


def receive(descriptor: int) -> Any:
    """Receive a message. Raises Ended if the sender has ended, and BadMessage if the message is not valid."""
    size = int.from_bytes(_read(descriptor, HEAD), "big")
    if size > MAX_MESSAGE:
        raise BadMessage(f"a message of {size} bytes; at most {MAX_MESSAGE} are allowed")
    content = _read(descriptor, size)
    try:
        return json.loads(content)
    except (ValueError, RecursionError, MemoryError):
        raise BadMessage("a message that is not valid JSON") from None


def _read(descriptor: int, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        # os.read allocates the requested size at once, and the sender may declare more than it sends.
        part = os.read(descriptor, min(size - len(content), 1 << 20))
        if not part:
            raise Ended
        content += part
    return bytes(content)


def describe(error: BaseException) -> str:
    """Return an error's type and message, shortened to REASON characters."""
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001 (a program's own error may raise another)
        text = "an error without a message"
    return text[:REASON]
