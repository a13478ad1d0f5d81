"""A small fictitious graph with articles, for the stages that find and verify evidence."""

from pathlib import Path
from typing import Any

from tasks.artifacts.parquet import write_rows
from tasks.sources.wikidata.rows import ValueRow
from tasks.sources.wikipedia.rows import ArticleRow, PartRow
from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.articles import articles
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.relations import Relation
from tasks.tanq.graph.things import Thing

CAPITAL, AREA, BORDER = "P36", "P2046", "P47"
KM2 = "Q712226"


def make_thing(label: str, article: str = "", aliases: tuple[str, ...] = ()) -> Thing:
    return Thing(label.lower(), label, aliases, article, (), ())


THINGS = [
    make_thing("Varn", "Varn"),
    make_thing("Ostel", "Ostel (country)", ("Ostelia",)),
    make_thing("Skarholm", "Skarholm"),
    make_thing("Pell", "Pell Town"),
    make_thing("Nowhere"),
    make_thing("Lost", "Lost"),
    Thing(KM2, "square kilometre", (), "", (), ()),
]
RELATIONS = [
    Relation(CAPITAL, "capital", "capitals", "capital", "item", "", "", 0, 2, 2, ()),
    Relation(AREA, "area", "area", "area", "quantity", KM2, "", 1, 2, 2, ()),
    Relation(
        BORDER,
        "shares border with",
        "neighbouring countries",
        "neighbouring country",
        "item",
        "",
        "",
        2,
        2,
        2,
        (),
    ),
]


def make_fact(entity: str, relation: str, value: str) -> Fact:
    """Return a fact with an id such as `varn-P36-skarholm`."""
    row = ValueRow("item", item=value)
    shown = value.title()
    if relation == AREA:
        row, shown = ValueRow("quantity", amount=value, number=float(value), unit=KM2), f"{int(value):,}"
    return Fact(f"{entity}-{relation}-{value}", entity, relation, row, shown, (), ())


FACTS = [
    make_fact("varn", CAPITAL, "skarholm"),
    make_fact("varn", AREA, "385207"),
    make_fact("varn", BORDER, "ostel"),
    make_fact("varn", BORDER, "nowhere"),
    make_fact("ostel", CAPITAL, "pell"),
    make_fact("ostel", AREA, "1200"),
    make_fact("nowhere", AREA, "7"),
]


def make_question(*facts: str, relations: tuple[str, ...] = (CAPITAL, AREA)) -> ExtendedQuestion:
    used = [fact for fact in FACTS if not facts or fact.id in facts]
    entities = tuple(dict.fromkeys(fact.entity for fact in used))
    return ExtendedQuestion("q", "s", "Q?", relations, entities, tuple(fact.id for fact in used), ())


def make_part(article: str, position: int, text: str, **more: Any) -> PartRow:
    values = {
        "kind": "text",
        "section": "",
        "parent": "",
        "headers": (),
        "table": None,
        "row": None,
        "column": None,
    }
    return PartRow(article=article, position=position, text=text, **{**values, **more})


PARTS = [
    make_part("Varn", 0, "Varn", kind="infobox", headers=("common_name", "Name"), table=0),
    make_part("Varn", 1, "Skarholm", kind="infobox", headers=("capital", "Capital"), table=0),
    make_part("Varn", 2, "Skarholm has a port."),
    make_part("Varn", 3, "Varn has an area of 385,207 square kilometres (148,729 sq mi)."),
    make_part("Varn", 4, "It borders Ostelia.", section="Geography"),
    make_part("Varn", 5, "Skarholm", kind="cell", headers=("1", "Town"), table=1, row=0, column=0),
    make_part("Varn", 6, "1,200", kind="cell", headers=("1", "People"), table=1, row=0, column=1),
    make_part("Unused", 0, "Nothing of the kind."),
    make_part("Ostel", 0, "Ostel is small."),
    make_part("Skarholm", 0, "Skarholm is the capital of Varn."),
    make_part("Skarholm", 1, "New Varn is elsewhere."),
]


def write_source(folder: Path, parts: list[PartRow] = PARTS) -> GraphSource:
    folder.mkdir(parents=True, exist_ok=True)
    titles = sorted({part.article for part in parts})
    rows = [
        ArticleRow(title, None, 7, ("Ostel (country)",) if title == "Ostel" else (), 1, "", "")
        for title in titles
    ]
    write_rows(folder / "articles.parquet", ArticleRow, rows)
    write_rows(folder / "parts.parquet", PartRow, sorted(parts, key=lambda part: part.article))
    return GraphSource(graph=folder, articles=folder, seeds=folder)


def write_articles(folder: Path) -> Path:
    """Write the folder of the stage `articles`."""
    articles(THINGS, write_source(folder / "source"), folder / "articles")
    return folder / "articles"
