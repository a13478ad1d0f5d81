"""Determine the licence and attribution of a source's texts from the source's metadata."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

from tasks.sources.base_importer import NOT_STATED
from tasks.sources.streams import BROKEN, TooLong, open_packed, read_line
from tasks.sources.wikipedia.article import ATTRIBUTION, LICENCE

HOST = re.compile(r"(?:[a-z0-9-]+\.)*wikipedia\.org")
BASE = re.compile(rb"<base>\s*([^<\s]+)")
"""Matches the URL of a dump's wiki."""
NAME = re.compile(rb"<dbname>(?:simple|[a-z]{2,3}(?:_[a-z_]+)?)wiki</dbname>")
"""Matches the database name of a Wikipedia, for dumps without a URL."""
HEAD = 8192
"""Number of bytes to read from about.json, and from the start of a dump, to find the metadata."""


def find_rights(source: str) -> tuple[str, str]:
    """Return the licence and attribution of a source.

    For wikipedia.org's API, dumps and Structured Contents files, return Wikipedia's licence and attribution.
    For a folder with about.json, return the values in that file. Otherwise, return `not stated`.
    """
    place = Path(source)
    if "://" in source:
        host = urlsplit(source).hostname or ""
    elif (place / "about.json").is_file():
        return _read_about(place / "about.json")
    else:
        host = _find_host(place)
    return (LICENCE, ATTRIBUTION) if HOST.fullmatch(host) else (NOT_STATED, NOT_STATED)


def _read_about(path: Path) -> tuple[str, str]:
    try:
        with path.open("rb") as file:
            about = json.loads(file.read(HEAD))
    except (OSError, ValueError):
        about = None
    said = about if isinstance(about, dict) else {}
    found = [said.get(name) for name in ("licence", "attribution")]
    licence, credit = (" ".join(str(text or "").split()) or NOT_STATED for text in found)
    return licence, credit


def _find_host(place: Path) -> str:
    """Return the host name of the wiki in a dump or Structured Contents file; empty if unknown."""
    # This import is local, as in `open_source`, because the module requires optional dependencies.
    from tasks.sources.wikipedia.structured import LONGEST_RECORD, PATTERNS

    if place.is_dir():
        files = sorted(file for pattern in PATTERNS for file in place.glob(pattern))
        return _find_host(files[0]) if files else ""
    try:
        with open_packed(place) as opened:
            if any(place.match(pattern) for pattern in PATTERNS):
                record = json.loads(read_line(opened, LONGEST_RECORD))
                address = record.get("url") if isinstance(record, dict) else None
                return urlsplit(str(address)).hostname or ""
            head = opened.read(HEAD)
    except (ValueError, TooLong, *BROKEN):
        return ""
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return ""
    if found := BASE.search(head):
        return urlsplit(found[1].decode("utf-8", "replace")).hostname or ""
    return "wikipedia.org" if NAME.search(head) else ""
