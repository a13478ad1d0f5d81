"""Add the chemical elements to the graph of countries, as another class of entities for list questions."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.sources.graph_draft import GraphDraft
from tasks.sources.titles_met import Summary, read_summaries
from tasks.sources.wikidata.values import Precision, Text, Time

ELEMENT = "class/element"
PROPERTIES = {
    "P31": "instance of", "P246": "element symbol", "P575": "time of discovery", "P1086": "atomic number",
    "P515": "phase of matter", "series": "element series", "period": "period",
}  # fmt: skip
COLUMNS = ("atomic number", "symbol", "name", "standard state", "metal", "year discovered", "period")
SERIES = frozenset({"alkali metal", "alkaline earth metal", "halogen", "noble gas"})
"""Element series whose definition is undisputed, unlike metalloids and lanthanides."""
STATES = {"gas": "gases", "liquid": "liquids"}
SPELLINGS = {"Aluminum": "Aluminium", "Cesium": "Caesium", "Nihomium": "Nihonium"}
"""Element name in the package -> its name in the Wikipedia article."""
ABOUT: dict[str, object] = {
    "name": "things",
    "source": "The graph of countries, and chemical elements of the package bokeh-sampledata 2026.1",
    "licence": "MIT (countryinfo), CC BY 4.0 (GeoNames), Unicode-3.0, CC0-1.0 (Wikidata), BSD-3 (Bokeh)",
    "attribution": "countryinfo by Porimol Chandro; GeoNames; Unicode; contributors of Wikidata and Bokeh",
}


def things(countries: Path, elements: Path, vital_articles: Path, out: Path) -> Counts:
    """Write the graph of countries with the chemical elements added, as a folder in the same layout.

    All 118 elements are included, even without an article. A list question about an element without an
    article is dropped, so that no answer is silently incomplete. Raises BadInput if `elements` is not the
    package's file.
    """
    articles = read_summaries(vital_articles)
    draft, left_out = GraphDraft(countries), Counter[str]()
    for name, label in PROPERTIES.items():
        draft.add_thing(name, label, kind="property")
    draft.add_thing(ELEMENT, "chemical element")
    for row in _read(elements):
        _add_element(draft, row, articles, left_out)
    claims = draft.write(out, ABOUT, left_out)
    return Counts(claims, claims, dict(sorted(left_out.items())))


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or set(COLUMNS) - set(rows[0]):
        raise BadInput(
            path, "is not the elements file of bokeh_sampledata", hint="run the stage sources.packages"
        )
    return rows


def _add_element(
    draft: GraphDraft, row: Mapping[str, str], articles: Mapping[str, Summary], left_out: Counter[str]
) -> None:
    name = SPELLINGS.get(row["name"], row["name"])
    forms = (f"{name} (element)", name)
    article = next((form for form in forms if form in articles and _is_element(articles[form])), "")
    if not article:
        left_out["element without an article"] += 1
    thing = draft.add_thing(f"element/{row['symbol']}", name, (row["name"],), article)
    draft.link(thing, "P31", ELEMENT)
    draft.measure(thing, "P1086", Decimal(row["atomic number"]))
    draft.add_claim(thing, "P246", Text(row["symbol"], "en"))
    draft.link(thing, "period", draft.add_thing(f"period/{row['period']}", f"period {row['period']}"))
    if row["metal"] in SERIES:
        series = draft.add_thing(f"series/{row['metal']}", _pluralise(row["metal"]), (row["metal"],))
        draft.link(thing, "series", series)
    if state := STATES.get(row["standard state"]):
        draft.link(thing, "P515", draft.add_thing(f"state/{state}", state, (row["standard state"],)))
    if row["year discovered"].isdecimal():
        draft.date(thing, "P575", Time(int(row["year discovered"]), None, None, Precision.YEAR))


def _is_element(summary: Summary) -> bool:
    return "element" in summary.description.lower() or "chemical element" in summary.extract[:200]


def _pluralise(series: str) -> str:
    return "noble gases" if series == "noble gas" else f"{series}s"
