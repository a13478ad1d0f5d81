"""Propose, from some texts of a column, its date formats and shapes such as UUIDs or times."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from tasks.databases.profile.readings import CLOCK, DAY, MIDNIGHT, MOMENT
from tasks.databases.profile.readings import ISO as ISO_FORM

ORDERS = (("%m", "%d", "%Y"), ("%d", "%m", "%Y"), ("%Y", "%m", "%d"), ("%d", "%b", "%Y"))
FORMATS = (
    *(separator.join(order) for order, separator in product(ORDERS, "/.- ")),
    "%b %d, %Y", "%d %b, %Y", "%b %d %Y",
)  # fmt: skip
"""Date formats to try on the sampled texts."""
COMPACT = "%Y%m%d"
PARTS = {"%Y": r"\d{4}", "%m": r"\d{1,2}", "%d": r"\d{1,2}", "%b": r"[A-Za-z]{3,9}"}
TIMED = re.compile(r"([^ ]+) \d{1,2}:\d\d(:\d\d(\.\d+)?)?")
"""Matches a date without spaces that is followed by a time."""
ISO = re.compile(r"\d{4}-\d\d-\d\d")
SHAPES: Mapping[str, re.Pattern[str]] = {
    "uuid": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE),
    "geometry": re.compile(r"(MULTI)?(POINT|LINESTRING|POLYGON)\s*Z?M?\s*\(.*\)", re.IGNORECASE | re.DOTALL),
    "time": re.compile(r"[0-2]?\d:[0-5]\d(:[0-5]\d(\.\d+)?)?( ?[AP]M|[+-]\d\d(:\d\d)?)?", re.IGNORECASE),
    "boolean": re.compile(r"true|false|yes|no|[tfyn]", re.IGNORECASE),
    "digits": re.compile(r"[\d-]*\d[\d-]*"),
}
"""Shape -> the pattern that all sampled texts must match."""


def propose_formats(texts: Iterable[str]) -> list[str]:
    """Return the date readings that match at least one text, with the ISO readings first."""
    texts = list(texts)
    found = [DAY, MOMENT] if any(ISO.match(text) for text in texts) else []
    timed = [match[1] for text in texts if (match := TIMED.fullmatch(text))]
    for form in FORMATS:
        pattern = re.compile(re.sub(r"%\w", lambda part: PARTS[part[0]], form.replace(".", r"\.")))
        if any(pattern.fullmatch(text) for text in texts):
            found.append(form)
        if form != ISO_FORM and any(pattern.fullmatch(text) for text in timed):
            found += [form + MIDNIGHT, form + CLOCK]
    return found


def find_shape(texts: Sequence[str]) -> str:
    """Return the shape of all texts: uuid, json, geometry, time, boolean or digits; "" if shapes differ."""
    if not texts:
        return ""
    for shape, pattern in SHAPES.items():
        if all(pattern.fullmatch(text) for text in texts):
            return shape
    return "json" if all(map(_is_json, texts)) else ""


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), (dict, list))
    except ValueError:
        return False
