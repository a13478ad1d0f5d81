"""Check responses of endpoints and systems: limit the size, follow no other host, remove the API key."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import AsyncIterable
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MAX_ERROR_BYTES = 1 << 16
"""How much of an error's body is read."""
SECRET_LENGTH = 8
"""A header's value of fewer characters is not taken for a key: any reply may contain it."""
REMOVED = "[key removed]"
"""What stands in a record where the other side had repeated our key."""
UNPACKED = {"": None, "identity": None, "gzip": 47, "x-gzip": 47, "deflate": 47}
"""The encodings of a body that are read, with zlib's number for them; we ask for none."""


class RefusedReply(Exception):
    """A reply that is not read on: from another host, too large, or packed; the message says which.

    too_large: the request alone has it. broken: another try may bring a sound one.
    """

    def __init__(self, problem: str, *, too_large: bool = False, broken: bool = False) -> None:
        super().__init__(problem)
        self.too_large, self.broken = too_large, broken


class Secret:
    """A key, which must come back into no record, however JSON or a URL may have escaped it."""

    def __init__(self, value: str, *others: str) -> None:
        """value: the key, or "" for none. others: further secrets, of SECRET_LENGTH characters or more."""
        self.value = value
        secrets = [secret for secret in (value, *others) if secret == value or len(secret) >= SECRET_LENGTH]
        patterns = [
            "".join(map(_spell, secret)) for secret in sorted(filter(None, secrets), key=len, reverse=True)
        ]
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def remove(self, text: str) -> str:
        """Write REMOVED in the place of the key."""
        return text if self._pattern is None else self._pattern.sub(REMOVED, text)

    def remove_from_body(self, body: bytes) -> bytes:
        """Remove the key from a body in any of JSON's encodings; one that holds it becomes UTF-8."""
        if self._pattern is None:
            return body
        text = body.decode(json.detect_encoding(body), "replace")
        removed = self.remove(text)
        return body if removed == text else removed.encode()


def _spell(character: str) -> str:
    """Write a pattern for a character as it is, escaped in JSON (and that in JSON), or in a URL."""
    code = f"{ord(character):02x}"
    return rf"(?:\\{{0,8}}{re.escape(character)}|\\{{1,8}}u(?i:00{code})|%(?i:{code}))"


async def read_bounded(blocks: AsyncIterable[bytes], status: int, encoding: str, max_bytes: int) -> bytes:
    """Read a body, unpacked, of at most `max_bytes`; of an error only the beginning.

    encoding: the header Content-Encoding. Raises RefusedReply.
    """
    limit = max_bytes if status < 300 else min(max_bytes, MAX_ERROR_BYTES)
    bits = UNPACKED.get(encoding.strip().lower(), 0)
    if bits == 0:
        raise RefusedReply(f"packed its reply as {encoding[:20]!r}, which it was not asked to")
    unpacker = zlib.decompressobj(bits) if bits is not None else None
    body = bytearray()
    async for block in blocks:
        try:
            body += block if unpacker is None else unpacker.decompress(block, limit + 1 - len(body))
        except zlib.error:
            raise RefusedReply("sent a packed reply that cannot be unpacked", broken=True) from None
        if len(body) > limit:
            if status >= 300:
                break
            raise RefusedReply(f"sent more than {limit} bytes (max_bytes in params.yaml)", too_large=True)
    return bytes(body[:limit])


def find_origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Return scheme, host and port of a URL; None if it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return parts.scheme, parts.hostname, port


def is_loopback(url: str) -> bool:
    """Return whether a URL points to this machine."""
    origin = find_origin(url)
    return origin is not None and origin[1] in LOOPBACK


def plain(text: str, characters: int = 300) -> str:
    """Write a text of the other side's as a part of one line, cut."""
    line = " ".join(text[: 4 * characters].split())
    return "".join(character if character.isprintable() else "?" for character in line)[:characters]
