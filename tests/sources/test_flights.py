from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.sources.flights import Flights, flights


def build(packages: Path, out: Path, params: Flights) -> Counts:
    names = ("flights.csv.zip", "airlines.csv", "airports.csv", "planes.csv", "weather.csv")
    return flights(*(packages / name for name in names), params, out)


@pytest.fixture(scope="module")
def thinned(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    out = tmp_path_factory.mktemp("flights") / "flights.sqlite"
    counts = build(packages, out, Flights(flights=150, weather=30))
    assert counts.rows_in == counts.rows_out + sum(counts.dropped.values())
    return sqlite3.connect(out)


def test_every_key_holds(thinned: sqlite3.Connection) -> None:
    assert thinned.execute("PRAGMA foreign_key_check").fetchall() == []
    assert thinned.execute("SELECT count(*) FROM flights").fetchone() == (150,)
    assert thinned.execute("SELECT count(*) FROM weather").fetchone() == (30,)


@pytest.mark.parametrize(
    ("table", "used"),
    [
        ("airlines", "SELECT carrier_code FROM flights"),
        ("planes", "SELECT tail_number FROM flights"),
        ("airports", "SELECT origin_airport FROM flights UNION SELECT destination_airport FROM flights"),
    ],
)
def test_only_what_the_flights_refer_to_is_kept(thinned: sqlite3.Connection, table: str, used: str) -> None:
    kept = thinned.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert kept == thinned.execute(f"SELECT count(*) FROM ({used} GROUP BY 1)").fetchone()


def test_na_is_null(thinned: sqlite3.Connection) -> None:
    for (table,) in thinned.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        assert all("NA" not in row and "" not in row for row in thinned.execute(f"SELECT * FROM {table}"))
    assert thinned.execute("SELECT count(*) FROM weather WHERE pressure_millibars IS NULL").fetchone()[0] > 0


def test_a_known_flight_reads_as_it_was(packages: Path, tmp_path: Path) -> None:
    build(packages, tmp_path / "all.sqlite", Flights(flights=None, weather=0))
    connection = sqlite3.connect(tmp_path / "all.sqlite")
    row = connection.execute(
        "SELECT flight_date, scheduled_departure_time, departure_time, departure_delay_minutes, "
        "destination_airport, airline_name FROM flights JOIN airlines USING (carrier_code) "
        "WHERE flight_number = 1545 AND tail_number = 'N14228' AND flight_date = '2013-01-01'"
    ).fetchone()
    assert row == ("2013-01-01", "05:15", "05:17", 2, "IAH", "United Air Lines Inc.")
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_the_same_bytes_twice(packages: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        build(packages, tmp_path / name, Flights(flights=40, weather=5))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_broken_archive_is_named(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "flights.csv.zip").write_text("no archive")
    rest = [packages / name for name in ("airlines.csv", "airports.csv", "planes.csv", "weather.csv")]
    with pytest.raises(BadInput, match=r"flights\.csv\.zip: cannot be read"):
        flights(tmp_path / "flights.csv.zip", *rest, Flights(), tmp_path / "out")
