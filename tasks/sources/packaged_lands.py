"""Join the countries and cities of the data packages by ISO code, and find their Wikipedia articles."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from tasks.errors import BadInput
from tasks.sources.titles_met import Summary, find_land, list_cities, make_slug

Record = TypeVar("Record")
FORMER = frozenset({"ANT", "SCG", "ATA"})
"""Codes of countries that no longer exist, and of Antarctica, which is not a country."""
# countryinfo and GeoNames use different codes for Kosovo.
OTHER_CODES = {"KOS": "XKX"}
# Minimum number of the four lists that must contain a border.
ENOUGH = 2
NO_BORDERS = frozenset({frozenset({"CUB", "USA"}), frozenset({"IND", "LKA"})})
"""Pairs of countries that a package lists as neighbours, because of a naval base or a strait, although the
two countries have no common border."""
MORE_BORDERS = frozenset({frozenset({"EGY", "PSE"}), frozenset({"CAN", "DNK"})})
"""Borders missing from the packages: the border of the Gaza Strip, and the border on Hans Island, which has
been divided since 2022."""
PLAIN_NAMES = {"Republic of Ireland": "Ireland"}
"""Title of an article -> the country's usual, shorter name, which is unambiguous among countries."""


@dataclass(frozen=True)
class IsoCodes:
    """The two-letter and three-letter codes of a country."""

    alpha2: str
    alpha3: str


@dataclass(frozen=True)
class CountryFacts:
    """Facts about a country from countryinfo."""

    name: str
    ISO: IsoCodes
    altSpellings: tuple[str, ...] = ()  # noqa: N815 - the file's key
    area: Decimal | None = None
    borders: tuple[str, ...] = ()
    capital: str | tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    population: Decimal | None = None
    subregion: str = ""
    intermediateregion: str = ""


@dataclass(frozen=True)
class GeoCountry:
    """Facts about a country from GeoNames."""

    iso: str
    iso3: str
    name: str
    continentcode: str
    capital: str
    areakm2: Decimal
    population: Decimal
    neighbours: str = ""


@dataclass(frozen=True)
class GeoCity:
    """Facts from GeoNames about a city with more than 15,000 inhabitants."""

    geonameid: int
    name: str
    countrycode: str
    population: int
    alternatenames: tuple[str, ...] = ()


@dataclass(frozen=True)
class Land:
    """A country or territory with its article. `info`: None if the country is not in countryinfo."""

    id: str
    label: str
    geo: GeoCountry
    info: CountryFacts | None
    article: Summary


@dataclass
class PackagedLands:
    """The joined content of the packages: countries by three-letter code, and cities with articles."""

    lands: dict[str, Land]
    cities: dict[str, tuple[GeoCity, Summary]] = field(default_factory=dict)
    """The city's id in the graph -> the city and its article."""
    largest: dict[str, int] = field(default_factory=dict)
    """The country's two-letter code -> the GeoNames id of its largest city."""
    borders: dict[str, list[str]] = field(default_factory=dict)
    """The country's three-letter code -> the codes of its neighbours, sorted."""


def join_packages(
    infos: Path,
    countries: Path,
    cities: Path,
    articles: Mapping[str, Summary],
    left_out: Counter[str],
) -> PackagedLands:
    """Return the countries and cities that have an article, from the files of countryinfo and GeoNames.

    `left_out`: reason -> number of entries that were left out; updated in place. Raises BadInput if a file is
    not the expected file.
    """
    facts, geos = _read_lines(infos), _read_countries(countries)
    lands = _join(facts, geos, articles, left_out)
    known = _read_cities(cities)
    # The cities are sorted by population, so in reverse order the largest city is stored last and remains.
    largest = {city.countrycode: city.geonameid for city in reversed(known)}
    return PackagedLands(
        lands, _find_cities(known, lands, articles), largest, _find_borders(facts, geos, lands, left_out)
    )


def _read_lines(path: Path) -> dict[str, CountryFacts]:
    lines = path.read_bytes().splitlines()
    records = [_read(path, TypeAdapter(dict[str, object]), line) for line in lines]
    adapter = TypeAdapter(CountryFacts)
    known = [{key: value for key, value in record.items() if value is not None} for record in records]
    facts = [_read(path, adapter, to_json(land)) for land in known]
    return {land.ISO.alpha3: land for land in facts}


def _read(path: Path, adapter: TypeAdapter[Record], text: bytes) -> Record:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BadInput(path, f"{where}: {first['msg']}", hint="run the stage sources.packages") from error


def _read_countries(path: Path) -> list[GeoCountry]:
    found = _read(path, TypeAdapter(dict[str, GeoCountry]), path.read_bytes())
    return sorted(found.values(), key=lambda country: country.iso3)


def _read_cities(path: Path) -> list[GeoCity]:
    found = _read(path, TypeAdapter(dict[str, GeoCity]), path.read_bytes())
    return sorted(found.values(), key=lambda city: (-city.population, city.geonameid))


def _join(
    infos: Mapping[str, CountryFacts],
    countries: Sequence[GeoCountry],
    articles: Mapping[str, Summary],
    left_out: Counter[str],
) -> dict[str, Land]:
    lands = {}
    for geo in countries:
        if geo.iso3 in FORMER:
            left_out["no country of today"] += 1
            continue
        info = infos.get(geo.iso3)
        names = [geo.name, *([info.name, *info.altSpellings] if info else [])]
        article = find_land([name for name in names if len(name) > 3], articles)
        if article is None:
            left_out["country without an article"] += 1
            continue
        label = _name_land(article.title)
        lands[geo.iso3] = Land(f"country/{geo.iso3}", label, geo, info, article)
    return lands


def _find_borders(
    infos: Mapping[str, CountryFacts],
    countries: Sequence[GeoCountry],
    lands: Mapping[str, Land],
    left_out: Counter[str],
) -> dict[str, list[str]]:
    """Return country code -> neighbours; a border counts if at least two of four lists contain it.

    The four lists are the two packages' lists for each of the two countries; a single list is often wrong.
    """
    codes = {geo.iso: geo.iso3 for geo in countries}
    said: Counter[frozenset[str]] = Counter()
    for code, info in infos.items():
        said.update(frozenset((code, OTHER_CODES.get(other, other))) for other in set(info.borders))
    for geo in countries:
        others = {codes[other] for other in geo.neighbours.split(",") if other in codes}
        said.update(frozenset((geo.iso3, other)) for other in others)
    said.update({pair: ENOUGH for pair in MORE_BORDERS if pair <= lands.keys()})
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pair, count in said.items():
        if not pair <= lands.keys():
            left_out["border with a land that is not here"] += 1
        elif count < ENOUGH or pair in NO_BORDERS:
            left_out["border that one list has, or at sea"] += 1
        else:
            one, other = pair
            found[one].append(other)
            found[other].append(one)
    return {code: sorted(others) for code, others in sorted(found.items())}


def _name_land(title: str) -> str:
    plain = title.removesuffix(" (country)")
    return PLAIN_NAMES.get(plain, plain)


def _find_cities(
    cities: Sequence[GeoCity], lands: Mapping[str, Land], articles: Mapping[str, Summary]
) -> dict[str, tuple[GeoCity, Summary]]:
    """Match each city's article to the largest city of that name in a country that the article mentions."""
    names = {land.geo.iso: land for land in lands.values()}
    by_name: dict[str, list[GeoCity]] = {}
    known = list_cities(articles)
    for city in cities:
        for name in sorted({city.name, *city.alternatenames} & known.keys()):
            by_name.setdefault(name, []).append(city)
    found = {}
    for name, summaries in known.items():
        for summary in summaries:
            text = f"{summary.description} {summary.extract}"
            own = (city for city in by_name.get(name, ()) if city.countrycode in names)
            named = next((city for city in own if names[city.countrycode].label in text), None)
            if named is not None:
                found[f"city/{make_slug(summary.title)}"] = named, summary
    return dict(sorted(found.items()))
