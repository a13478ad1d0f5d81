"""Read untrusted published records whose field names and formats differ between releases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qs, urlsplit

from tasks.sources.wikipedia.article import clean_title, is_title, read_path

LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
ADDRESS = re.compile(r"\s*https?://\S+")
ITEM = re.compile(r"(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki)/)?(Q[1-9]\d{0,14})")
PROPERTY = re.compile(
    r"(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki|prop/direct)/(?:Property:)?)?(P[1-9]\d{0,9})"
)
WIKI = re.compile(r"(?:en\.|www\.)?(?:m\.)?wikipedia\.org|en\.m\.wikipedia\.org")
SCALARS = (str, int, float)


class BadRecord(ValueError):
    """Raised for a record that cannot be used.

    The message is one of a few fixed reasons, followed by details.
    """


def find_field(record: Mapping[str, object], names: Sequence[str]) -> object:
    """Return the first value in these fields that is not null or empty; otherwise None."""
    for name in names:
        value = record.get(name)
        if value is not None and value != "" and value != []:
            return value
    return None


def find_line(record: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the first string or number in these fields, on one line; otherwise an empty string."""
    for name in names:
        if line := make_line(record.get(name)):
            return line
    return ""


def make_line(value: object) -> str:
    """Convert a string or a number to one line, without control characters; empty for any other value."""
    if isinstance(value, bool) or not isinstance(value, SCALARS):
        return ""
    text = value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
    # JSON may contain lone surrogates (`"\ud800"`), which cannot be written as UTF-8.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return " ".join(CONTROL.sub(" ", text).split())


def list_values(value: object) -> list[object]:
    """Return a list unchanged, null or "" as an empty list, and any other value as a one-element list."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def find_item(record: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the id (`Q42`) of the first Wikidata item in these fields (ids or URLs), or an empty string."""
    return next(_find_ids(record, names, ITEM), "")


def find_property(record: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the id (`P36`) of the first property in these fields (ids or URLs), or an empty string."""
    return next(_find_ids(record, names, PROPERTY), "")


def find_article(record: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the first article title of the English Wikipedia in these fields; otherwise an empty string."""
    return next(filter(None, (read_title(record.get(name)) for name in names)), "")


def read_title(value: object) -> str:
    """Return a title, given as text or as a URL of the English Wikipedia; empty for other values.

    A URL of another wiki also gives an empty title.
    """
    text = make_line(value)
    if address := isinstance(value, str) and "://" in text:
        try:
            parts = urlsplit(text)
        except ValueError:
            return ""
        if not WIKI.fullmatch(parts.netloc.lower()):
            return ""
        named = parse_qs(parts.query).get("title", [""])[0]
        text = named or parts.path
    title = read_path(text) if isinstance(value, str) else ""
    # A bare number is a page id, but the URL of an article contains its title: `/wiki/1917`.
    return title if title and is_title(title) and (address or not title.isdigit()) else ""


def read_name(text: str) -> tuple[str, str]:
    """Return (name, linked title) for a name that may be a wikitext link; the title is empty without a link.

    A URL after the name is removed.
    """
    found = LINK.search(text)
    plain = LINK.sub(lambda link: link[2] or link[1], text)
    plain = " ".join(ADDRESS.sub("", plain).replace("''", "").split()).strip()
    title = clean_title(found[1]) if found else ""
    return plain, title if is_title(title) else ""


def _find_ids(record: Mapping[str, object], names: Sequence[str], pattern: re.Pattern[str]) -> Iterator[str]:
    for name in names:
        if found := pattern.fullmatch(make_line(record.get(name))):
            yield found[1]
