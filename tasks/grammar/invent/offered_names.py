"""Choose the shape of an invented name: the model invents it, or chooses one of several made-up names.

A small model that is held to a grammar invents words that are not names, such as a city called City. It
therefore gets a few names that Faker makes, and chooses one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from faker import Faker

from tasks.artifacts.rows import make_id
from tasks.grammar.invent.invented_names import Shape, shape_offered

PLACES = frozenset(["town", "city", "place", "country", "village", "river"])
"""The kinds whose names are those of places."""
ENDINGS = {"airline": ("Airlines", "Airways", "Air"), "airport": ("Airport", "Field", "Regional Airport")}
"""For each kind that is named after a place, the last words of its names."""


def choose_shape(
    invented: Callable[[int], Shape], kind: str, offered: int, *key: object, coined: bool = False
) -> Callable[[int], Shape]:
    """Return a function from the attempt's number to the shape of a name.

    `offered` is the number of names of this kind to choose from, and `key` decides these names; `coined` asks
    for names of a single word. With `offered` 0 the model invents the name, in the shape of `invented`.
    """
    if not offered:
        return invented
    whole = kind not in (*PLACES, *ENDINGS, "person")
    return lambda sample: shape_offered(offer_names(kind, offered, *key, sample, coined=coined), whole=whole)


def offer_names(kind: str, count: int, *key: object, coined: bool = False) -> tuple[str, ...]:
    """Make `count` different names of a kind; the same key gives the same names."""
    faker = _open_faker()
    faker.seed_instance(int(make_id("offered", kind, *key), 16))
    names: dict[str, None] = {}
    while len(names) < count:
        names[_make_name(kind, faker, coined=coined)] = None
    return tuple(names)


def _make_name(kind: str, faker: Faker, *, coined: bool) -> str:
    """Make one name; an organisation is named after a person or a place."""
    if kind == "person":
        return f"{faker.first_name()} {faker.last_name()}"
    if kind in PLACES:
        return faker.city()
    if kind in ENDINGS and not coined:
        return f"{faker.city()} {faker.random_element(ENDINGS[kind])}"
    return faker.last_name() if coined else f"{faker.last_name()} {faker.company_suffix()}"


@cache
def _open_faker() -> Faker:
    return Faker("en_US")
