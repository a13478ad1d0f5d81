"""A graph and articles of shared data: Wikidata's excerpt, people of OTT-QA's tables, people with an infobox.

Wikidata's excerpt has no people, and only eleven of its entities have a text. Facts about people are read
from their pages and written like Wikidata: dates, occupations, and the page of the table that lists them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flows.importing import bring_in
from tasks.artifacts.parquet import read_rows, write_rows
from tasks.sources.importers.wikidata import Wikidata
from tasks.sources.importers.wikipedia import Wikipedia
from tasks.sources.wikidata.entities import Sitelink
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, ValueRow
from tasks.sources.wikidata.values import Text
from tasks.sources.wikipedia.article import INFOBOX, TEXT
from tasks.sources.wikipedia.rows import ArticleRow, PartRow
from tasks.tanq.entries import GraphSource, RelationWords
from tests.shared_data import SHARED
from tests.tanq.made_graph import make_claim

OTT = SHARED / "ottqa"
EVENT, AWARD, TEAM, OFFICE, MEDALS, HOUSE = "P1344", "P166", "P54", "P39", "P1532", "P4100"
LISTED = {
    "1986_Tour_de_France_3": ("Rider", EVENT), "2019_Tour_de_France_3": ("Rider", EVENT),
    "2004_United_States_Grand_Prix_0": ("Driver", EVENT), "1995_Tooheys_1000_0": ("Driver", EVENT),
    "Germany_at_the_2002_Winter_Olympics_0": ("Name", MEDALS),
    "Hungary_at_the_1924_Summer_Olympics_0": ("Name", MEDALS), "Egypt_at_the_Olympics_0": ("Name", MEDALS),
    "India_at_the_2010_Commonwealth_Games_0": ("Name", MEDALS),
    "Dancing_with_the_Stars_(U.S._season_5)_0": ("Celebrity", EVENT),
    "2008_Major_League_Baseball_Draft_2": ("Player", EVENT), "2015_Kangaroo_Cup_0": ("Player", EVENT),
    "2012_Charlotte_Eagles_season_0": ("Player", EVENT),
    "Derbyshire_County_Cricket_Club_in_1895_1": ("Name", TEAM),
    "Bradford_City_A.F.C._0": ("Name", TEAM), "France_national_basketball_team_0": ("Player", TEAM),
    "Commissioner's_Historic_Achievement_Award_0": ("Awardee ( s )", AWARD),
    "Viking_Award_0": ("Winner", AWARD),
    "SJPF_Segunda_Liga_Player_of_the_Month_0": ("Player", AWARD),
    "Grammy_Award_for_Best_Female_Country_Vocal_Performance_2": ("Artist", AWARD),
    "Latin_Grammy_Award_for_Best_Female_Pop_Vocal_Album_0": ("Performing artist ( s )", AWARD),
    "MTV_Movie_Award_for_Best_New_Filmmaker_0": ("Director", AWARD),
    "Savilian_Professor_of_Astronomy_0": ("Name", OFFICE),
    "36th_United_States_Congress_0": ("Successor", HOUSE),
    "76th_United_States_Congress_0": ("Successor", HOUSE),
}  # fmt: skip
"""Table of OTT-QA -> the column that lists people, and the property that links people to the page."""
NATIONS = {
    "American": "United States", "Argentine": "Argentina", "Australian": "Australia", "Austrian": "Austria",
    "Belgian": "Belgium", "Brazilian": "Brazil", "British": "United Kingdom", "Bulgarian": "Bulgaria",
    "Canadian": "Canada", "Colombian": "Colombia", "Danish": "Denmark", "Dutch": "Netherlands",
    "Egyptian": "Egypt", "English": "England", "Finnish": "Finland", "French": "France", "German": "Germany",
    "Hungarian": "Hungary", "Indian": "India", "Irish": "Ireland", "Italian": "Italy", "Jamaican": "Jamaica",
    "Japanese": "Japan", "Mexican": "Mexico", "New Zealand": "New Zealand", "Norwegian": "Norway",
    "Polish": "Poland", "Portuguese": "Portugal", "Russian": "Russia", "Scottish": "Scotland",
    "Spanish": "Spain", "Swedish": "Sweden", "Swiss": "Switzerland", "Ukrainian": "Ukraine",
}  # fmt: skip
WORK = (
    "actor", "actress", "astronomer", "mathematician", "baseball player", "baseball pitcher",
    "basketball player", "biathlete", "bobsledder", "cross-country skier", "cricketer", "cyclist",
    "fencer", "film director", "footballer", "ice hockey player", "judge", "lawyer", "lexicographer",
    "luger", "musician", "philosopher", "politician", "American football player", "novelist",
    "racing driver", "scientist", "screenwriter", "singer", "songwriter", "speed skater",
    "sport shooter", "swimmer", "tennis player", "weightlifter", "wrestler", "writer",
)  # fmt: skip
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
MONTH = "|".join(MONTHS)
DAY = rf"(?:(\d{{1,2}}) ({MONTH})|({MONTH}) (\d{{1,2}}) ?,) (\d{{4}})"
BORN = re.compile(rf"\([^()]*?born {DAY}")
LIFE = re.compile(rf"\([^()]{{0,80}}?{DAY}[^()]{{0,60}}?[\u2013-][^()]{{0,60}}?{DAY}")
PEOPLE, COUNTRY = "human", "Q6256"
NOUNS = {PEOPLE: "listed people", COUNTRY: "listed countries"}
RELATIONS: dict[str, RelationWords | None] = {
    "P569": None, "P570": None, "P1082": None, "P2046": None,
    "P27": RelationWords(condition="are citizens of {}"),
    "P106": RelationWords(condition="have the occupation of {}"),
    "P47": RelationWords(condition="border {}"),
    "P19": None,
    "P413": RelationWords(one="position", condition="played as {}"),
    "P463": RelationWords(one="organisation", condition="are members of the {}"),
    EVENT: RelationWords(one="event", condition="took part in the {}"),
    AWARD: RelationWords(one="award", condition="received the {}"),
    TEAM: RelationWords(one="team", condition="played for {}"),
    MEDALS: RelationWords(one="delegation", condition="won a medal for {}"),
    HOUSE: RelationWords(one="house", words="houses", condition="were members of the {}"),
    OFFICE: RelationWords(one="office", condition="held the office of {}"),
}  # fmt: skip
LABELS = {
    EVENT: "participant in", AWARD: "award received", TEAM: "member of sports team", OFFICE: "position held",
    MEDALS: "country for sport", HOUSE: "legislature", "P19": "place of birth", "P413": "position",
    "P27": "country of citizenship", "P106": "occupation", "P569": "date of birth", "P570": "date of death",
    "P31": "instance of",
}  # fmt: skip


@dataclass
class Pages:
    """Articles, and statements with the entities that they name."""

    parts: dict[str, list[PartRow]] = field(default_factory=dict)
    claims: dict[str, ClaimRow] = field(default_factory=dict)
    things: dict[str, EntityRow] = field(default_factory=dict)

    def name(self, label: str, article: str = "", *aliases: str) -> str:
        """Add an entity's names; return its id, which is its article or its label."""
        links = (Sitelink("enwiki", article),) if article else ()
        known = tuple(Text(alias, "en") for alias in aliases)
        self.things.setdefault(
            article or label,
            EntityRow(article or label, "item", None, (Text(label, "en"),), known, links, ()),
        )
        return article or label

    def add(self, person: str, name: str, value: ValueRow) -> None:
        """Add a statement once."""
        claim = make_claim(person, name, value)
        self.claims.setdefault(claim.id, claim)


def write_pages(folder: Path) -> GraphSource:
    """Write graph and articles from the shared data."""
    passages: dict[str, str] = {}
    for file in sorted((OTT / "passages").iterdir()):
        passages |= json.loads(file.read_bytes())
    texts = {clean(link): text for link, text in passages.items() if text}
    tables = {stem: json.loads((OTT / "tables" / f"{stem}.json").read_bytes()) for stem in LISTED}
    wikitext = folder / "wikitext"
    wikitext.mkdir()
    for table in tables.values():
        path = wikitext / f"{table['title']}.txt"
        path.write_text(
            (path.read_text() if path.exists() else table["intro"]) + write_wikitext(table), encoding="utf-8"
        )
    for place in ("infobox", "wikitext"):
        for file in sorted((SHARED / place).glob("*.txt")):
            text = file.read_text(encoding="utf-8", errors="replace")
            if file.name != "LICENCE-NOTE.txt" and re.search(r"\| *birth_date", text):
                (wikitext / f"{name_page(file, text)}.txt").write_text(text, encoding="utf-8")
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    pages = Pages()
    for path, called in ((folder / "texts.json", "texts"), (wikitext, "wikitext")):
        bring_in(folder, Wikipedia(path=str(path), called=called))
        for part in read_rows(folder / f"data/raw/wikipedia/{called}/parts.parquet", PartRow):
            pages.parts.setdefault(part.article, [])
            pages.parts[part.article].append(part)
    list_boxed(pages)
    for stem, table in tables.items():
        list_tabled(pages, table, *LISTED[stem], texts)
    return write_sources(pages, folder)


def clean(link: str) -> str:
    return link.removeprefix("/wiki/").replace("_", " ")


def name_page(file: Path, text: str) -> str:
    """Return the name of a page, from its infobox or its file."""
    found = re.search(r"\| *name *= *([^|\n{<\[]+?) *\n", text)
    return found[1] if found else file.stem.replace("-", " ")


def write_wikitext(table: Mapping[str, Any]) -> str:
    """Write a table of OTT-QA as wikitext."""
    lines = ["! " + " !! ".join(name for name, _ in table["header"])]
    lines += ["| " + " || ".join(text.replace("|", "-") for text, _ in row) for row in table["data"]]
    return (
        f"\n\n== {table['section_title'] or 'List'} ==\n{{| class=wikitable\n"
        + "\n|-\n".join(lines)
        + "\n|}\n"
    )


def read_days(found: re.Match[str] | None) -> Iterator[ValueRow]:
    """Yield the days in a pattern's match."""
    groups = found.groups() if found else ()
    for start in range(0, len(groups), 5):
        one, first, second, other, year = groups[start : start + 5]
        month = MONTHS.index(first or second) + 1
        yield ValueRow(
            "time", year=int(year), month=month, day=int(one or other), precision=11, calendar="gregorian"
        )


def describe(pages: Pages, label: str, article: str, born: ValueRow, died: ValueRow | None, said: str) -> str:
    """Add statements about a person from a text: dates, citizenship and occupation; return the id."""
    person = pages.name(label, article)
    pages.add(person, "P31", ValueRow("item", item=PEOPLE))
    pages.add(person, "P569", born)
    if died is not None:
        pages.add(person, "P570", died)
    for nation, country in NATIONS.items():
        if re.search(rf"\b(?:is|was)(?: an?| the)?(?: \w+)? {nation}\b", said):
            pages.add(person, "P27", ValueRow("item", item=pages.name(country, "", nation)))
    predicate = re.search(r"\b(?:is|was) (?:an?|the) (.*)", said)
    told = re.split(r" (?:who|whose|of|for|from|that|best|which|with) ", predicate[1])[0] if predicate else ""
    for work in WORK:
        if re.search(rf"\b{work}\b", told):
            pages.add(person, "P106", ValueRow("item", item=pages.name(work)))
    return person


def list_tabled(
    pages: Pages, table: Mapping[str, Any], column: str, name: str, texts: Mapping[str, str]
) -> None:
    """Add statements about the people in a table, and their links to its page."""
    place = [head for head, _ in table["header"]].index(column)
    page = pages.name(table["title"], table["title"])
    for text, links in (row[place] for row in table["data"]):
        for title in map(clean, links):
            label = re.sub(r" \(.*\)$", "", title)
            said = texts.get(title, "")[:600]
            days = list(read_days(LIFE.search(said))) or list(read_days(BORN.search(said)))
            if days and label in text:
                first = re.split(r"(?<=\w\w) \. ", said)[0]
                person = describe(pages, label, title, days[0], days[1] if len(days) > 1 else None, first)
                pages.add(person, name, ValueRow("item", item=page))


def list_boxed(pages: Pages) -> None:
    """Add statements about the people with an infobox."""
    for article, parts in sorted(pages.parts.items()):
        box = {part.headers[0]: part.text for part in parts if part.kind == INFOBOX and part.headers}
        born = list(read_days(re.search(DAY, box.get("birth_date", ""))))
        died = list(read_days(re.search(DAY, box.get("death_date", ""))))
        if born:
            said = next(
                (part.text for part in parts if part.kind == TEXT and re.search(r"\b(?:is|was) ", part.text)),
                "",
            )
            person = describe(pages, article, article, born[0], died[0] if died else None, said)
            for key, name, end in (("birth_place", "P19", ","), ("position", "P413", ";")):
                if value := box.get(key, "").split(end)[0]:
                    pages.add(person, name, ValueRow("item", item=pages.name(value)))


def write_sources(pages: Pages, folder: Path) -> GraphSource:
    """Write the folders of graph and articles, with the excerpt of Wikidata and its labels."""
    bring_in(
        folder, Wikidata(places=[str(SHARED / "wikidata/sample_wikidata_items.json.bz2")], called="graph")
    )
    graph, texts = folder / "data/raw/wikidata/graph", folder / "articles-of-all"
    known = {row.id: row for row in read_rows(graph / "entities.parquet", EntityRow)}
    labels: Mapping[str, str] = json.loads((SHARED / "wikidata/labels_en_sidecar.json").read_bytes())
    named = {**labels, **LABELS}
    rows = {
        name: EntityRow(
            name, "property" if name.startswith("P") else "item", None, (Text(label, "en"),), (), (), ()
        )
        for name, label in named.items()
    }
    pages.name(PEOPLE)
    entities: dict[str, EntityRow] = {**rows, **pages.things, **known}
    claims = [*read_rows(graph / "claims.parquet", ClaimRow), *pages.claims.values()]
    write_rows(graph / "entities.parquet", EntityRow, sorted(entities.values(), key=lambda row: row.id))
    write_rows(graph / "claims.parquet", ClaimRow, claims)
    texts.mkdir()
    written = {article: number_parts(parts) for article, parts in sorted(pages.parts.items())}
    listed = [ArticleRow(article, None, None, (), len(parts), "", "") for article, parts in written.items()]
    write_rows(texts / "articles.parquet", ArticleRow, listed)
    write_rows(texts / "parts.parquet", PartRow, [part for parts in written.values() for part in parts])
    return GraphSource(graph=graph, articles=texts, seeds=graph, relations=RELATIONS, nouns=NOUNS)


def number_parts(parts: Iterable[PartRow]) -> list[PartRow]:
    """Number the parts of articles that occur in two sources."""
    return [replace(part, position=place) for place, part in enumerate(parts)]
