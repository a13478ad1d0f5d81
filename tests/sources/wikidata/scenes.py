"""Hand-written entities in Wikibase's JSON, for tests."""

import bz2
import gzip
import json
from pathlib import Path

GREGORIAN, JULIAN = (f"http://www.wikidata.org/entity/{name}" for name in ("Q1985727", "Q1985786"))


def snak(name: str, kind: str, value: object, datatype: str | None = None) -> dict:
    return {
        "snaktype": "value",
        "property": name,
        "datavalue": {"value": value, "type": kind},
        "datatype": datatype or kind,
    }


def item(name: str, target: str) -> dict:
    value = {"entity-type": "item", "numeric-id": int(target[1:]), "id": target}
    return snak(name, "wikibase-entityid", value, "wikibase-item")


def time(name: str, text: str, precision: int = 11, calendar: str = GREGORIAN) -> dict:
    value = {
        "time": text,
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": precision,
        "calendarmodel": calendar,
    }
    return snak(name, "time", value)


def quantity(name: str, amount: str, unit: str = "1", **bounds: str) -> dict:
    address = unit if unit == "1" else f"http://www.wikidata.org/entity/{unit}"
    return snak(name, "quantity", {"amount": amount, "unit": address, **bounds})


def text(name: str, value: str, language: str = "en") -> dict:
    return snak(name, "monolingualtext", {"text": value, "language": language})


def statement(
    main: dict, number: int = 0, entity: str = "Q1", rank: str = "normal", **qualifiers: list
) -> dict:
    made = {
        "mainsnak": main,
        "type": "statement",
        "id": f"{entity}${main['property']}-{number}",
        "rank": rank,
    }
    return {**made, "qualifiers": qualifiers} if qualifiers else made


def entity(name: str = "Q1", *statements: dict, label: str = "one", **more: object) -> dict:
    claims: dict[str, list] = {}
    for made in statements:
        claims.setdefault(made["mainsnak"]["property"], []).append(made)
    return {
        "type": "property" if name.startswith("P") else "item",
        "id": name,
        "labels": {"en": {"language": "en", "value": label}},
        "descriptions": {},
        "aliases": [],
        "claims": claims or [],
        "sitelinks": {"enwiki": {"site": "enwiki", "title": label.title(), "badges": []}},
        "lastrevid": 7,
        **more,
    }


def write_dump(path: Path, *lines: dict | bytes, end: bool = True) -> Path:
    """Write a dump, compressed according to its name; bytes are written unchanged as a line."""
    body = b",\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    content = b"[\n" + body + (b"\n]\n" if end else b"")
    pack = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(content))
    return path
