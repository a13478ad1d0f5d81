"""Tests of natural keys: columns that identify the rows of an entity table by name."""

import sqlite3
from datetime import date, timedelta

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import reflect
from tasks.grammar.corpus.profiles import Profiles, profiles

TABLES = """
CREATE TABLE airlines (code TEXT PRIMARY KEY, airline_name TEXT NOT NULL);
CREATE TABLE flights (flight_id INTEGER PRIMARY KEY, flight_number INTEGER NOT NULL,
    flight_date DATE NOT NULL, code TEXT NOT NULL REFERENCES airlines (code), seats INTEGER NOT NULL);
CREATE TABLE films (film_id INTEGER PRIMARY KEY, title TEXT NOT NULL, release_year INTEGER, studio TEXT);
INSERT INTO airlines VALUES ('ZE', 'Zephyr Air'), ('KO', 'Kon Airways');
"""


def collect(tmp_path, table, statement, rows, **params):
    file = tmp_path / "made.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(TABLES)
        connection.executemany(statement, rows)
    entry = DatabaseEntry(name="made", file=file)
    return profiles(
        [], [], reflect(entry), entry, {}, Profiles(entities={"made": (table,)}, counts=0, **params)
    )


def collect_flights(tmp_path, rows, **params):
    return collect(tmp_path, "flights", "INSERT INTO flights VALUES (?, ?, ?, ?, ?)", rows, **params)


def collect_films(tmp_path, rows):
    return collect(tmp_path, "films", "INSERT INTO films VALUES (?, ?, ?, ?)", rows)


FLIGHTS = [
    (1, 63, "2013-01-23", "ZE", 63),
    (2, 63, "2013-01-23", "KO", 80),
    (3, 63, "2013-01-24", "ZE", 80),
    (4, 71, "2013-01-23", "ZE", 80),
]


def test_a_row_with_a_number_alone_is_named_by_number_airline_and_date(tmp_path):
    drafts = collect_flights(tmp_path, FLIGHTS)
    assert sorted(profile.name for profile in drafts.rows) == [
        "flight 63 of the airline Kon Airways on 23 January 2013",
        "flight 63 of the airline Zephyr Air on 23 January 2013",
        "flight 63 of the airline Zephyr Air on 24 January 2013",
        "flight 71 of the airline Zephyr Air on 23 January 2013",
    ]
    assert drafts.dropped == []
    # The name contains the number and the date. The airline is another entity; its code may follow.
    first = next(profile for profile in drafts.rows if profile.key == ("1",))
    stated = {fact.attribute: fact.values for fact in first.facts if fact.id in first.named}
    assert stated == {"number": ("63",), "date": ("2013-01-23",)}


def test_the_shortest_natural_key_is_taken(tmp_path):
    days = [date(2013, 1, 1) + timedelta(days=day) for day in range(5)]
    drafts = collect_flights(tmp_path, [(n, 63, str(day), "ZE", 80) for n, day in enumerate(days)])
    assert min(profile.name for profile in drafts.rows) == "flight on 1 January 2013"
    other = tmp_path / "other"
    other.mkdir()
    drafts = collect_flights(other, [(n, 60 + n, "2013-01-01", "ZE", 80) for n in range(3)])
    assert sorted(profile.name for profile in drafts.rows) == ["flight 60", "flight 61", "flight 62"]


def test_rows_that_nothing_distinguishes_keep_their_row_number_and_are_named(tmp_path):
    drafts = collect_flights(tmp_path, [*FLIGHTS, (5, 71, "2013-01-23", "ZE", 80)])
    assert sorted(profile.name for profile in drafts.rows) == [f"flight {number}" for number in range(1, 6)]
    assert [(row.reason, row.detail) for row in drafts.dropped] == [
        ("no_natural_key", "flights: 5 of 5 rows are not distinguished by 3 columns")
    ]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (
            [(1, "Maniac", 1934, "Roadshow"), (2, "Maniac", 2012, "Canal"), (3, "Avalon", 1990, "Tri")],
            ["Avalon", "Maniac (1934)", "Maniac (2012)"],
        ),
        (
            [(1, "Maniac", 1934, "Roadshow"), (2, "maniac", 1934, "Canal")],
            ["Maniac (with the studio Roadshow)", "maniac (with the studio Canal)"],
        ),
        (
            [(1, "Maniac", None, "Roadshow"), (2, "Maniac", 2012, "Canal")],
            ["Maniac (with the studio Canal)", "Maniac (with the studio Roadshow)"],
        ),
    ],
)
def test_rows_of_one_name_get_what_distinguishes_them(tmp_path, rows, names):
    drafts = collect_films(tmp_path, rows)
    assert sorted(profile.name for profile in drafts.rows) == names
    assert drafts.dropped == []


def test_films_of_one_name_and_year_that_nothing_distinguishes_are_counted(tmp_path):
    drafts = collect_films(
        tmp_path, [(1, "Maniac", 1934, None), (2, "Maniac", 1934, None), (3, "X", 1934, None)]
    )
    assert sorted(profile.name for profile in drafts.rows) == ["Maniac", "Maniac", "X"]
    assert [row.detail for row in drafts.dropped] == ["films: 2 of 3 rows are not distinguished by 3 columns"]


@pytest.mark.parametrize("natural", [True, False])
def test_natural_keys_can_be_switched_off(tmp_path, natural):
    drafts = collect_flights(tmp_path, FLIGHTS, natural_keys=natural)
    assert all("airline" in profile.name for profile in drafts.rows) is natural
