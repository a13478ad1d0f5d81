"""Choose the shape of a fictitious name: the model invents it, or chooses one of several generated names.

With a decoding grammar, a small model invents words that are not names, such as a city called City. Therefore
a small model chooses from a few names that Faker generates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from faker import Faker

from tasks.artifacts.rows import make_id
from tasks.grammar.invent.invented_names import Shape, shape_offered

PLACES = frozenset(["town", "city", "place", "country", "village", "river"])
"""The kinds of entity that have place names."""
ENDINGS = {"airline": ("Airlines", "Airways", "Air"), "airport": ("Airport", "Field", "Regional Airport")}
"""The last words of names, for each kind of entity that is named after a place."""


def choose_shape(
    invented: Callable[[int], Shape], kind: str, offered: int, *key: object, coined: bool = False
) -> Callable[[int], Shape]:
    """Return a function that returns the shape of a name for each attempt (from 0).

    `offered` is the number of generated names to choose from in each attempt. `key` and the attempt determine
    these names. `coined` requires names with a single word. If `offered` is 0, the model invents the name,
    with the shape `invented`.
    """
    if not offered:
        return invented
    whole = kind not in (*PLACES, *ENDINGS, "person")
    return lambda sample: shape_offered(offer_names(kind, offered, *key, sample, coined=coined), whole=whole)


def offer_names(kind: str, count: int, *key: object, coined: bool = False) -> tuple[str, ...]:
    """Return `count` distinct names of a kind; the same key always returns the same names."""
    faker = _open_faker()
    faker.seed_instance(int(make_id("offered", kind, *key), 16))
    names: dict[str, None] = {}
    while len(names) < count:
        names[_make_name(kind, faker, coined=coined)] = None
    return tuple(names)


def _make_name(kind: str, faker: Faker, *, coined: bool) -> str:
    """Return one name. Organisations are named after a person or a place."""
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
