"""Add films to the graph of countries, if they have an article or are named in a person's article."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

from tasks.errors import BadInput
from tasks.sources.graph_draft import GraphDraft
from tasks.sources.titles_met import Summary, make_slug
from tasks.sources.wikidata.values import Precision, Time

MINUTE = "unit/minute"
LINKS = {
    "directors": ("film_directors", "people", "person_id", "full_name"),
    "actors": ("film_actors", "people", "person_id", "full_name"),
    "genres": ("film_genres", "genres", "genre_id", "genre_name"),
    "countries": ("film_countries", "countries", "country_id", "country_name"),
    "languages": ("film_languages", "languages", "language_id", "language_name"),
}
SELECT = "SELECT film_id, qid, title, release_year, release_date, runtime_minutes FROM films ORDER BY film_id"
SHORTEST_TITLE = 8
"""Minimum length in characters of the titles that are searched for in articles; shorter titles are often
ordinary words."""
OTHER_LANDS = {"USA": "United States", "UK": "United Kingdom", "United States of America": "United States"}


@dataclass(frozen=True)
class NotedFilm:
    """A film with the names of its directors, actors, genres, countries and languages."""

    qid: str
    title: str
    year: int
    released: str | None
    minutes: int | None
    linked: Mapping[str, Sequence[str]]


def add_films(
    draft: GraphDraft, films: Path, lands: Mapping[str, str], articles: Mapping[str, Summary]
) -> None:
    """Add films that have an article, or that are mentioned in the article of a director or actor.

    `lands`: label -> id of the countries in the graph. Raises BadInput if `films` is not the films database.
    """
    for name, label in (("film", "film"), ("human", "human"), ("genre", "film genre")):
        draft.add_thing(f"class/{name}", label)
    draft.add_thing(MINUTE, "minute", ("min",))
    for film in _read(films):
        article = _find_article(film, articles)
        if article or _is_named(film, articles):
            _add_film(draft, film, article, lands, articles)


def _read(path: Path) -> list[NotedFilm]:
    uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            linked: dict[int, dict[str, list[str]]] = {}
            for kind, (table, names, key, label) in LINKS.items():
                # The names of tables and columns are constants, so SQL injection is not possible.
                sql = f"SELECT l.film_id, n.{label} FROM {table} l JOIN {names} n USING ({key}) ORDER BY 1, 2"  # noqa: S608
                for film, name in connection.execute(sql):
                    linked.setdefault(film, {}).setdefault(kind, []).append(name)
            rows = connection.execute(SELECT).fetchall()
    except sqlite3.Error as error:
        raise BadInput(
            path, f"is not the films database: {error}", hint="run the stage sources.films"
        ) from error
    return [
        NotedFilm(qid, title, year, released, minutes, linked.get(number, {}))
        for number, qid, title, year, released, minutes in rows
    ]


def _find_article(film: NotedFilm, articles: Mapping[str, Summary]) -> Summary | None:
    for title in (f"{film.title} ({film.year} film)", f"{film.title} (film)", film.title):
        found = articles.get(title)
        if (
            found
            and "film" in found.description.lower()
            and str(film.year) in found.description + found.extract
        ):
            return found
    return None


def _is_named(film: NotedFilm, articles: Mapping[str, Summary]) -> bool:
    people = (*film.linked.get("directors", ()), *film.linked.get("actors", ()))
    if len(film.title) < SHORTEST_TITLE:
        return False
    title = re.compile(rf"\b{re.escape(film.title)}\b")
    return any(name in articles and title.search(articles[name].extract) for name in people)


def _add_film(
    draft: GraphDraft,
    film: NotedFilm,
    article: Summary | None,
    lands: Mapping[str, str],
    articles: Mapping[str, Summary],
) -> None:
    draft.add_thing(film.qid, film.title, article=article.title if article else "")
    draft.link(film.qid, "P31", "class/film")
    for prop, kind in (("P57", "directors"), ("P161", "actors")):
        for name in film.linked.get(kind, ()):
            title = name if name in articles and articles[name].topic == "People" else ""
            person = draft.add_thing(f"human/{make_slug(name)}", name, article=title)
            draft.link(person, "P31", "class/human")
            draft.link(film.qid, prop, person)
    for name in film.linked.get("genres", ()):
        genre = draft.add_thing(f"genre/{make_slug(name)}", name)
        draft.link(genre, "P31", "class/genre")
        draft.link(film.qid, "P136", genre)
    for name in film.linked.get("countries", ()):
        if land := lands.get(OTHER_LANDS.get(name, name)):
            draft.link(film.qid, "P495", land)
    for name in film.linked.get("languages", ()):
        language = draft.add_thing(f"language/{make_slug(name)}", name, (f"{name} language",))
        draft.link(language, "P31", "class/language")
        draft.link(film.qid, "P364", language)
    draft.measure(film.qid, "P2047", None if film.minutes is None else Decimal(film.minutes), MINUTE)
    draft.date(film.qid, "P577", _read_date(film))


def _read_date(film: NotedFilm) -> Time:
    if film.released is None:
        return Time(film.year, None, None, Precision.YEAR)
    year, month, day = map(int, film.released.split("-"))
    return Time(year, month, day, Precision.DAY)
