"""Parse a snak: Wikibase's JSON representation of a value in a statement or qualifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tasks.sources.wikidata.calendars import Calendar
from tasks.sources.wikidata.report import NO_VALUE, OTHER_TYPE, UNKNOWN_VALUE
from tasks.sources.wikidata.values import (
    ItemValue,
    NoValue,
    Quantity,
    Text,
    Time,
    Value,
    make_amount,
    make_item,
    make_text,
    make_time,
    show,
)

CALENDARS: dict[str, Calendar] = {"Q1985727": "gregorian", "Q1985786": "julian"}
LETTERS = {"item": "Q", "property": "P"}


class KeptOut(Exception):
    """Raised for a valid snak whose value cannot be imported: unknown, absent or of an unsupported type."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def read_snak(snak: object) -> Value:
    """Return a snak's value.

    Raises NoValue if the snak is invalid, and KeptOut if it has no supported value.
    """
    if not isinstance(snak, dict):
        raise NoValue("is not a snak")
    kind = snak.get("snaktype")
    if kind == "somevalue":
        raise KeptOut(UNKNOWN_VALUE)
    if kind == "novalue":
        raise KeptOut(NO_VALUE)
    held = snak.get("datavalue")
    if kind != "value" or not isinstance(held, dict):
        raise NoValue("has no value")
    type_ = held.get("type")
    reader = READERS.get(type_) if isinstance(type_, str) else None
    if reader is None:
        raise KeptOut(OTHER_TYPE, show(snak.get("datatype") or type_))
    value = held.get("value")
    if not isinstance(value, dict):
        raise NoValue(f"{show(value)} is not a JSON object")
    return reader(value)


def read_unit(unit: object) -> str | None:
    """Return a unit's item id, given its URL; None for `1` or None, which mean no unit.

    Raises NoValue if the URL does not end with an entity id.
    """
    return None if unit in ("1", None) else name_entity(unit)


def name_entity(address: object) -> str:
    """Return the entity id in a URL such as `http://www.wikidata.org/entity/Q11573`.

    Raises NoValue if the URL does not end with an entity id.
    """
    return make_item(address.rsplit("/", 1)[-1] if isinstance(address, str) else address).id


def read_calendar(address: object) -> Calendar:
    """Return the calendar that a URL identifies. Raises NoValue if the calendar is unknown."""
    found = CALENDARS.get(address.rsplit("/", 1)[-1]) if isinstance(address, str) else None
    if found is None:
        raise NoValue(f"{show(address)} is not a supported calendar")
    return found


def _read_item(value: Mapping[str, object]) -> ItemValue:
    kind, number = show(value.get("entity-type") or ""), value.get("numeric-id")
    # Dumps of the first years have only the id's number, without its letter.
    name = value.get("id") or f"{LETTERS.get(kind, '?')}{show(number)}"
    if kind and kind not in LETTERS:
        raise KeptOut(OTHER_TYPE, kind)
    return make_item(name)


def _read_time(value: Mapping[str, object]) -> Time:
    return make_time(value.get("time"), value.get("precision"), read_calendar(value.get("calendarmodel")))


def _read_quantity(value: Mapping[str, object]) -> Quantity:
    lower, upper = (
        None if value.get(name) is None else make_amount(value[name]) for name in ("lowerBound", "upperBound")
    )
    return Quantity(make_amount(value.get("amount")), read_unit(value.get("unit")), lower, upper)


def _read_text(value: Mapping[str, object]) -> Text:
    return make_text(value.get("text"), value.get("language"))


READERS: dict[str, Callable[[Mapping[str, object]], Value]] = {
    "wikibase-entityid": _read_item,
    "time": _read_time,
    "quantity": _read_quantity,
    "monolingualtext": _read_text,
}
