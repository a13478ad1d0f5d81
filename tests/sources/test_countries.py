"""Tests on a graph of four countries in the packages' formats, with known borders and omissions."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tasks.artifacts.parquet import read_rows
from tasks.errors import BadInput
from tasks.sources.countries import countries
from tasks.sources.films_of_note import LINKS
from tasks.sources.iso_names import list_currencies, list_official_languages, name_currency, name_language
from tasks.sources.titles_met import Summary, find_land, make_slug
from tasks.sources.wikidata.rows import ClaimRow, EntityRow

ARTICLES = {
    "Georgia (country)": ("Georgia is a country. Its capital is Tbilisi.", "Country in West Asia"),
    "Georgia (U.S. state)": ("Georgia is a state of the United States.", "U.S. state"),
    "Turkey": ("Turkey is a country. Its largest city is Istanbul.", "Country in West Asia"),
    "Tbilisi": ("Tbilisi is the capital of Georgia.", "Capital of Georgia"),
    "Adana": ("Adana is a city in Turkey.", "City in Turkey"),
    "Greenland": ("Greenland is an island.", "Autonomous territory of Denmark"),
    "Ann Director": ("Ann Director made A Long Winter (1960).", "Film director"),
}
GEO = [
    ("GE", "GEO", "Georgia", "AS", "Tbilisi"),
    ("TR", "TUR", "Turkey", "AS", "Ankara"),
    ("GL", "GRL", "Greenland", "NA", "Nuuk"),
    ("XX", "XXX", "Nowhere Land", "AS", ""),
    ("AN", "ANT", "Netherlands Antilles", "NA", "Willemstad"),
]
CITIES = [
    (1, "Tbilisi", "GE", 1_100_000),
    (2, "İstanbul", "TR", 14_000_000),
    (3, "Adana", "TR", 1_700_000),
    (4, "Adana", "GE", 9_000_000),
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    info: dict[str, Any] = {
        "name": "Georgia", "ISO": {"alpha2": "GE", "alpha3": "GEO"}, "altSpellings": ["GE", "Sakartvelo"],
        "area": 69700, "borders": ["TUR", "RUS", "GRL"], "capital": "Tbilisi", "currencies": ["GEL", "CHE"],
        "languages": ["ka", "hy"], "population": 4500000, "subregion": "Western Asia",
        "intermediateregion": None,
    }  # fmt: skip
    contents = {
        "countryinfo.jsonl": json.dumps(info) + "\n",
        "geonames_countries.json": json.dumps(
            {
                iso: {"iso": iso, "iso3": iso3, "name": name, "continentcode": continent, "capital": capital,
                      "areakm2": 69700, "population": 3700000, "neighbours": "GE" if iso == "TR" else ""}
                for iso, iso3, name, continent, capital in GEO
            }
        ),
        "geonames_cities.json": json.dumps(
            {
                str(number): {"geonameid": number, "name": name, "countrycode": code, "population": people,
                              "alternatenames": []}
                for number, name, code, people in CITIES
            }
        ),
        "vital_articles.json": json.dumps(
            {
                title: {"title": title, "extract": text, "description": description,
                        "topic": "People" if title == "Ann Director" else "Geography"}
                for title, (text, description) in ARTICLES.items()
            }
        ),
    }  # fmt: skip
    for name, text in contents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    write_films(tmp_path / "films.sqlite")
    paths = {path.stem: path for path in tmp_path.iterdir()}
    return {**paths, "out": tmp_path / "graph"}


def write_films(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE films (film_id, qid, title, release_year, release_date, runtime_minutes)"
        )
        connection.executemany(
            "INSERT INTO films VALUES (?, ?, ?, ?, ?, ?)",
            [(1, "Q1", "A Long Winter", 1960, "1960-03-14", 96), (2, "Q2", "Unheard of", 1961, None, None)],
        )
        for table, names, key, label in dict.fromkeys(LINKS.values()):
            connection.execute(f"CREATE TABLE {table} (film_id, {key})")
            connection.execute(f"CREATE TABLE IF NOT EXISTS {names} ({key}, {label})")
        connection.execute("INSERT INTO people VALUES (1, 'Ann Director')")
        connection.execute("INSERT INTO film_directors VALUES (1, 1)")
        connection.commit()


def read_graph(folder: Path) -> tuple[dict[str, EntityRow], set[tuple[str, str, str]]]:
    entities = {row.id: row for row in read_rows(folder / "entities.parquet", EntityRow)}
    claims = read_rows(folder / "claims.parquet", ClaimRow)
    said = {(claim.entity, claim.property, claim.value.item or claim.value.amount or "") for claim in claims}
    return entities, said


def test_countries_meet_their_articles_by_what_these_are_of(files: dict[str, Path]) -> None:
    counts = countries(**files)
    entities, said = read_graph(files["out"])
    georgia = entities["country/GEO"]
    assert georgia.labels[0].text == "Georgia"
    assert georgia.sitelinks[0].title == "Georgia (country)"  # not the state
    assert ("country/GEO", "P31", "class/country") in said
    assert ("country/GRL", "P31", "class/territory") in said
    assert "country/ANT" not in entities
    assert counts.dropped == {
        "border that one list has, or at sea": 1,
        "border with a land that is not here": 1,
        "country without an article": 1,
        "no country of today": 1,
    }


def test_a_border_needs_two_lists_and_is_one_from_both_ends(files: dict[str, Path]) -> None:
    countries(**files)
    _, said = read_graph(files["out"])
    assert {statement for statement in said if statement[1] == "P47"} == {
        ("country/GEO", "P47", "country/TUR"),  # by countryinfo of Georgia, and GeoNames of Turkey
        ("country/TUR", "P47", "country/GEO"),
    }  # no border with Greenland, which is in only one list


def test_a_capital_needs_both_packages_or_an_article(files: dict[str, Path]) -> None:
    text = files["countryinfo"].read_text()
    files["countryinfo"].write_text(text.replace('"Tbilisi"', '"Batumi"'))
    countries(**files)
    _, said = read_graph(files["out"])
    assert not [statement for statement in said if statement[:2] == ("country/GEO", "P36")]
    files["countryinfo"].write_text(text)
    countries(**files)
    _, said = read_graph(files["out"])
    assert ("country/GEO", "P36", "city/tbilisi") in said


def test_languages_and_money_are_of_today(files: dict[str, Path]) -> None:
    countries(**files)
    _, said = read_graph(files["out"])
    assert ("country/GEO", "P37", "language/georgian") in said
    assert ("country/GEO", "P38", "currency/GEL") in said
    assert not [statement for statement in said if statement[2] in ("currency/CHE", "language/armenian")]


def test_both_packages_figures_are_claimed_and_equal_ones_once(files: dict[str, Path]) -> None:
    countries(**files)
    _, said = read_graph(files["out"])
    assert {statement for statement in said if statement[:2] == ("country/GEO", "P1082")} == {
        ("country/GEO", "P1082", "3700000"),
        ("country/GEO", "P1082", "4500000"),
    }
    assert len([statement for statement in said if statement[:2] == ("country/GEO", "P2046")]) == 1


def test_a_city_is_the_largest_of_its_name_in_the_country_its_article_speaks_of(
    files: dict[str, Path],
) -> None:
    countries(**files)
    _, said = read_graph(files["out"])
    assert ("city/adana", "P17", "country/TUR") in said  # not the larger city of this name in another country


def test_the_largest_city_is_not_the_largest_that_has_an_article(files: dict[str, Path]) -> None:
    countries(**files)
    _, said = read_graph(files["out"])
    assert not [
        statement for statement in said if statement[:2] == ("country/TUR", "largest-city")
    ]  # Istanbul has no entry here


def test_films_are_those_that_an_article_speaks_of(files: dict[str, Path]) -> None:
    countries(**files)
    entities, said = read_graph(files["out"])
    assert "Q1" in entities
    assert "Q2" not in entities
    assert {("Q1", "P57", "human/ann-director"), ("Q1", "P2047", "96")} <= said


def test_every_item_that_is_a_value_is_an_entity(files: dict[str, Path]) -> None:
    countries(**files)
    entities = {row.id for row in read_rows(files["out"] / "entities.parquet", EntityRow)}
    claims = read_rows(files["out"] / "claims.parquet", ClaimRow)
    named = (
        {claim.value.item for claim in claims}
        | {claim.value.unit for claim in claims}
        | {claim.entity for claim in claims}
    )
    assert named - {None} <= entities
    assert {claim.property for claim in claims} <= entities


def test_the_same_files_give_the_same_bytes(files: dict[str, Path], tmp_path: Path) -> None:
    countries(**files)
    countries(**{**files, "out": tmp_path / "again"})
    for name in ("entities.parquet", "claims.parquet", "about.json"):
        assert (files["out"] / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("name", ["countryinfo", "geonames_countries", "geonames_cities", "vital_articles"])
@pytest.mark.parametrize("text", ['{"a": 1}', '[{"name": 3}]', "no JSON"])
def test_another_file_is_refused_by_name(files: dict[str, Path], name: str, text: str) -> None:
    files[name].write_text(text)
    with pytest.raises(BadInput, match=files[name].name):
        countries(**files)


def test_the_films_file_must_be_the_films_database(files: dict[str, Path]) -> None:
    files["films"].write_text("no database")
    with pytest.raises(BadInput, match="is not the films database"):
        countries(**files)


def test_names_of_languages_and_money() -> None:
    assert name_language("nb") == "Norwegian Bokmål"
    assert name_language("zz") is None
    assert name_currency("NOK") == "Norwegian krone"
    assert name_currency("BYR") == "Belarusian ruble"  # Babel adds the years of the code
    assert name_currency("QQQ") is None


def test_what_is_official_in_fact_alone_needs_another_source() -> None:
    assert list_official_languages("US", ()) == []
    assert list_official_languages("US", ("en",)) == ["en"]
    assert list_official_languages("UA", ("uk",)) == ["uk"]
    assert list_official_languages("UZ", ()) == ["uz"]  # once, not by its scripts
    assert list_official_languages("ML", ("fr",)) == []  # French until 2022
    assert list_official_languages("TN", ("fr",)) == ["ar"]
    assert [name_language(code) for code in list_official_languages("KM", ())] == [
        "Arabic", "French", "Comorian",
    ]  # fmt: skip
    assert list_currencies("HR") == ["EUR"]
    assert list_currencies("BG") == ["EUR"]
    assert list_currencies("HT") == ["HTG"]
    assert list_currencies("ZZ") == []


def test_a_land_is_found_under_the_other_forms_of_its_name() -> None:
    ireland = Summary("Republic of Ireland", "", "Country in Northwestern Europe", "Geography")
    island = Summary("Ireland", "", "Island in the North Atlantic Ocean", "Geography")
    assert find_land(["Ireland"], {country.title: country for country in (ireland, island)}) == ireland
    old = Summary("Kingdom of France", "", "Country in Western Europe (843\u20131792)", "Geography")
    assert find_land(["Kingdom of France"], {old.title: old}) is None


def test_slugs_tell_names_apart_that_have_no_latin_letters() -> None:
    assert make_slug("São Paulo") == "sao-paulo"
    assert make_slug("東京") != make_slug("大阪")
