from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.errors import BadInput
from tasks.sources.films import Films, films

SCRIPT = (
    "import sys; from pathlib import Path; from tasks.sources.films import Films, films; "
    "films(Path(sys.argv[1]), Films(years=(1950, 1951)), Path(sys.argv[2]))"
)


@pytest.fixture(scope="module")
def whole(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    out = tmp_path_factory.mktemp("films") / "films.sqlite"
    counts = films(packages / "movies.db", Films(), out)
    assert counts.rows_in == 17_472
    connection = sqlite3.connect(out)
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    ).fetchall()
    assert counts.rows_out == sum(
        connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for (t,) in tables
    )
    return connection


def test_every_film_is_there_and_every_key_holds(whole: sqlite3.Connection) -> None:
    assert whole.execute("SELECT count(*) FROM films").fetchone() == (17_472,)
    assert whole.execute("PRAGMA foreign_key_check").fetchall() == []
    assert whole.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_span_of_years_has_all_films_of_these_years_and_their_people(
    whole: sqlite3.Connection, packages: Path, tmp_path: Path
) -> None:
    counts = films(packages / "movies.db", Films(years=(1960, 1961)), tmp_path / "span.sqlite")
    span = sqlite3.connect(tmp_path / "span.sqlite")
    named = (
        "SELECT qid, full_name FROM films JOIN film_actors USING (film_id) JOIN people USING (person_id) "
        "WHERE release_year IN (1960, 1961) ORDER BY 1, 2"
    )
    assert span.execute("SELECT DISTINCT release_year FROM films ORDER BY 1").fetchall() == [(1960,), (1961,)]
    assert span.execute(named).fetchall() == whole.execute(named).fetchall() != []
    taken = span.execute("SELECT count(*) FROM films").fetchone()[0]
    assert counts.dropped["film of another year"] == 17_472 - taken


def test_qids_are_kept(whole: sqlite3.Connection) -> None:
    assert whole.execute("SELECT count(*) FROM films WHERE qid = 'Q' || film_id").fetchone() == (17_472,)


def test_a_date_is_given_only_where_the_day_is_known(whole: sqlite3.Connection) -> None:
    dates = whole.execute("SELECT release_year, release_date FROM films WHERE release_date > ''").fetchall()
    assert dates
    assert all(date.startswith(f"{year}-") and not date.endswith("-01-01") for year, date in dates)


def test_genres_are_single_words(whole: sqlite3.Connection) -> None:
    assert whole.execute("SELECT count(*) FROM genres WHERE genre_name LIKE '%,%'").fetchone() == (0,)


def test_what_no_question_can_ask_about_is_null(whole: sqlite3.Connection) -> None:
    # The source states 1 minute for Machuca (actually 121), and a gross of 7.386 dollars for films.
    assert whole.execute("SELECT runtime_minutes FROM films WHERE film_id = 289043").fetchall() == [(None,)]
    assert whole.execute("SELECT min(runtime_minutes) >= 5 FROM films").fetchone() == (1,)
    assert whole.execute("SELECT box_office_usd FROM films WHERE film_id = 609436").fetchall() == [(None,)]
    assert whole.execute("SELECT min(box_office_usd) >= 1000 FROM films").fetchone() == (1,)


@pytest.mark.parametrize(
    ("column", "table", "there", "not_there"),
    [
        ("title", "films", ["Upside Down", "(500) Days of Summer"], ["Upside Down (2012 film)"]),
        (
            "full_name",
            "people",
            ["Stephen McFeely", "Huey Lewis and the News", "Tyler, the Creator", "Đuro Utješanović"],
            ["Christopher Markus and Stephen McFeely", "the Creator", "geshe", "art director"],
        ),
        ("language_name", "languages", ["Mandarin", "Cantonese"], ["Putonghua", "Yue Chinese"]),
    ],
)
def test_a_name_is_one_things_name(
    whole: sqlite3.Connection, column: str, table: str, there: list[str], not_there: list[str]
) -> None:
    names = {name for (name,) in whole.execute(f"SELECT {column} FROM {table}")}
    assert set(there) <= names
    assert not set(not_there) & names


def test_cells_are_those_of_the_source(whole: sqlite3.Connection, packages: Path) -> None:
    source = sqlite3.connect(packages / "movies.db")
    rows = whole.execute(
        "SELECT film_id, title, runtime_minutes, group_concat(full_name, ', ') FROM films "
        "JOIN film_directors USING (film_id) JOIN people USING (person_id) "
        "WHERE release_year = 1971 AND runtime_minutes > 0 GROUP BY film_id"
    ).fetchall()
    assert rows
    for film_id, title, runtime, directors in rows:
        row = source.execute("SELECT Title, Runtime, Director FROM omdb WHERE ID = ?", (film_id,)).fetchone()
        assert (title, float(runtime)) == row[:2]
        assert sorted(directors.split(", ")) == sorted(row[2].split(", "))


def test_a_link_is_found_from_either_end_by_an_index(whole: sqlite3.Connection) -> None:
    plan = whole.execute(
        "EXPLAIN QUERY PLAN SELECT DISTINCT title FROM films JOIN film_actors USING (film_id) "
        "JOIN people USING (person_id) WHERE full_name = 'Bill Murray'"
    ).fetchall()
    assert all("SEARCH" in step[-1] for step in plan if "TEMP B-TREE" not in step[-1])


def test_the_same_bytes_whatever_the_hash_seed(packages: Path, tmp_path: Path) -> None:
    contents = set()
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.sqlite"
        command = [sys.executable, "-c", SCRIPT, str(packages / "movies.db"), str(out)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        contents.add(out.read_bytes())
    assert len(contents) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.sqlite", "2.sqlite"]


def test_another_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "movies.db").write_text("no database")
    with pytest.raises(BadInput, match=r"movies\.db: is not the films snapshot"):
        films(tmp_path / "movies.db", Films(), tmp_path / "out.sqlite")
    assert [path.name for path in tmp_path.iterdir()] == ["movies.db"]
