"""Compute gold tables from generated entities, without the project's code for skills and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from tasks.tanq.build.skill_use import SkillUse
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.graph.seed_question import SeedQuestion
from tests.tanq.made_world import NOUNS, Value, World

FACTORS = {
    "square mile": Decimal(1) / Decimal("2.589988110336"), "foot": 1 / Decimal("0.3048"),
    "hour": Decimal(1) / 60, "millions": Decimal(1) / 10**6,
}  # fmt: skip
Row = tuple[str, bool, tuple[tuple[str, ...], ...]]
"""An entity's label, whether it passes the filters, and its cells."""


def find_answers(world: World, seed: SeedQuestion) -> set[str]:
    """Find the answers of a list question."""
    if seed.text.startswith("What are the"):
        (condition,) = seed.conditions
        noun = re.search(r" of the (\w+) (?:that|who) ", seed.text)
        assert noun is not None
        inner = next(name for name, known_noun in NOUNS.items() if known_noun == noun[1])
        having = [t for t in world.list_of(inner) if condition.value in get(world, t, condition.relation)]
        return {str(value) for thing in having for value in get(world, thing, condition.through)}
    found = set(world.list_of(seed.target))
    for condition in seed.conditions:
        wanted: set[str] = {condition.value}
        if condition.through:
            wanted = {
                t
                for (t, name), value in world.values.items()
                if name == condition.through and condition.value in value
            }
        found = {thing for thing in found if wanted & set(map(str, get(world, thing, condition.relation)))}
    return found


def get(world: World, thing: str, name: str) -> list[Value]:
    return world.values.get((thing, name), [])


def compute_rows(
    world: World,
    item: TanqItem,
    seed: SeedQuestion,
    is_supported: Callable[[str, str, Value], bool],
    *,
    whole: bool,
) -> set[Row]:
    """Return the rows of an item, including rows that fail a filter.

    is_supported: whether the model accepted a proof of a statement. whole: whether a cell with a missing
    value is empty.
    """
    rows = set()
    for thing in find_answers(world, seed):
        kept = {}
        for name in item.relations:
            own = get(world, thing, name)
            supported = [value for value in own if is_supported(thing, name, value)]
            kept[name] = [] if whole and len(supported) < len(own) else supported
        if not any(kept.values()):
            continue
        cells = [
            tuple(rewrite(world, value, item.skills, name) for value in kept[name]) for name in item.relations
        ]
        for use in item.skills:
            if use.name == "time_calculation":
                first, second = kept[use.relation], kept[use.other]
                cells.append((count(first[0], second[0]),) if first and second else ())
        passes = all(
            passes_filter(world, kept[use.relation], use)
            for use in item.skills
            if use.name.startswith("filter")
        )
        rows.add((world.labels[thing], passes, tuple(tuple(sorted(cell)) for cell in cells)))
    return rows


def passes_filter(world: World, values: Collection[Value], use: SkillUse) -> bool:
    """Return whether one of the values passes a filter."""
    if use.name == "filter_entity":
        return use.operand in map(world.show, values)
    bound = Decimal(use.operand)
    for value in values:
        if isinstance(value, date):
            found = Decimal(value.year)
        else:
            assert isinstance(value, int | Decimal)
            found = Decimal(value)
        if {"=": found == bound, ">=": found >= bound, "<=": found <= bound}[use.operator]:
            return True
    return False


def rewrite(world: World, value: Value, uses: Collection[SkillUse], name: str) -> str:
    """Return a value rewritten by the skills of its column."""
    own = {use.name: use.operand for use in uses if use.relation == name}
    if "date_to_year" in own:
        return str(value.year if isinstance(value, date) else value)
    if not isinstance(value, Decimal):
        return world.show(value)
    amount = value
    if "conversion" in own:
        amount *= FACTORS[own["conversion"]]
        if "approximation" not in own:
            places = max(0, 2 - amount.adjusted())
            amount = amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    if "approximation" in own:
        step = int(own["approximation"])
        amount = (amount / step).quantize(Decimal(1), ROUND_HALF_UP) * step
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(first: Value, second: Value) -> str:
    """Return the full years between two days, or the difference of two years."""
    if isinstance(first, date) and isinstance(second, date):
        return str(second.year - first.year - ((second.month, second.day) < (first.month, first.day)))
    assert isinstance(first, int)
    assert isinstance(second, int)
    return str(second - first)
