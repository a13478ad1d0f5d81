"""Import films, people, genres, countries, languages and companies from the packaged Wikidata snapshot.

The snapshot's award counts are not imported, because they are too low for many films.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.settings import Settings
from tasks.sources.tables import Cell, write_database

SUFFIX = re.compile(
    r"(Jr|Sr|Inc|Ltd)\.?$|(II|III|IV|PhD|the Creator)$"
    r"|(\d+(st|nd|rd|th) )?(Duke|Duchess|Prince|Princess|Prince Consort) of "
    r"|(\d+(st|nd|rd|th) )?(Earl|Count|Countess|Marquess|Viscount) of "
    r"|\d+(st|nd|rd|th) (Baron|Baronet|Viscount|Earl|Lord)\b"
)


class Films(Settings):
    """`sources.films` in params.yaml."""

    years: tuple[int, int] | None = None
    """First and last year of release; null imports all films."""


@dataclass(frozen=True)
class _Film:
    """A film from the source. `linked`: column of the source -> the names in that column."""

    cells: tuple[Cell, ...]
    linked: Mapping[str, list[str]]


@dataclass(frozen=True)
class _Link:
    """A many-to-many table, such as `film_genres`, which links films to genres by genre_id."""

    table: str
    entity: str
    key: str
    source: str


SELECT = """
SELECT o.ID AS film_id, o.Title AS title, o.Year AS year, o.Released AS released, o.Runtime AS runtime,
       o.Rating AS rating, o.Metacritic AS metacritic,
       o.Director AS directors, o.Writer AS writers, o."Cast" AS actors, o.Genre AS genres,
       o.Country AS countries, o.Language AS languages, t.Meter AS meter, t.BoxOffice AS box_office,
       t.Production AS companies
FROM omdb AS o LEFT JOIN tomatoes AS t ON t.ID = o.ID ORDER BY o.ID
"""
ENTITIES = {
    "people": ("person_id", "full_name"),
    "genres": ("genre_id", "genre_name"),
    "countries": ("country_id", "country_name"),
    "languages": ("language_id", "language_name"),
    "companies": ("company_id", "company_name"),
}
LINKS = (
    _Link("film_directors", "people", "person_id", "directors"),
    _Link("film_writers", "people", "person_id", "writers"),
    _Link("film_actors", "people", "person_id", "actors"),
    _Link("film_genres", "genres", "genre_id", "genres"),
    _Link("film_countries", "countries", "country_id", "countries"),
    _Link("film_languages", "languages", "language_id", "languages"),
    _Link("film_companies", "companies", "company_id", "companies"),
)
FILMS_TABLE = """
CREATE TABLE films (
    film_id INTEGER PRIMARY KEY,
    qid TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    release_year INTEGER NOT NULL,
    release_date DATE,
    runtime_minutes INTEGER,
    content_rating TEXT,
    tomatometer_percent INTEGER,
    metacritic_score INTEGER,
    box_office_usd INTEGER
)
"""
INDEXES = (
    "CREATE INDEX films_title ON films (title)",
    "CREATE INDEX films_release_year ON films (release_year)",
    *(f"CREATE INDEX {link.table}_{link.key} ON {link.table} ({link.key})" for link in LINKS),
)
# In some statements of the source, the value is a page, an occupation or a rank instead of a person, or a
# kind of language instead of a language.
NO_NAME = re.compile(r"list of |(art director|dialogue writer|multiple languages|geshe|artistic language)$")
# Wikipedia disambiguates page titles with a suffix in parentheses, which is not part of the name.
PAGE_MARK = re.compile(r" \((?:(?:\d{4} )?film|Firm|\d{4}-\d{4})\)$")
TWO_PEOPLE = re.compile(r"(\S+ .+) and (?!the )(\S+ .+)")
ONE_LANGUAGE = {
    "Kurdish language": "Kurdish",
    "Modern Greek": "Greek",
    "Modern Hebrew": "Hebrew",
    "Neapolitan language": "Neapolitan",
    "Putonghua": "Mandarin",
    "Standard Chinese": "Mandarin",
    "Yue Chinese": "Cantonese",
}
"""Variant name of a language -> the name to use, so that a count per language includes all its films."""
# Smaller runtimes and grosses in the source are implausible.
SHORTEST_MINUTES = 5
LEAST_DOLLARS = 1_000


def films(movies: Path, params: Films, out: Path) -> Counts:
    """Write the films database: films, the entities that they are linked to, and the link tables.

    `movies`: the package's SQLite file, with the tables omdb and tomatoes. The counts contain the numbers of
    films and values that were left out or set to NULL, by reason. Raises BadInput if `movies` is not the
    package's SQLite file.
    """
    left_out: Counter[str] = Counter()
    rows_in, taken = 0, list[_Film]()
    first, last = params.years or (0, 9999)
    for record in _read(movies):
        rows_in += 1
        if first <= record["year"] <= last:
            taken.append(_parse(record, left_out))
        else:
            left_out["film of another year"] += 1
    names = {entity: _number(taken, entity) for entity in ENTITIES}
    tables: dict[str, Iterable[tuple[Cell, ...]]] = {"films": [film.cells for film in taken]}
    tables |= {entity: [(number, name) for name, number in names[entity].items()] for entity in ENTITIES}
    for link in LINKS:
        numbers = names[link.entity]
        tables[link.table] = [
            (film.cells[0], numbers[name]) for film in taken for name in film.linked[link.source]
        ]
    rows_out = write_database(out, _write_schema(), tables, INDEXES)
    return Counts(rows_in, rows_out, dict(sorted(left_out.items())))


def _read(movies: Path) -> Iterator[sqlite3.Row]:
    connection = sqlite3.connect(f"file:{quote(str(movies.resolve()))}?mode=ro&immutable=1", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        yield from connection.execute(SELECT)
    except sqlite3.Error as error:
        raise BadInput(
            movies, f"is not the films snapshot: {error}", hint="run the stage sources.packages"
        ) from error
    finally:
        connection.close()


def _parse(record: sqlite3.Row, left_out: Counter[str]) -> _Film:
    runtime, gross, released = record["runtime"], record["box_office"], record["released"]
    if runtime is not None and runtime < SHORTEST_MINUTES:
        runtime = None
        left_out[f"NULL: runtime under {SHORTEST_MINUTES} minutes"] += 1
    if gross is not None and gross < LEAST_DOLLARS:
        gross = None
        left_out[f"NULL: box office under {LEAST_DOLLARS:,} dollars"] += 1
    if released.endswith("-01-01"):  # the source writes January 1 if it only knows the year
        released = None
        left_out["NULL: date of which only the year is known"] += 1
    cells = (
        record["film_id"],
        f"Q{record['film_id']}",
        PAGE_MARK.sub("", record["title"].strip()),
        record["year"],
        released,
        None if runtime is None else int(runtime),
        record["rating"],
        record["meter"],
        record["metacritic"],
        None if gross is None else round(gross),
    )
    linked = {link.source: _split(link, record[link.source], left_out) for link in LINKS}
    return _Film(cells, linked)


def _split(link: _Link, text: str | None, left_out: Counter[str]) -> list[str]:
    # Genres are the only list without alphabetical order, and no genre contains a comma.
    listed = (text or "").split(", ") if link.source == "genres" else split_names(text)
    names: list[str] = []
    for name in filter(None, listed):
        if NO_NAME.match(name):
            left_out["entry that is no name"] += 1
        elif link.entity == "people" and (pair := TWO_PEOPLE.fullmatch(name)):
            names += pair.groups()
        else:
            names.append(PAGE_MARK.sub("", ONE_LANGUAGE.get(name, name)))
    return list(dict.fromkeys(names))


def _number(taken: list[_Film], entity: str) -> dict[str, int]:
    """Return ids for the names in an entity table, numbered from 1 in sorted order; the source has no ids."""
    sources = [link.source for link in LINKS if link.entity == entity]
    names = {name for film in taken for source in sources for name in film.linked[source]}
    return {name: number for number, name in enumerate(sorted(names), start=1)}


def _write_schema() -> list[str]:
    entities = [
        f"CREATE TABLE {table} ({key} INTEGER PRIMARY KEY, {name} TEXT NOT NULL UNIQUE)"
        for table, (key, name) in ENTITIES.items()
    ]
    links = [
        f"CREATE TABLE {link.table} (film_id INTEGER NOT NULL REFERENCES films (film_id), "
        f"{link.key} INTEGER NOT NULL REFERENCES {link.entity} ({link.key}), "
        f"PRIMARY KEY (film_id, {link.key})) WITHOUT ROWID"
        for link in LINKS
    ]
    return [FILMS_TABLE, *entities, *links]


def split_names(text: str | None) -> list[str]:
    """Split `A, B, C, Jr.` into A, B and `C, Jr.`, without duplicates.

    Suffixes and titles stay with the name before them. Other commas inside names are detected from the
    alphabetical order. The source lists names alphabetically, so a part that is out of order shows that a
    comma is inside a name. If the part before it contains `&` (`Crosby, Stills & Nash`), that earlier part
    continues the name before it. Otherwise, the part that is out of order continues the name before it.
    """
    names: list[str] = []
    for part in (text or "").split(", "):
        if not part.strip():
            continue
        if names and SUFFIX.match(part):
            names[-1] += f", {part}"
        elif names and part < names[-1]:
            _mend(names, part)
        else:
            names.append(part)
    return list(dict.fromkeys(name.strip() for name in names))


def _mend(names: list[str], part: str) -> None:
    if len(names) > 1 and " & " in names[-1]:
        rest = names.pop()
        names[-1] += f", {rest}"
        names.append(part)
    else:
        names[-1] += f", {part}"
