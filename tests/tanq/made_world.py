"""Generate 2,000 fictitious entities by a seed: statements, and articles that contain most statements.

Articles state a statement in a sentence, in a table of the value's article, or in an infobox. Some statements
are not stated, and some sentences name both ends of a statement but state something else.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from tasks.artifacts.parquet import write_rows
from tasks.sources.wikidata.entities import Sitelink
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, ValueRow
from tasks.sources.wikipedia.rows import ArticleRow, PartRow
from tasks.tanq.entries import GraphSource, RelationWords
from tests.tanq.evidence import make_part
from tests.tanq.made_graph import make_claim, make_entity

KM2, METRE, MINUTE = "Q712226", "Q11573", "Q7727"
PROPERTIES = {
    "P31": "instance of", "P17": "country", "P19": "place of birth", "P20": "place of death",
    "P27": "country of citizenship", "P30": "continent", "P36": "capital", "P37": "official language",
    "P47": "shares border with", "P57": "director", "P106": "occupation", "P112": "founder", "P136": "genre",
    "P159": "headquarters location", "P161": "cast member", "P166": "award received",
    "P495": "country of origin",
    "P569": "date of birth", "P570": "date of death", "P571": "inception", "P576": "dissolved",
    "P577": "publication date", "P729": "service entry", "P730": "service retirement", "P1082": "population",
    "P2044": "elevation", "P2046": "area", "P2047": "duration", "P2048": "height",
}  # fmt: skip
NOUNS = {
    "human": "people", "film": "films", "company": "companies", "city": "cities", "country": "countries",
    "ship": "ships",
}  # fmt: skip
WORDS = {
    "P106": RelationWords(condition="worked as {}"),
    "P112": RelationWords(condition="were founded by {}"),
    "P159": RelationWords(condition="have their headquarters in {}"),
}
UNITS = {"P2046": KM2, "P2044": METRE, "P2048": METRE, "P2047": MINUTE}
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
NAMED = {"P106": 14, "P136": 12, "P166": 25, "P37": 30, "P30": 5}
"""Property -> number of entities that occur only as its values."""
COUNTS = {"country": 40, "city": 300, "human": 700, "film": 500, "company": 250, "ship": 124}
START = date(1850, 1, 1)

Value = str | date | int | Decimal
"""An entity's id, a day, a year, or an amount."""


@dataclass
class World:
    """Entities with articles. values: (entity, property) -> values. told: statements in articles."""

    labels: dict[str, str] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    values: dict[tuple[str, str], list[Value]] = field(default_factory=dict)
    parts: defaultdict[str, list[PartRow]] = field(default_factory=lambda: defaultdict(list))
    told: set[tuple[str, str, str, str, int]] = field(default_factory=set)
    """Entity, property, value in words, article, and the position of the part in the article."""

    def list_of(self, name: str) -> list[str]:
        """List the entities of a class."""
        return sorted(thing for thing, class_ in self.classes.items() if class_ == name)

    def show(self, value: Value) -> str:
        """Format a value as in a table."""
        if isinstance(value, date):
            return f"{value.day} {MONTHS[value.month - 1]} {value.year}"
        return self.labels[value] if isinstance(value, str) else str(value)


def make_world(seed: int) -> World:
    """Return 2,000 entities with statements and articles, determined by the seed."""
    chance = random.Random(seed)
    world = World()
    names = make_names(chance)
    for name, number in NAMED.items():
        for place in range(number):
            world.labels[f"{name}-value-{place}"] = next(names)
            world.classes[f"{name}-value-{place}"] = f"{name}-value"
    for name, number in COUNTS.items():
        for place in range(number):
            world.labels[f"{name}-{place}"] = next(names)
            world.classes[f"{name}-{place}"] = name
    state(world, chance)
    tell(world, chance)
    return world


def make_names(chance: random.Random) -> Iterator[str]:
    """Yield distinct names; no name is a part of another name."""
    begin = ["Bra", "Cel", "Dor", "Fen", "Gal", "Hol", "Jur", "Kel", "Lom", "Mar", "Nor", "Pel", "Ras", "Sil",
             "Tor", "Var", "Wen", "Zel"]  # fmt: skip
    middle = ["ba", "de", "fi", "go", "ka", "lu", "me", "no", "pi", "ra", "so", "tu", "ve", "xo"]
    end = ["bar", "dell", "fax", "gard", "lin", "mond", "nek", "quist", "rup", "stan", "vik", "wick"]
    seen = set()
    while True:
        name = chance.choice(begin) + chance.choice(middle) + chance.choice(middle) + chance.choice(end)
        if name not in seen:
            seen.add(name)
            yield name


def state(world: World, chance: random.Random) -> None:
    """Generate the statements."""
    lands, cities, people = world.list_of("country"), world.list_of("city"), world.list_of("human")

    def draw(name: str, most: int) -> list[Value]:
        return list(chance.sample(world.list_of(f"{name}-value"), chance.randint(1, most)))

    def add(thing: str, name: str, *values: Value) -> None:
        world.values[thing, name] = list(values)

    homes = {city: lands[place % len(lands)] for place, city in enumerate(cities)}
    for land in lands:
        own = [city for city in cities if homes[city] == land]
        add(land, "P36", own[0])
        add(land, "P30", *draw("P30", 1))
        add(land, "P37", *draw("P37", 3))
        add(land, "P2046", Decimal(chance.randint(20_000, 2_000_000)))
        add(land, "P1082", Decimal(chance.randint(400_000, 90_000_000)))
        place = lands.index(land)
        add(land, "P47", *(lands[(place + step) % len(lands)] for step in (-3, -1, 1, 3)))
    for city in cities:
        add(city, "P17", homes[city])
        add(city, "P1082", Decimal(chance.randint(5_000, 4_000_000)))
        add(city, "P2046", Decimal(chance.randint(20, 1_500)))
        add(city, "P2044", Decimal(chance.randint(10, 2_400)))
        add(city, "P571", chance.randint(1100, 1900))
    for person in people:
        born = START + timedelta(chance.randint(0, 120 * 365))
        early = chance.random() < 0.15
        add(person, "P569", born.year if early else born)
        home = chance.choice(cities)
        add(person, "P19", home)
        add(person, "P27", *dict.fromkeys([homes[home], chance.choice(lands)]))
        add(person, "P106", *draw("P106", 3))
        if chance.random() < 0.6:
            died = born + timedelta(chance.randint(30 * 365, 90 * 365))
            add(person, "P570", died)
            add(person, "P20", chance.choice(cities))
        if chance.random() < 0.4:
            add(person, "P166", *draw("P166", 3))
    for film in world.list_of("film"):
        add(film, "P57", chance.choice(people[:120]))
        add(film, "P161", *chance.sample(people[120:320], chance.randint(2, 4)))
        add(film, "P136", *draw("P136", 3))
        add(film, "P495", chance.choice(lands))
        add(film, "P577", date(1950, 1, 1) + timedelta(chance.randint(0, 70 * 365)))
        add(film, "P2047", Decimal(chance.randint(61, 239)))
    for firm in world.list_of("company"):
        begun = chance.randint(1870, 1990)
        add(firm, "P571", begun)
        if chance.random() < 0.7:
            add(firm, "P576", begun + chance.randint(3, 60))
        add(firm, "P112", *chance.sample(people[320:420], chance.randint(1, 2)))
        seat = chance.choice(cities)
        add(firm, "P159", seat)
        add(firm, "P17", homes[seat])
    for ship in world.list_of("ship"):
        begun = chance.randint(1880, 1990)
        add(ship, "P729", begun)
        add(ship, "P730", begun + chance.randint(5, 50))
        add(ship, "P17", chance.choice(lands))
        add(ship, "P2048", Decimal(chance.randint(20, 90)))


BOX, SENTENCE, TABLE = "infobox", "text", "cell"
SAID = {
    "P17": "{0} is a {2} in {1}.", "P19": "{0} was born in {1}.", "P20": "{0} died in {1}.",
    "P27": "{0} is a citizen of {1}.", "P30": "{0} is a country in {1}.", "P36": "The capital of {0} is {1}.",
    "P37": "An official language of {0} is {1}.", "P47": "{0} borders {1}.",
    "P57": "{0} was directed by {1}.", "P106": "{0} worked as a {1}.", "P112": "{0} was founded by {1}.",
    "P136": "{0} is a film of the genre {1}.",
    "P159": "The headquarters of {0} are in {1}.", "P161": "The film {0} stars {1}.",
    "P166": "{0} received the award {1}.", "P495": "{0} is a film that was made in {1}.",
    "P569": "{0} was born on {1}.", "P570": "{0} died on {1}.", "P571": "{0} was founded in {1}.",
    "P576": "{0} was dissolved in {1}.", "P577": "{0} was released on {1}.",
    "P729": "{0} entered service in {1}.", "P730": "{0} left service in {1}.",
    "P1082": "The population of {0} is {1}.", "P2044": "{0} lies at an elevation of {1} metres.",
    "P2046": "{0} has an area of {1} square kilometres.", "P2047": "{0} has a duration of {1} minutes.",
    "P2048": "{0} has a height of {1} metres.",
}  # fmt: skip
"""Property -> sentence template with entity, value and class."""
ELSE = "A street of {0} is named after {1}."
"""A sentence that names both ends of a statement but does not state it."""


def tell(world: World, chance: random.Random) -> None:
    """Generate the articles; the place of each statement is random."""
    listed: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for (thing, name), values in sorted(world.values.items()):
        for value in values:
            ways = [
                way for way, share in ((BOX, 0.55), (SENTENCE, 0.7), (TABLE, 0.5)) if chance.random() < share
            ]
            if not ways and chance.random() < 0.7:
                ways = [SENTENCE]
            for way in ways:
                if way == TABLE and isinstance(value, str):
                    listed[value, name].append(thing)
                elif way == BOX:
                    header = PROPERTIES[name] + (f" ({UNIT_SIGNS[name]})" if name in UNIT_SIGNS else "")
                    add_part(world, thing, name, value, thing, write(world, value), kind=BOX,
                             headers=(name, header), table=0)  # fmt: skip
                elif way == SENTENCE:
                    saying = (
                        SAID[name] if not isinstance(value, int) else SAID[name].replace(" on {1}", " in {1}")
                    )
                    said = saying.format(world.labels[thing], write(world, value), world.classes[thing])
                    add_part(world, thing, name, value, thing, said)
            if isinstance(value, str) and chance.random() < 0.2:
                said = ELSE.format(world.labels[thing], write(world, value))
                world.parts[thing].append(make_part(world.labels[thing], len(world.parts[thing]), said))
    for (value, name), rows in sorted(listed.items()):
        table = (
            sum(part.kind == TABLE and part.column == 0 and part.row == 0 for part in world.parts[value]) + 1
        )
        label, title = world.labels[value], PROPERTIES[name]
        for row, thing in enumerate(rows):
            for column, (head, text) in enumerate((("Name", world.labels[thing]), (title.title(), label))):
                cell = make_part(
                    label, len(world.parts[value]), text, kind=TABLE, section=title, table=table, row=row,
                    column=column, headers=(world.labels[thing], head),
                )  # fmt: skip
                if column == 0:
                    world.told.add((thing, name, label, label, cell.position))
                world.parts[value].append(cell)


UNIT_SIGNS = {"P2046": "km2", "P2044": "m", "P2048": "m", "P2047": "minutes"}


def write(world: World, value: Value) -> str:
    """Format a value as in articles: amounts have separators."""
    return f"{value:,}" if isinstance(value, Decimal) else world.show(value)


def add_part(
    world: World, thing: str, name: str, value: Value, owner: str, text: str, **more: object
) -> None:
    """Add a part that states a statement to an article."""
    title, place = world.labels[owner], len(world.parts[owner])
    world.parts[owner].append(make_part(title, place, text, **more))
    world.told.add((thing, name, world.show(value), title, place))


def write_world(world: World, folder: Path) -> GraphSource:
    """Write the world as an imported graph and imported articles."""
    graph, pages = folder / "graph", folder / "pages"
    claims = [
        make_claim(thing, "P31", ValueRow("item", item=class_))
        for thing, class_ in sorted(world.classes.items())
    ]
    claims += [
        make_claim(thing, name, make_value(name, value))
        for (thing, name), values in sorted(world.values.items())
        for value in values
    ]
    entities = [
        replace(make_entity(thing, label), sitelinks=(Sitelink("enwiki", label),))
        for thing, label in sorted(world.labels.items())
    ]
    entities += [make_entity(name) for name in sorted(set(world.classes.values()))]
    entities += [make_entity(name, label, kind="property") for name, label in PROPERTIES.items()]
    for place in (graph, pages):
        place.mkdir(parents=True)
    write_rows(graph / "entities.parquet", EntityRow, entities)
    write_rows(graph / "claims.parquet", ClaimRow, claims)
    told = sorted(world.parts.items(), key=lambda part: world.labels[part[0]])
    rows = [ArticleRow(world.labels[thing], None, 1, (), len(parts), "", "") for thing, parts in told]
    write_rows(pages / "articles.parquet", ArticleRow, rows)
    write_rows(pages / "parts.parquet", PartRow, [part for _, parts in told for part in parts])
    known = {name: WORDS.get(name) for name in PROPERTIES if name != "P31"}
    return GraphSource(graph=graph, articles=pages, seeds=graph, relations=known, nouns=NOUNS)


def make_value(name: str, value: Value) -> ValueRow:
    """Return the row of a statement's value."""
    if isinstance(value, str):
        return ValueRow("item", item=value)
    if isinstance(value, date):
        return ValueRow("time", year=value.year, month=value.month, day=value.day, precision=11,
                        calendar="gregorian")  # fmt: skip
    if isinstance(value, int):
        return ValueRow("time", year=value, precision=9, calendar="gregorian")
    return ValueRow("quantity", amount=str(value), number=float(value), unit=UNITS.get(name))
