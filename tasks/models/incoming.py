"""Check replies of endpoints and systems: limit their size, refuse other hosts, remove the API key."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import AsyncIterable
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MAX_ERROR_BYTES = 1 << 16
"""Maximum number of bytes to read from an error's body."""
SECRET_LENGTH = 8
"""Minimum length of a header value that counts as a secret; a shorter value may occur in a reply by
chance."""
REMOVED = "[key removed]"
"""The text that replaces an API key in a recorded reply."""
# 47 = 15 (the largest window) + 32 (detects the header of gzip or zlib).
UNPACKED = {"": None, "identity": None, "gzip": 47, "x-gzip": 47, "deflate": 47}
"""Map each accepted Content-Encoding value to zlib's `wbits` argument, or to None for an uncompressed body.

Every request asks for an uncompressed body.
"""


class RefusedReply(Exception):
    """Raised for a reply with a wrong host, size or compression; the message is the reason.

    `too_large`: the reply exceeds the size limit, so only this request fails. `broken`: the reply cannot be
    decompressed, but a retry may succeed.
    """

    def __init__(self, problem: str, *, too_large: bool = False, broken: bool = False) -> None:
        super().__init__(problem)
        self.too_large, self.broken = too_large, broken


class Secret:
    """An API key to remove from all records, including the key's escaped forms in JSON and URLs."""

    def __init__(self, value: str, *others: str) -> None:
        """Store the key and the other secrets that `remove` replaces.

        `value`: the key, or "" if there is no key. `others`: other secrets; secrets shorter than
        SECRET_LENGTH characters are ignored.
        """
        self.value = value
        secrets = [secret for secret in (value, *others) if secret == value or len(secret) >= SECRET_LENGTH]
        # Longest first, because one secret may be the beginning of another.
        patterns = [
            "".join(map(_spell, secret)) for secret in sorted(filter(None, secrets), key=len, reverse=True)
        ]
        self._pattern = re.compile("|".join(patterns)) if patterns else None

    def remove(self, text: str) -> str:
        """Replace the key and the other secrets in a text with REMOVED."""
        return text if self._pattern is None else self._pattern.sub(REMOVED, text)

    def remove_from_body(self, body: bytes) -> bytes:
        """Remove the key from a JSON body in any encoding; a changed body is in UTF-8."""
        if self._pattern is None:
            return body
        text = body.decode(json.detect_encoding(body), "replace")
        removed = self.remove(text)
        return body if removed == text else removed.encode()


def _spell(character: str) -> str:
    """Return a pattern for a character: plain, escaped in JSON (or JSON within JSON), or escaped in a URL."""
    code = f"{ord(character):02x}"
    return rf"(?:\\{{0,8}}{re.escape(character)}|\\{{1,8}}u(?i:00{code})|%(?i:{code}))"


async def read_bounded(blocks: AsyncIterable[bytes], status: int, encoding: str, max_bytes: int) -> bytes:
    """Read and decompress a reply's body of at most `max_bytes` bytes.

    An error's body is cut after MAX_ERROR_BYTES. `status`: the HTTP status; 300 or more is an error.
    `encoding`: the Content-Encoding header. Raises RefusedReply if the body is too large, cannot be
    decompressed, or has an unexpected encoding.
    """
    limit = max_bytes if status < 300 else min(max_bytes, MAX_ERROR_BYTES)
    bits = UNPACKED.get(encoding.strip().lower(), 0)
    if bits == 0:
        raise RefusedReply(f"compressed its reply with {encoding[:20]!r}, which the request did not accept")
    unpacker = zlib.decompressobj(bits) if bits is not None else None
    body = bytearray()
    async for block in blocks:
        try:
            # With a bound on the output, a small compressed reply cannot expand to gigabytes in memory.
            body += block if unpacker is None else unpacker.decompress(block, limit + 1 - len(body))
        except zlib.error:
            raise RefusedReply("sent a compressed reply that cannot be decompressed", broken=True) from None
        if len(body) > limit:
            if status >= 300:
                break
            raise RefusedReply(f"sent more than {limit} bytes (max_bytes in params.yaml)", too_large=True)
    return bytes(body[:limit])


def find_origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Return the scheme, host and port of a URL, or None if the text is not a valid URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return parts.scheme, parts.hostname, port


def is_loopback(url: str) -> bool:
    """Return whether a URL's host is this machine (a loopback address)."""
    origin = find_origin(url)
    return origin is not None and origin[1] in LOOPBACK


def plain(text: str, characters: int = 300) -> str:
    """Shorten a text from an endpoint to one printable line of at most `characters` characters."""
    line = " ".join(text[: 4 * characters].split())
    return "".join(character if character.isprintable() else "?" for character in line)[:characters]
