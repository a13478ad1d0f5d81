"""A server that sends given replies byte for byte, and the data format of these replies.

A reply has `status`, `headers`, `body` as Latin-1 text in parts (a part may be [text, times]), `pack`
("gzip"), `endless` (repeat the body), `cut` (number of announced bytes that are not sent), and `hang` (send
nothing). `{key}` and `{escaped key}` are replaced by the key in the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import zlib
from collections.abc import Iterator
from random import Random
from typing import Any

KEY = "sk-hostile/0123456789-abcdef"
MOST = 512 << 20
Reply = dict[str, Any]


class Wire:
    """A server that answers every request with the current reply."""

    def __init__(self) -> None:
        self.reply: Reply = {}
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = head.partition("content-length: ")[2].split("\r\n")[0]
            await reader.readexactly(int(length or 0))
            await self.write(writer)
        with contextlib.suppress(ConnectionError):
            writer.close()

    async def write(self, writer: asyncio.StreamWriter) -> None:
        reply = self.reply
        if reply.get("hang"):
            await asyncio.sleep(60)
        body = join_parts(reply.get("body", []))
        headers = {"Content-Type": "application/json", "Connection": "close", **reply.get("headers", {})}
        if reply.get("pack"):
            packer = zlib.compressobj(wbits=31)
            body = packer.compress(body) + packer.flush()
            headers["Content-Encoding"] = reply["pack"]
        if not reply.get("endless"):
            headers["Content-Length"] = str(len(body) + reply.get("cut", 0))
        lines = [f"HTTP/1.1 {reply.get('status', 200)} X", *(f"{name}: {headers[name]}" for name in headers)]
        head = fill_in("\r\n".join(lines) + "\r\n\r\n").replace("{here}", self.url)
        writer.write(head.encode("latin-1") + body)
        await writer.drain()
        block = body * 1000 if reply.get("endless") else b""
        for _ in range(MOST // len(block) if block else 0):
            writer.write(block)
            await writer.drain()


def join_parts(parts: list[Any]) -> bytes:
    """Return the bytes of a body's parts."""
    pairs = [(part, 1) if isinstance(part, str) else (part[0], part[1]) for part in parts]
    return b"".join(fill_in(text).encode("latin-1") * times for text, times in pairs)


def fill_in(text: str) -> str:
    """Insert the key, unchanged or with JSON escapes."""
    escaped = "".join(f"\\u{ord(character):04X}" for character in KEY)
    return text.replace("{key}", KEY).replace("{escaped key}", escaped)


@contextlib.contextmanager
def open_wire() -> Iterator[Wire]:
    """Serve on loopback from a thread."""
    wire, loop = Wire(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(wire.answer, "127.0.0.1", 0), loop
    ).result()
    wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

    async def stop() -> None:
        server.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    try:
        yield wire
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


HEADERS = [
    ("Location", "http://127.0.0.1:1/v1"),
    ("Location", "//elsewhere.invalid/"),
    ("Location", "http://[::1"),
    ("Location", "{here}/chat/completions"),
    ("Location", "http://x:99999/"),
    ("Location", "file:///x"),
    ("Location", "{key}"),
    ("Retry-After", "nan"),
    ("Retry-After", "-1e999"),
    ("Retry-After", "1e308"),
    ("Retry-After", "Mon, 01 Jan 0001 00:00:00 GMT"),
    ("Content-Encoding", "gzip"),
    ("Content-Encoding", "br"),
    ("Content-Type", "text/html; charset=utf-16"),
    ("Content-Type", "application/json; charset=no-such"),
    ("Content-Type", "x" * 7_000),
    ("Content-Length", "-1"),
    ("Set-Cookie", "a=" + "b" * 4_000),
    ("Transfer-Encoding", "chunked"),
    ("X-Long", "y" * 9_000),
]
STATUSES = [200, 201, 204, 206, 301, 302, 303, 307, 308, 400, 401, 404, 418, 429, 500, 503, 599, 999]
SCALARS = [
    "null", "true", "0", "-1", "1e999", "NaN", "-Infinity", "9" * 30, "9" * 5_000, '""', '"x"',
    '"\\ud800"', '"\\u0000"', '"\\u001b[2J"', '"{key}"', '"{escaped key}"', "[]", "{}", '"stop"', "0.5",
    '"\\u202e"', "1.5",
]  # fmt: skip
BROKEN = ["[" * 60, "{" * 3, "]", ",", '"', "[" * 900 + "]" * 900, "\\", "\xff\xfe"]


def make_value(random: Random, names: list[str], depth: int = 0) -> str:
    """Generate a JSON value with names that the reader knows; sometimes an invalid or deep value."""
    chance = random.random()
    if depth > 4 or chance < 0.35:
        return random.choice(SCALARS)
    if chance < 0.38:
        return random.choice(BROKEN)
    values = [make_value(random, names, depth + 1) for _ in range(random.randint(0, 4))]
    if chance < 0.6:
        return f"[{','.join(values)}]"
    return "{" + ",".join(f'"{random.choice(names)}":{value}' for value in values) + "}"


def make_reply(random: Random, body: list[Any]) -> Reply:
    """Generate a reply with a body: another status, a header, compression, or a missing end."""
    reply: Reply = {"body": body}
    if random.random() < 0.3:
        reply["status"] = random.choice(STATUSES)
    if random.random() < 0.25 or reply.get("status", 200) in (301, 302, 303, 307, 308):
        reply["headers"] = dict([random.choice(HEADERS)])
    if random.random() < 0.1:
        reply["pack"] = random.choice(["gzip", "deflate", "br", "gzip, gzip"])
    if random.random() < 0.1:
        reply["cut"] = random.choice([1, 1_000])
    return reply


__all__ = ["KEY", "Reply", "Wire", "fill_in", "make_reply", "make_value", "open_wire"]
