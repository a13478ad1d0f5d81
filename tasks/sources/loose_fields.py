"""Read fields of published records whose names and forms differ between releases; the input is untrusted."""

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
    """Raised for a record that cannot be used. The message is a fixed word, then what is wrong."""


def find_field(record: Mapping[str, object], names: Sequence[str]) -> object:
    """Return the first field of these names that is there and neither null nor empty; None for none."""
    for name in names:
        value = record.get(name)
        if value is not None and value != "" and value != []:
            return value
    return None


def find_line(record: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the first field of these names that is a text or a number, on one line; empty for none."""
    for name in names:
        if line := make_line(record.get(name)):
            return line
    return ""


def make_line(value: object) -> str:
    """Write a text or a number on one line, without signs that no line has; empty for anything else."""
    if isinstance(value, bool) or not isinstance(value, SCALARS):
        return ""
    text = value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
    text = text.encode("utf-8", "replace").decode("utf-8")
    return " ".join(CONTROL.sub(" ", text).split())


def list_values(value: object) -> list[object]:
    """List what a field holds: a list as it is, anything else alone, null and an empty text as nothing."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def find_item(record: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the first field that is a Wikidata item's id or address, as `Q42`; empty for none."""
    return next(_find_ids(record, names, ITEM), "")


def find_property(record: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the first field that is a Wikidata property's id or address, as `P36`; empty for none."""
    return next(_find_ids(record, names, PROPERTY), "")


def find_article(record: Mapping[str, object], names: Sequence[str]) -> str:
    """Return the title of the first field that is a title or address in the English Wikipedia."""
    return next(filter(None, (read_title(record.get(name)) for name in names)), "")


def read_title(value: object) -> str:
    """Read a title, or the one of an address of the English Wikipedia; empty for none, as of other wikis."""
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
    # Digits alone are a page's number, but the address of an article has its title: `/wiki/1917`.
    return title if title and is_title(title) and (address or not title.isdigit()) else ""


def read_name(text: str) -> tuple[str, str]:
    """Read a name that may be a link in wikitext: (name, linked title), the title empty without one.

    An address behind a name is left out.
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
