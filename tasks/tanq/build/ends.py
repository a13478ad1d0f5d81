"""Find the other end of a fact in a text: the names of its entity, or its value (step 2).

A mention is no proof yet: the text may say something else about the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from tasks.sources.wikidata.rows import CALENDARS
from tasks.tanq.build.mention_dates import DateEnd, find_date
from tasks.tanq.build.mention_names import NamedEnd, find_longer, find_name, make_names
from tasks.tanq.build.mention_numbers import AmountEnd, find_amount
from tasks.tanq.build.statements import SAYINGS
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.showing import ITEM, QUANTITY, TIME
from tasks.tanq.graph.things import Thing
from tasks.tanq.units import find_unit

End = NamedEnd | AmountEnd | DateEnd


def make_ends(
    facts: Sequence[Fact], things: Sequence[Thing], rounding: Decimal
) -> Iterator[tuple[Fact, NamedEnd | None, End | None]]:
    """Yield facts with what their entity and their value are found by; None for a thing without a name."""
    used = {fact.entity for fact in facts} | {fact.value.item for fact in facts if fact.value.item}
    names = {thing.id: make_names(thing.label, thing.aliases) for thing in things}
    longer = find_longer(
        {name for thing in used for name in names.get(thing, ())},
        (name for own in names.values() for name in own),
    )
    by_id = {thing.id: thing for thing in things}

    def name_thing(thing: str, *, parts: bool = False) -> NamedEnd | None:
        own = names.get(thing, ())
        hiding = {other for name in own for other in longer.get(name, ())} - set(own)
        return NamedEnd(own, tuple(sorted(hiding)), parts) if own else None

    for fact in sorted(facts, key=lambda fact: fact.id):
        saying = SAYINGS.get(fact.relation)
        value = (
            name_thing(fact.value.item or "", parts=saying is not None and saying.parts)
            if fact.value.kind == ITEM
            else make_value_end(fact, by_id, rounding)
        )
        yield fact, name_thing(fact.entity), value


def make_value_end(fact: Fact, things: Mapping[str, Thing], rounding: Decimal) -> End | None:
    """Make the end of a fact's amount, date or text; None for a value that no text would give."""
    value = fact.value
    if value.kind == QUANTITY and value.amount is not None:
        return _make_amount(Decimal(value.amount), things.get(value.unit or ""), value.unit, rounding)
    if value.kind == TIME and value.year is not None and value.precision is not None:
        calendar = CALENDARS.get(value.calendar or "", "gregorian")
        return DateEnd(value.year, value.month, value.day, value.precision, calendar)
    return NamedEnd(make_names(value.text)) if value.text else None


def _make_amount(
    amount: Decimal, unit: Thing | None, given: str | None, rounding: Decimal
) -> AmountEnd | None:
    if given is None:
        return AmountEnd(amount, most=rounding)
    if unit is None:
        return None
    if found := find_unit(unit.label):
        return AmountEnd(amount, found, most=rounding)
    return AmountEnd(
        amount, names=tuple(sorted({unit.label, *unit.aliases}, key=len, reverse=True)), most=rounding
    )


def find_mention(text: str, end: End, headers: Sequence[str] = ()) -> str:
    """Find the first words of a text that mention an end; empty if none do.

    headers: of a cell or an infobox entry, where the unit of its amount may stand.
    """
    if isinstance(end, NamedEnd):
        found = find_name(text, end)
    elif isinstance(end, AmountEnd):
        found = find_amount(text, end, headers)
    else:
        found = find_date(text, end)
    return text[slice(*found)] if found else ""
