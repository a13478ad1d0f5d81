"""Parse pages in a child process, so that the parser can be killed if it hangs on a page."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

from tasks.errors import StageFailed
from tasks.sources.wikipedia.pages import PageText, UnreadablePage, read_page

LONGEST_S = 60.0
"""Maximum time per page in seconds; the longest pages of the English Wikipedia take ten seconds on a slow
machine."""
SERVE = "import sys; from tasks.sources.wikipedia.reading import serve; serve(int(sys.argv[1]))"
MOST_MEMORY = 4 * 2**30
"""Maximum address space of the child process, in bytes."""


class PageReader:
    """Reads pages in a child process, which is started for the first page and restarted after a failure."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._child: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def read(self, text: str, title: str) -> PageText:
        """Convert wikitext to parts in the child process.

        Raises UnreadablePage in the same cases as `read_page`, and if the page requires too much time or
        memory. Raises StageFailed if the child process cannot start.
        """
        pipe = self._pipe or self._start()
        try:
            pipe.send((text, title))
            if not pipe.poll(self._longest_s):
                self.close()
                raise UnreadablePage("too_slow", f"takes more than {self._longest_s:g} s to parse")
            answer = pipe.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise UnreadablePage("broken", "the parser crashed") from error
        if isinstance(answer, PageText):
            return answer
        raise UnreadablePage(*answer)

    def close(self) -> None:
        """Stop the child process."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
        if self._pipe is not None:
            self._pipe.close()
        self._child = self._pipe = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> Connection:
        own, other = socket.socketpair()
        with other:
            # A new interpreter, unlike a fork, copies no threads, and does not import the main program.
            self._child = subprocess.Popen(  # noqa: S603 (this interpreter, and words of our own)
                [sys.executable, "-c", SERVE, str(other.fileno())],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        pipe = self._pipe = Connection(own.detach())
        try:
            pipe.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise StageFailed("the process that reads pages did not start") from error
        return pipe


def serve(number: int) -> None:
    """Convert pages for the parent process until that process ends. `number`: a socket's file descriptor."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    pipe = Connection(number)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        pipe.send("ready")
        while True:
            pipe.send(_answer(*pipe.recv()))


def _answer(text: str, title: str) -> PageText | tuple[str, str]:
    try:
        return read_page(text, title)
    except UnreadablePage as error:
        return error.reason, error.detail
    except MemoryError:
        return "too_large", "needs more memory than a page may use"
    except Exception as error:  # noqa: BLE001 (whatever a page does to the parser, the next one is read)
        return "broken", f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
