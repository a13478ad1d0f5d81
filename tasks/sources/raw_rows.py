"""Find the raw rows, in the packages' files, from which a row of the sample databases was imported.

The module reverses the importers. Films are looked up by id, rows such as people and genres by a linked film,
and rows of CSV files by their imported cells. The raw row is returned unchanged.
"""

from __future__ import annotations

import csv
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from tasks.errors import BadInput
from tasks.sources import films as film_rules
from tasks.sources import flights as flight_rules

Cells = Mapping[str, object]
ConvertRow = Callable[[Mapping[str, str]], Sequence[object]]
FILM_TABLES = ("omdb", "tomatoes")


@dataclass(frozen=True)
class RawRow:
    """A row of a raw file. `place`: the row's position in `file`, such as `line=12` or `omdb?ID=3`."""

    file: Path
    place: str
    cells: Cells
    more: int = 0
    """Number of other films that are linked to the same person, genre or other name; otherwise 0."""


@dataclass(frozen=True)
class Lines:
    """Rules for finding the rows of one table in a CSV file.

    - `leading`: names of the CSV file's first columns, by which lines are looked up.
    - `begin`: function that returns the values of these columns for a row of the table.
    """

    file: str
    leading: tuple[str, ...]
    begin: Callable[[Cells], Sequence[object]]
    convert: ConvertRow
    """Converts a CSV row to the cells that the importer made from it, in the table's column order."""
    telling: tuple[str, ...] = ()
    """Table columns whose cells occur verbatim in the CSV line; lines without these cells are not parsed."""
    numbered: bool = False
    """Whether the table's first column is a number that the importer assigned."""


def find_film_rows(raw: Sequence[Path], database: Path, table: str, cells: Cells) -> list[RawRow]:
    """Find the rows of movies.db from which a row of the films database was imported.

    For a film or a link, the result is the film's rows in omdb and tomatoes. For a person, genre or other
    name, the result is the rows of the first linked film; every linked film contains the name. The result is
    [] for a name without films.
    """
    numbers = [cells["film_id"]] if "film_id" in cells else _list_films(database, table, cells)
    found = []
    for source in FILM_TABLES if numbers else ():
        # The table's name is a constant, so SQL injection is not possible.
        rows = _ask(raw[0], f"SELECT * FROM {source} WHERE ID = ?", numbers[0])  # noqa: S608
        place = f"{source}?ID={numbers[0]}"
        found += [RawRow(raw[0], place, dict(row), len(numbers) - 1) for row in rows]
    return found


def find_flight_rows(raw: Sequence[Path], database: Path, table: str, cells: Cells) -> list[RawRow]:
    """Find the lines of the package's CSV files from which a row of the flights database was imported.

    Raises BadInput if the table's file is not among `raw`, or has unexpected columns.
    """
    rule = CSV_TABLES[table]
    path = next((file for file in raw if file.name == rule.file), None)
    if path is None:
        raise BadInput(database, f"was not made from {rule.file}")
    lines = _open_lines(path, len(rule.leading), path.stat().st_mtime_ns)
    names = lines.names
    if tuple(names[: len(rule.leading)]) != rule.leading:
        raise BadInput(path, f"has a header that does not begin with {', '.join(rule.leading)}")
    wanted = tuple(cells[name] for name in _list_columns(database, table))[rule.numbered :]
    found = []
    required = [str(cells[name]).encode() for name in rule.telling if cells[name] is not None]
    for number, line in lines.find(",".join(map(str, rule.begin(cells)))):
        if all(cell in line for cell in required):
            record = dict(zip(names, next(csv.reader([line.decode()])), strict=True))
            if tuple(rule.convert(record)) == wanted:
                found.append(RawRow(path, f"line={number}", record))
    return found or _find_only_flown(raw, table, cells)


def _find_only_flown(raw: Sequence[Path], table: str, cells: Cells) -> list[RawRow]:
    """Return the first flight of a plane or airport whose own CSV file has no row for it; [] if none."""
    path = next((file for file in raw if file.name == CSV_TABLES["flights"].file), None)
    if path is None or table not in KEY_ALONE:
        return []
    lines = _open_lines(path, len(CSV_TABLES["flights"].leading), path.stat().st_mtime_ns)
    line = lines.find_cell(str(cells[KEY_ALONE[table]]))
    if line is None:
        return []
    record = dict(zip(lines.names, next(csv.reader([line[1].decode()])), strict=True))
    return [RawRow(path, f"line={line[0]}", record)]


@lru_cache(maxsize=64)
def _list_columns(database: Path, table: str) -> list[str]:
    return [
        row["name"] for row in _ask(database, "SELECT name FROM pragma_table_info(?) ORDER BY cid", table)
    ]


def _list_films(database: Path, table: str, cells: Cells) -> list[int]:
    key, _ = film_rules.ENTITIES[table]
    links = [link.table for link in film_rules.LINKS if link.entity == table]
    # The names of tables and columns are constants, so SQL injection is not possible.
    union = " UNION ".join(f"SELECT film_id FROM {link} WHERE {key} = ?1" for link in links)  # noqa: S608
    return [row["film_id"] for row in _ask(database, f"{union} ORDER BY 1", cells[key])]


def _ask(path: Path, sql: str, value: object) -> list[sqlite3.Row]:
    uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(sql, (value,)).fetchall()
    except sqlite3.Error as error:
        raise BadInput(path, f"cannot be read: {error}", hint="run the stage sources.packages") from error


class CsvLines:
    """Finds lines of a CSV file by their first cells: by a scan or, after several look-ups, with an index."""

    WORTH = 4
    """Number of scans before the index is built; building the index takes as long as ten scans."""

    def __init__(self, path: Path, leading: int) -> None:
        with flight_rules.open_text(path) as text:
            self._content = bytes(text.buffer.read()).rstrip(b"\n") + b"\n"
        self._leading = leading
        self._known: dict[bytes, list[tuple[int, bytes]]] = {}
        self._sorted = False
        self.names = next(csv.reader([self._content[: self._content.index(b"\n")].decode()]))

    def find(self, beginning: str) -> list[tuple[int, bytes]]:
        """Return (line number, line) for each line that starts with these comma-separated cells.

        The header is line 1.
        """
        key = beginning.encode()
        if key not in self._known and not self._sorted:
            if len(self._known) >= self.WORTH:
                self._sort()
            else:
                self._known[key] = list(self._look(b"\n" + key + b","))
        return self._known.get(key, [])

    def find_cell(self, cell: str) -> tuple[int, bytes] | None:
        """Return (line number, line) for the first line with this cell, or None.

        The first and last cells of a line are not searched.
        """
        place = self._content.find(f",{cell},".encode())
        if place < 0:
            return None
        begin, end = self._content.rfind(b"\n", 0, place) + 1, self._content.index(b"\n", place)
        return self._content.count(b"\n", 0, begin) + 1, self._content[begin:end]

    def _look(self, mark: bytes) -> Iterator[tuple[int, bytes]]:
        number, counted, place = 1, 0, self._content.find(mark)
        while place >= 0:
            number, counted = number + self._content.count(b"\n", counted, place + 1), place + 1
            end = self._content.index(b"\n", place + 1)
            yield number, self._content[place + 1 : end]
            place = self._content.find(mark, end)

    def _sort(self) -> None:
        known: defaultdict[bytes, list[tuple[int, bytes]]] = defaultdict(list)
        for number, line in enumerate(self._content.split(b"\n"), start=1):
            known[b",".join(line.split(b",", self._leading)[: self._leading])].append((number, line))
        self._known, self._sorted = dict(known), True


@lru_cache(maxsize=8)
def _open_lines(path: Path, leading: int, _changed_at: int) -> CsvLines:
    # `_changed_at` is part of the cache key, so that a changed file is read again.
    return CsvLines(path, leading)


def _split_date(cells: Cells, name: str) -> list[int]:
    return [int(part) for part in str(cells[name])[:10].split("-")]


def _convert_with(
    columns: flight_rules.Columns, convert: flight_rules.ConvertRow = flight_rules.convert_row
) -> ConvertRow:
    return lambda record: convert(record, columns)


KEY_ALONE = {"planes": "tail_number", "airports": "airport_code"}
"""Table with some rows imported only from the flights file -> the table's key column."""


CSV_TABLES = {
    "airlines": Lines(
        "airlines.csv",
        ("carrier",),
        lambda cells: [cells["carrier_code"]],
        _convert_with(flight_rules.AIRLINES),
    ),
    "airports": Lines(
        "airports.csv", ("faa",), lambda cells: [cells["airport_code"]], _convert_with(flight_rules.AIRPORTS)
    ),
    "planes": Lines(
        "planes.csv",
        ("tailnum",),
        lambda cells: [cells["tail_number"]],
        _convert_with(flight_rules.PLANES, flight_rules.convert_plane),
    ),
    "flights": Lines(
        "flights.csv.zip",
        ("year", "month", "day"),
        lambda cells: _split_date(cells, "flight_date"),
        flight_rules.convert_flight,
        ("flight_number", "tail_number"),
        numbered=True,
    ),
    "weather": Lines(
        "weather.csv",
        ("origin", "year", "month", "day", "hour"),
        lambda cells: [
            cells["airport_code"],
            *_split_date(cells, "observation_time"),
            int(str(cells["observation_time"])[11:13]),
        ],
        flight_rules.convert_hour,
        numbered=True,
    ),
}
FINDERS = {"sources.films": find_film_rows, "sources.flights": find_flight_rows}
"""Name of the import stage -> the function that finds the raw rows of an imported row.

The function takes the raw files, the database file, the table's name and the row's cells.
"""
