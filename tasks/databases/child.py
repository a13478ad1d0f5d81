"""Start reader processes, send requests, read replies, and kill processes that exceed a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tasks.databases.messages import ReaderReply, ReaderRequest
from tasks.errors import (
    BadInput,
    BenchloomError,
    DatabaseGone,
    SqlError,
    SqlFailed,
    SqlRefused,
    SqlTimeout,
    SqlTooLarge,
)

ROOT = Path(__file__).parents[2]
START = "import sys; sys.path.insert(0, sys.argv[1]); from {} import main; main()"
"""The code of a reader process, which imports a module and calls its `main`."""
START_SECONDS = 30.0
"""Maximum time in seconds for a reader process to start."""
ERROR_TYPES: Mapping[str, type[SqlError]] = {
    "timeout": SqlTimeout,
    "large": SqlTooLarge,
    "memory": SqlTooLarge,
    "refused": SqlRefused,
}
"""Kind of error in a reply -> its exception; any other kind becomes SqlFailed."""


@dataclass(frozen=True)
class ReaderProgram:
    """The program that a reader process runs.

    `module`: the Python module whose `main` is called. `setup`: the first message to the process. The message
    includes the password, if any, because process lists would show a password on the command line. `grace`:
    seconds after the time limit until the process is killed. During this time, the process can stop the
    statement and remain usable.
    """

    label: str
    module: str
    setup: Mapping[str, object]
    grace: float


class ReaderProcess:
    """A child process that reads one database. Only one thread at a time may use it.

    Raises DatabaseGone if the server cannot be reached, and BadInput if the account may write.
    """

    def __init__(self, program: ReaderProgram, *, memory: int, disk: int, max_bytes: int) -> None:
        self.usable = True
        self._program = program
        self._largest = 2 * max_bytes + 1_000_000
        # -I ignores the current folder, PYTHON* variables and the user's packages, so none replaces a module.
        # The empty environment contains no API keys. In a new session, Ctrl-C does not reach the process.
        self._process = subprocess.Popen(  # noqa: S603 (our own module, no shell)
            [sys.executable, "-I", "-c", START.format(program.module), str(ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )
        self._send({**program.setup, "memory": memory, "disk": disk, "bytes": max_bytes})
        reply = self._receive(START_SECONDS)
        if "error" in reply:
            self.kill()
            raise make_error(program.label, reply["error"], reply["text"])

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def ask(self, request: ReaderRequest, seconds: float) -> ReaderReply:
        """Send a request and wait for its reply, for at most `seconds` plus the grace period.

        Raises SqlRefused, SqlTimeout, SqlTooLarge or SqlFailed, and DatabaseGone if the server is gone. Sets
        `usable` to False if the process cannot be used again.
        """
        self._send({**request, "seconds": seconds})
        reply = self._receive(seconds + self._program.grace)
        if "error" not in reply:
            return reply
        kind = reply["error"]
        if reply["broken"] or kind == "late":
            self.kill()
        if kind in {"timeout", "late"}:
            raise SqlTimeout(f"the statement did not finish within {seconds:.3g} s")
        if kind == "gone":
            raise make_error(self._program.label, kind, reply["text"])
        raise ERROR_TYPES.get(kind, SqlFailed)(reply["text"])

    def kill(self) -> None:
        """Kill the process, even if it is busy."""
        self.usable = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _send(self, frame: Mapping[str, object]) -> None:
        body = json.dumps(frame).encode()
        if self._process.stdin is None:
            raise SqlFailed("the engine's process has no stdin")
        try:
            self._process.stdin.write(len(body).to_bytes(4, "big") + body)
            self._process.stdin.flush()
        except OSError:
            self.kill()
            raise SqlFailed("the engine exited between two statements") from None

    def _receive(self, seconds: float) -> ReaderReply:
        deadline = time.monotonic() + seconds
        size = int.from_bytes(self._read(4, deadline), "big")
        if size > self._largest:
            self.kill()
            raise SqlTooLarge(f"the reply has {size:,} bytes, more than the limit")
        reply: ReaderReply = json.loads(self._read(size, deadline))
        return reply

    def _read(self, size: int, deadline: float) -> bytearray:
        if self._process.stdout is None:
            raise SqlFailed("the engine's process has no stdout")
        descriptor = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        content = bytearray()
        while len(content) < size:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                self.kill()
                raise SqlTimeout("the statement did not finish in time, and its process was killed")
            part = os.read(descriptor, min(size - len(content), 1 << 20))
            if not part:
                self.kill()
                raise SqlFailed(f"the engine exited unexpectedly with code {self._process.returncode}")
            content += part
        return content


def make_error(label: str, kind: str, text: str) -> BenchloomError:
    """Return the exception for an error that affects the whole database, not only one statement."""
    if kind == "privileged":
        hint = "queries need a read-only account; see docs/databases.md"
        return BadInput(label, f"its account {text}", hint=hint)
    if kind == "gone":
        return DatabaseGone(
            f"{label}: the server does not respond: {text}; run the command again once the server is up"
        )
    return SqlFailed(f"the database cannot be opened: {text}")
