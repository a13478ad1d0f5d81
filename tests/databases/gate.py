"""A TCP proxy that can be shut at any time, to simulate a stopped server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

CHUNK = 16_384


class Gate:
    """Forwards connections to a server; `shut` ends all connections and refuses new ones."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._door: socket.socket | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self.port = 0
        self.passed = 0
        """Number of bytes that the server has sent through the gate."""
        self.limit: int | None = None
        """Number of bytes after which the gate shuts automatically."""

    def open(self) -> None:
        """Listen on the previous port, if any."""
        self._door = socket.create_server(("127.0.0.1", self.port))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._admit, args=(self._door,), daemon=True).start()

    def shut(self) -> None:
        """End all connections, and refuse new ones."""
        with self._lock:
            sockets, self._open = {*self._open}, set()
            door, self._door = self._door, None
        if door is not None:
            sockets.add(door)
        for opened in sockets:
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
            opened.close()

    def _admit(self, door: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = door.accept()
                server = socket.create_connection(self._server)
                with self._lock:
                    self._open |= {client, server}
                for source, target in ((client, server), (server, client)):
                    answers = source is server
                    threading.Thread(target=self._pass, args=(source, target, answers), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                if answers:
                    self.passed += len(data)
                    if self.limit is not None and self.passed > self.limit:
                        self.shut()
                target.sendall(data)
        with self._lock:
            self._open -= {source, target}
        for end in (source, target):
            end.close()


@contextlib.contextmanager
def open_gate(host: str, port: int) -> Iterator[Gate]:
    """Open a gate to a server while the block runs."""
    gate = Gate(host, port)
    gate.open()
    try:
        yield gate
    finally:
        gate.shut()
