"""Detect the kind of Wikipedia source from a path or URL."""

from __future__ import annotations

from pathlib import Path

from tasks.errors import BadInput
from tasks.sources.streams import BROKEN, open_packed
from tasks.sources.wikipedia.article import ArticleSource, Skip

MOST_ANSWER = 32 * 2**20
"""Maximum size of one API response, in bytes."""


def open_source(path: str, skip: Skip, cache: Path, contact: str = "") -> ArticleSource:
    """Open a dump, Structured Contents, wikitext, a JSON file `{title: text}`, or an API by its URL.

    - `cache`: folder for API responses.
    - `contact`: see `WebServer`.

    A file's name and first bytes determine its kind. Raises BadInput if the kind of source is unknown.
    """
    if path.startswith(("http://", "https://")):
        from tasks.sources.web import WebServer
        from tasks.sources.wikipedia.api import WikipediaApi

        return WikipediaApi(WebServer(path, contact, most_bytes=MOST_ANSWER), skip, cache)
    place = Path(path)
    if place.is_dir():
        return _open_folder(place, skip)
    if not place.is_file():
        raise BadInput(
            place, "does not exist", hint="give a dump, a folder of wikitext, JSON, or the URL of an api.php"
        )
    return _open_file(place, skip)


def _open_folder(folder: Path, skip: Skip) -> ArticleSource:
    from tasks.sources.wikipedia.folder import WikitextFolder
    from tasks.sources.wikipedia.structured import PATTERNS, StructuredContents

    if any(next(folder.glob(pattern), None) for pattern in PATTERNS):
        return StructuredContents(folder, skip)
    return WikitextFolder(folder, skip)


def _open_file(file: Path, skip: Skip) -> ArticleSource:
    from tasks.sources.wikipedia.dump import Dump
    from tasks.sources.wikipedia.folder import ENDINGS, WikitextFolder
    from tasks.sources.wikipedia.plain import PlainTexts
    from tasks.sources.wikipedia.structured import StructuredContents

    if file.suffix.lower() in ENDINGS:
        return WikitextFolder(file, skip)
    suffixes = [suffix.lower() for suffix in file.suffixes[-2:]]
    if {".ndjson", ".jsonl"} & set(suffixes):
        return StructuredContents(file, skip)
    try:
        with open_packed(file) as opened:
            head = opened.read(512).lstrip(b"\xef\xbb\xbf \t\r\n")
    except BROKEN as error:
        raise BadInput(file, f"cannot be read: {' '.join(str(error).split())}") from error
    if head.startswith(b"<"):
        return Dump(file, skip)
    if head.startswith(b"{"):
        return PlainTexts(file, skip)
    raise BadInput(
        file,
        "is not a source of articles",
        hint="give a dump, wikitext, NDJSON, or JSON with titles and texts",
    )
