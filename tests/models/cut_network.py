"""A proxy that delays, drops and resets connections to a server at seeded times."""

import asyncio
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

RESET = struct.pack("ii", 1, 0)
"""Value of SO_LINGER with which closing a socket resets the connection."""


class CutNetwork:
    """Forwards connections to a server. faults: kind of fault -> count."""

    def __init__(self, host: str, port: int, seed: int, longest_s: float) -> None:
        """Set up the proxy. longest_s: maximum duration of a fault."""
        self.faults: Counter[str] = Counter()
        self.port = 0
        self._server, self._longest_s = (host, port), longest_s
        self._draw = random.Random(seed)
        self._mode, self._open = "", set[asyncio.StreamWriter]()
        self._begun = threading.Event()

    async def serve(self, stop: asyncio.Event, ready: threading.Event) -> None:
        """Forward until `stop` is set."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        faults = asyncio.create_task(self._fail())
        await stop.wait()
        faults.cancel()
        self._reset()
        server.close()

    async def _fail(self) -> None:
        """Apply one fault after another to all connections, with pauses."""
        while not self._begun.is_set():  # noqa: ASYNC110 - set in another thread
            await asyncio.sleep(0.05)
        while True:
            await asyncio.sleep(self._draw.uniform(0.3, 1.5))
            kind = self._draw.choice(("reset", "refuse", "delay", "drop", "drop and reset"))
            self.faults[kind] += 1
            if kind in ("reset", "refuse"):
                self._reset()
            if kind != "reset":
                self._mode = kind
                await asyncio.sleep(self._draw.uniform(0.2, self._longest_s))
            if kind == "drop and reset":
                self._reset()
            self._mode = ""

    def begin(self, connections: int) -> None:
        """Start faults when the given number of connections is open."""

        def wait() -> None:
            while len(self._open) < 2 * connections:
                self._begun.wait(0.05)
            self._begun.set()

        threading.Thread(target=wait, daemon=True).start()

    def swallow(self, seconds: float) -> None:
        """Receive data, but forward nothing for the given time."""
        self._mode = "drop"
        threading.Timer(seconds, lambda: setattr(self, "_mode", "")).start()

    def _reset(self) -> None:
        for writer in list(self._open):
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()
        self._open.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        if self._mode == "refuse":
            self._reset()
            return
        try:
            there, to_server = await asyncio.open_connection(*self._server)
        except OSError:
            writer.transport.abort()
            return
        self._open.add(to_server)
        await asyncio.gather(self._forward(reader, to_server), self._forward(there, writer))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while block := await reader.read(1 << 16):
                if self._mode == "delay":
                    await asyncio.sleep(self._draw.uniform(0.02, 0.2))
                while self._mode.startswith("drop"):  # noqa: ASYNC110 - also set in another thread
                    await asyncio.sleep(0.05)
                if writer not in self._open:
                    return
                writer.write(block)
                await writer.drain()
        self._open.discard(writer)
        writer.close()


@contextmanager
def cutting(host: str, port: int, seed: int, longest_s: float) -> Iterator[CutNetwork]:
    """Run the proxy in front of a server, in a separate thread."""
    network, ready = CutNetwork(host, port, seed, longest_s), threading.Event()
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(network.serve(stop, ready)))
    thread.start()
    try:
        assert ready.wait(10)
        yield network
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
