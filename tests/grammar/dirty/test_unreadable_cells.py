"""Tests that an unreadable cell excludes only its column, by name, and other answers are correct."""

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from flows.commands.snapshot import refresh_record
from tasks.databases.content import load_record, read_content
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place
from tests.grammar.dirty.answers import Made
from tests.grammar.dirty.database import make_plants

LONG = 20_000
"""Length in characters of a cell that SQLite stores on overflow pages."""
ROWS = 40


def damage(path):
    """Damage the chain of overflow pages of the cell with many Q."""
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    pages = range(0, len(data), size)
    first = next(at for at in pages if data.count(b"Q", at + 4, at + size) == size - 4)
    data[first : first + 4] = (2**31 - 1).to_bytes(4, "big")
    path.write_bytes(data)


@settings(max_examples=3, deadline=None, phases=[Phase.generate])
@given(
    numbers=st.lists(st.integers(0, 999), min_size=ROWS, max_size=ROWS),
    row=st.integers(0, ROWS - 1),
    kind=st.sampled_from(["TEXT", "DATE", "REAL"]),
)
def test_a_damaged_cell_of_sqlite(numbers, row, kind, tmp_path_factory):
    path = tmp_path_factory.mktemp("plants") / "plants.sqlite"
    texts = ["Q" * LONG if n == row else f"2004-01-{n % 28 + 1:02}" for n in range(ROWS)]
    entry = make_plants(path, [("INTEGER", numbers), (kind, texts)])
    damage(path)
    made = Made(entry)
    assert [(drop.reason, drop.detail) for drop in made.losses] == [
        ("unreadable", "plants.c1: database disk image is malformed")
    ]
    assert made.check()["most"]


@pytest.fixture
def place(monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place("postgresql") as place:
        yield place


PLANTS = "SELECT n, 'Plant ' || n, 'Coast ' || n % 3, n * 7 % 40 FROM generate_series(1, 40) n"
TABLE = "CREATE TABLE plants (plant_id int PRIMARY KEY, name text, coast text, size int)"


def test_a_column_that_may_not_be_read(place, tmp_path):
    place.run(
        TABLE, "ALTER TABLE plants ADD secret int", f"INSERT INTO plants {PLANTS}",
        "CREATE TABLE hush (a int)",
        f"GRANT SELECT (plant_id, name, coast, size) ON plants TO {place.reader}",
    )  # fmt: skip
    entry = place.entry.model_copy(update={"file": tmp_path / "shop.json"})
    line = refresh_record(entry)
    assert line.startswith("databases.shop: 2 tables, 40 rows; changed: hush, plants")
    for column, table in (("hush.a", "hush"), ("plants.secret", "plants")):
        assert f"; {column} was not read: permission denied for table {table}" in line
    assert load_record(entry) == read_content(entry)
    place.run(f"GRANT SELECT ON plants TO {place.reader}")
    assert load_record(entry).compare(read_content(entry)) == ["plants"]
    refresh_record(entry)
    recorded = json.loads(entry.file.read_text(encoding="utf-8"))["tables"]
    assert ["unread" in recorded[table] for table in ("hush", "plants")] == [True, False]


@pytest.mark.parametrize(("bytes_", "lost"), [("\\304", True), ("\\303\\204", False)])
def test_bytes_in_a_database_without_an_encoding(place, bytes_, lost):
    name = f"{place.name}_ascii"
    with place.admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"))
    try:
        place.owner = create_engine(
            place.owner.url.set(database=name), poolclass=NullPool, connect_args={"client_encoding": "utf8"}
        )
        place.run(
            TABLE, f"INSERT INTO plants {PLANTS}",
            f"UPDATE plants SET coast = E'{bytes_}' WHERE plant_id = 3",
        )  # fmt: skip
        place.grant()
        url = make_url(place.entry.url).set(database=name).render_as_string(hide_password=False)
        entry = place.entry.model_copy(update={"url": url})
        assert read_content(entry).tables["plants"].rows == 40
        made = Made(entry)
        assert made.list_losses() == ([("unreadable", "plants.coast")] if lost else [])
        assert made.check()
    finally:
        with place.admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
