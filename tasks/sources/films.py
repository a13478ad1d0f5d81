"""Import films, people, genres, countries, languages and companies from the packaged Wikidata snapshot."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.sources.names import split_names
from tasks.sources.tables import Cell, rank, write_database


class Films(BaseModel):
    """`sources.films` in params.yaml: number of films, and the seed of the sample."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    films: int | None = Field(default=400, gt=0)
    """null = all, also those with gaps."""
    seed: int = 7


@dataclass(frozen=True)
class _Film:
    """One film of the source, with its lists split."""

    cells: tuple[Cell, ...]
    linked: Mapping[str, list[str]]


@dataclass(frozen=True)
class _Link:
    """A many-to-many table: `film_genres` links films to genres by genre_id."""

    table: str
    entity: str
    key: str
    source: str


SELECT = """
SELECT o.ID AS film_id, o.Title AS title, o.Year AS year, o.Released AS released, o.Runtime AS runtime,
       o.Rating AS rating, o.Metacritic AS metacritic, o.Oscars AS oscars, o.Awards AS awards,
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
    _Link("film_cast", "people", "person_id", "actors"),
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
    box_office_usd INTEGER,
    academy_awards_won INTEGER NOT NULL
)
"""
# What a question may ask about: a film that lacks one of these is not drawn.
NEEDED = ("directors", "genres", "countries", "languages", "writers", "actors")
# Some statements of the source name a page or a trade in the place of a person.
NO_PERSON = re.compile(r"list of |(art director|dialogue writer|multiple languages)$")


def films(movies: Path, params: Films, out: Path) -> Counts:
    """Write the films database: films, the entities they are linked to, and the link tables.

    movies: the package's SQLite file (tables omdb and tomatoes). Raises BadInput if it is another file.
    """
    records = list(_read(movies))
    chosen = _choose(records, params)
    names = {entity: _number(chosen, entity) for entity in ENTITIES}
    tables: dict[str, Iterable[tuple[Cell, ...]]] = {"films": [film.cells for film in chosen]}
    tables |= {entity: [(number, name) for name, number in names[entity].items()] for entity in ENTITIES}
    for link in LINKS:
        numbers = names[link.entity]
        tables[link.table] = [
            (film.cells[0], numbers[name]) for film in chosen for name in film.linked[link.source]
        ]
    rows_out = write_database(out, _write_schema(), tables)
    return Counts(len(records), rows_out, {"not drawn": len(records) - len(chosen)})


def _read(movies: Path) -> Iterator[_Film]:
    connection = sqlite3.connect(f"file:{quote(str(movies.resolve()))}?mode=ro&immutable=1", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        for record in connection.execute(SELECT):
            yield _parse(record)
    except sqlite3.Error as error:
        raise BadInput(
            movies, f"is not the films snapshot: {error}", hint="`make setup` copies it"
        ) from error
    finally:
        connection.close()


def _parse(record: sqlite3.Row) -> _Film:
    linked = {link.source: _split(link.source, record[link.source]) for link in LINKS}
    cells = (
        record["film_id"],
        f"Q{record['film_id']}",
        record["title"].strip(),
        record["year"],
        _keep_exact_date(record["released"]),
        _convert(int, record["runtime"]),
        record["rating"],
        record["meter"],
        record["metacritic"],
        _convert(round, record["box_office"]),
        record["oscars"],
    )
    return _Film(cells, linked)


def _split(source: str, text: str | None) -> list[str]:
    # Genres alone are not in alphabetical order, and none of them holds a comma.
    names = (text or "").split(", ") if source == "genres" else split_names(text)
    return [name for name in names if name and not NO_PERSON.match(name)]


def _keep_exact_date(text: str) -> str | None:
    """Return a date, or None if it is 1 January, which the source writes if it only knows the year."""
    return None if text.endswith("-01-01") else text


def _convert(convert: Callable[[float], int], value: float | None) -> int | None:
    return None if value is None else convert(value)


def _choose(records: list[_Film], params: Films) -> list[_Film]:
    if params.films is None:
        return records
    whole = [film for film in records if film.cells[5] and all(film.linked[name] for name in NEEDED)]
    drawn = sorted(whole, key=lambda film: rank(params.seed, str(film.cells[1])))[: params.films]
    return sorted(drawn, key=lambda film: str(film.cells[1]))


def _number(chosen: list[_Film], entity: str) -> dict[str, int]:
    """Assign numbers to the names of an entity in sorted order, since the source has no ids."""
    sources = [link.source for link in LINKS if link.entity == entity]
    names = {name for film in chosen for source in sources for name in film.linked[source]}
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
