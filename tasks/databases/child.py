"""The parent's side of a reading process: frames there and back, and an end to it on time."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.errors import SqlError, SqlFailed, SqlRefused, SqlTimeout, SqlTooLarge

SCRIPT = Path(__file__).with_name("sqlite_child.py")
START_SECONDS = 30.0
GRACE_SECONDS = 0.3
"""How much later than its own limit a child is killed: one that stops by itself can be used again."""
KINDS: Mapping[str, type[SqlError]] = {
    "timeout": SqlTimeout,
    "large": SqlTooLarge,
    "memory": SqlTooLarge,
    "refused": SqlRefused,
}


class Child:
    """One process that reads one SQLite file. Used by one thread at a time."""

    def __init__(self, uri: str, *, memory: int, max_bytes: int) -> None:
        setup = json.dumps({"uri": uri, "memory": memory, "bytes": max_bytes})
        self.usable = True
        self._largest = 2 * max_bytes + 1_000_000
        self._process = subprocess.Popen(  # noqa: S603 (our own script, no shell)
            [sys.executable, "-I", "-S", str(SCRIPT), setup],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )
        reply = self._receive(START_SECONDS)
        if "error" in reply:
            self.kill()
            raise SqlFailed(f"the database cannot be opened: {reply['text']}")

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and wait for its reply, at most `seconds` and a grace.

        Raises SqlRefused, SqlTimeout, SqlTooLarge or SqlFailed; `usable` tells whether it may be asked again.
        """
        body = json.dumps({**request, "seconds": seconds}).encode()
        if self._process.stdin is None:
            raise SqlFailed("the engine has no input")
        try:
            self._process.stdin.write(len(body).to_bytes(4, "big") + body)
            self._process.stdin.flush()
        except OSError:
            self.kill()
            raise SqlFailed("the engine ended between two statements") from None
        reply = self._receive(seconds + GRACE_SECONDS)
        if "error" not in reply:
            return reply
        if reply["error"] == "memory":
            self.kill()
        if reply["error"] == "timeout":
            raise SqlTimeout(f"the statement did not end within {seconds:.3g} s")
        raise KINDS.get(reply["error"], SqlFailed)(reply["text"])

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self.usable = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _receive(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        size = int.from_bytes(self._read(4, deadline), "big")
        if size > self._largest:
            self.kill()
            raise SqlTooLarge(f"a reply of {size:,} bytes")
        reply: dict[str, Any] = json.loads(self._read(size, deadline))
        return reply

    def _read(self, size: int, deadline: float) -> bytearray:
        if self._process.stdout is None:
            raise SqlFailed("the engine has no output")
        descriptor = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        content = bytearray()
        while len(content) < size:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                self.kill()
                raise SqlTimeout("the statement did not end in time, and its process was killed")
            part = os.read(descriptor, min(size - len(content), 1 << 20))
            if not part:
                self.kill()
                raise SqlFailed(f"the engine ended by itself ({self._process.returncode})")
            content += part
        return content
