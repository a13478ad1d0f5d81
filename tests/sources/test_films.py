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
    "films(Path(sys.argv[1]), Films(films=50), Path(sys.argv[2]))"
)


@pytest.fixture(scope="module")
def drawn(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    out = tmp_path_factory.mktemp("films") / "films.sqlite"
    counts = films(packages / "movies.db", Films(films=120, seed=3), out)
    assert counts.rows_in == 17_472
    assert counts.dropped == {"not drawn": 17_472 - 120}
    connection = sqlite3.connect(out)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert counts.rows_out == sum(
        connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables
    )
    return connection


def test_every_key_holds(drawn: sqlite3.Connection) -> None:
    assert drawn.execute("PRAGMA foreign_key_check").fetchall() == []
    assert drawn.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("link", ["directors", "writers", "cast", "genres", "countries", "languages"])
def test_every_drawn_film_has_what_questions_need(drawn: sqlite3.Connection, link: str) -> None:
    assert drawn.execute(f"SELECT count(DISTINCT film_id) FROM film_{link}").fetchone() == (120,)


def test_qids_are_kept(drawn: sqlite3.Connection) -> None:
    assert drawn.execute("SELECT count(*) FROM films WHERE qid = 'Q' || film_id").fetchone() == (120,)


def test_a_date_is_given_only_where_the_day_is_known(drawn: sqlite3.Connection) -> None:
    dates = drawn.execute("SELECT release_year, release_date FROM films WHERE release_date > ''").fetchall()
    assert dates
    assert all(date.startswith(f"{year}-") and not date.endswith("-01-01") for year, date in dates)


def test_genres_are_single_words(drawn: sqlite3.Connection) -> None:
    assert drawn.execute("SELECT count(*) FROM genres WHERE genre_name LIKE '%,%'").fetchone() == (0,)


def test_cells_are_those_of_the_source(drawn: sqlite3.Connection, packages: Path) -> None:
    source = sqlite3.connect(packages / "movies.db")
    for film_id, title, runtime, directors in drawn.execute(
        "SELECT film_id, title, runtime_minutes, group_concat(full_name, ', ') FROM films "
        "JOIN film_directors USING (film_id) JOIN people USING (person_id) GROUP BY film_id"
    ):
        row = source.execute("SELECT Title, Runtime, Director FROM omdb WHERE ID = ?", (film_id,)).fetchone()
        assert (title, float(runtime)) == row[:2]
        assert sorted(directors.split(", ")) == sorted(row[2].split(", "))


def test_all_films_on_request(packages: Path, tmp_path: Path) -> None:
    films(packages / "movies.db", Films(films=None), tmp_path / "all.sqlite")
    connection = sqlite3.connect(tmp_path / "all.sqlite")
    assert connection.execute("SELECT count(*) FROM films").fetchone() == (17_472,)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_the_same_bytes_whatever_the_hash_seed(packages: Path, tmp_path: Path) -> None:
    contents = set()
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.sqlite"
        command = [sys.executable, "-c", SCRIPT, str(packages / "movies.db"), str(out)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        contents.add(out.read_bytes())
    assert len(contents) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.sqlite", "2.sqlite"]


def test_another_seed_draws_other_films(packages: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        films(packages / "movies.db", Films(films=20, seed=seed), tmp_path / f"{seed}.sqlite")
    drawn = [
        sqlite3.connect(tmp_path / f"{seed}.sqlite").execute("SELECT qid FROM films").fetchall()
        for seed in (1, 2)
    ]
    assert drawn[0] != drawn[1]


def test_another_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "movies.db").write_text("no database")
    with pytest.raises(BadInput, match=r"movies\.db: is not the films snapshot"):
        films(tmp_path / "movies.db", Films(), tmp_path / "out.sqlite")
    assert [path.name for path in tmp_path.iterdir()] == ["movies.db"]
