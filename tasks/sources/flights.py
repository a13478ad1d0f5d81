"""Import a sample of the flights from New York in 2013, with airlines, airports, planes and weather."""

from __future__ import annotations

import csv
import heapq
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.sources.tables import Cell, rank, write_database

Record = Mapping[str, str]
Convert = Callable[[str], Cell]


class Flights(BaseModel):
    """`sources.flights` in params.yaml: numbers of flights and of hours of weather, and the seed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    flights: int | None = Field(default=1200, gt=0)
    """null = all whose airport and plane the package describes."""
    weather: int | None = Field(default=300, ge=0)
    """Hours of weather at the airports kept."""
    seed: int = 7


SCHEMA = (
    "CREATE TABLE airlines (carrier_code TEXT PRIMARY KEY NOT NULL, airline_name TEXT NOT NULL)",
    """CREATE TABLE airports (
        airport_code TEXT PRIMARY KEY NOT NULL, airport_name TEXT NOT NULL, latitude_degrees REAL NOT NULL,
        longitude_degrees REAL NOT NULL, altitude_feet INTEGER NOT NULL, time_zone TEXT)""",
    """CREATE TABLE planes (
        tail_number TEXT PRIMARY KEY NOT NULL, manufacture_year INTEGER, plane_type TEXT NOT NULL,
        manufacturer TEXT NOT NULL, model TEXT NOT NULL, number_of_engines INTEGER NOT NULL,
        seats INTEGER NOT NULL, engine_type TEXT NOT NULL)""",
    """CREATE TABLE flights (
        flight_id INTEGER PRIMARY KEY, flight_date DATE NOT NULL, flight_number INTEGER NOT NULL,
        carrier_code TEXT NOT NULL REFERENCES airlines (carrier_code),
        tail_number TEXT NOT NULL REFERENCES planes (tail_number),
        origin_airport TEXT NOT NULL REFERENCES airports (airport_code),
        destination_airport TEXT NOT NULL REFERENCES airports (airport_code),
        scheduled_departure_time TEXT NOT NULL, departure_time TEXT, departure_delay_minutes INTEGER,
        scheduled_arrival_time TEXT NOT NULL, arrival_time TEXT, arrival_delay_minutes INTEGER,
        air_time_minutes INTEGER, distance_miles INTEGER NOT NULL)""",
    """CREATE TABLE weather (
        weather_id INTEGER PRIMARY KEY, airport_code TEXT NOT NULL REFERENCES airports (airport_code),
        observation_time TEXT NOT NULL, temperature_fahrenheit REAL, dew_point_fahrenheit REAL,
        humidity_percent REAL, wind_direction_degrees INTEGER, wind_speed_mph REAL, precipitation_inches REAL,
        pressure_millibars REAL, visibility_miles REAL)""",
)


def _read_clock(text: str) -> str:
    """Convert 517 to 05:17."""
    return f"{int(text) // 100:02d}:{int(text) % 100:02d}"


AIRLINES: tuple[tuple[str, Convert], ...] = (("carrier", str), ("name", str))
AIRPORTS: tuple[tuple[str, Convert], ...] = (
    ("faa", str),
    ("name", str),
    ("lat", float),
    ("lon", float),
    ("alt", int),
    ("tzone", str),
)
PLANES: tuple[tuple[str, Convert], ...] = (
    ("tailnum", str),
    ("year", int),
    ("type", str),
    ("manufacturer", str),
    ("model", str),
    ("engines", int),
    ("seats", int),
    ("engine", str),
)
FLIGHTS: tuple[tuple[str, Convert], ...] = (
    ("flight", int),
    ("carrier", str),
    ("tailnum", str),
    ("origin", str),
    ("dest", str),
    ("sched_dep_time", _read_clock),
    ("dep_time", _read_clock),
    ("dep_delay", int),
    ("sched_arr_time", _read_clock),
    ("arr_time", _read_clock),
    ("arr_delay", int),
    ("air_time", int),
    ("distance", int),
)
WEATHER: tuple[tuple[str, Convert], ...] = (
    ("temp", float),
    ("dewp", float),
    ("humid", float),
    ("wind_dir", int),
    ("wind_speed", float),
    ("precip", float),
    ("pressure", float),
    ("visib", float),
)


def flights(
    flights: Path, airlines: Path, airports: Path, planes: Path, weather: Path, params: Flights, out: Path
) -> Counts:
    """Write the flights database: sampled flights and weather, and the rows that the flights refer to.

    Inputs are the package's CSV files. `NA` becomes NULL. Raises BadInput if a file is another one.
    """
    known = {
        "airlines": {row["carrier"]: row for row in _read(airlines, AIRLINES)},
        "airports": {row["faa"]: row for row in _read(airports, AIRPORTS)},
        "planes": {row["tailnum"]: row for row in _read(planes, PLANES)},
    }
    flown = list(_read(flights, FLIGHTS, "year", "month", "day"))
    linked = [row for row in flown if _is_linked(row, known)]
    drawn = _draw(linked, params.flights, params.seed, _name_flight)
    hours = list(_read(weather, WEATHER, "origin", "year", "month", "day", "hour"))
    ports = {row[end] for row in drawn for end in ("origin", "dest")}
    felt = _draw((row for row in hours if row["origin"] in ports), params.weather, params.seed, _name_hour)
    tables = {
        "airlines": _pick(known["airlines"], {row["carrier"] for row in drawn}, AIRLINES),
        "airports": _pick(known["airports"], ports, AIRPORTS),
        "planes": _pick(known["planes"], {row["tailnum"] for row in drawn}, PLANES),
        "flights": [(number, *convert_flight(row)) for number, row in enumerate(drawn, start=1)],
        "weather": [(number, *convert_hour(row)) for number, row in enumerate(felt, start=1)],
    }
    rows_in = len(flown) + len(hours) + sum(len(rows) for rows in known.values())
    rows_out = write_database(out, SCHEMA, tables)
    unlinked, undrawn = len(flown) - len(linked), len(linked) - len(drawn)
    unused = rows_in - rows_out - unlinked - undrawn
    return Counts(
        rows_in,
        rows_out,
        {
            "flight of an unknown plane or airport": unlinked,
            "flight not drawn": undrawn,
            "not referred to": unused,
        },
    )


def _read(path: Path, columns: Sequence[tuple[str, Convert]], *more: str) -> Iterator[Record]:
    """Read a CSV file's rows. Raises BadInput if a required column is missing."""
    try:
        text = open_text(path)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise BadInput(path, f"cannot be read: {error}", hint="`make setup` copies it") from error
    with text:
        rows = csv.DictReader(text)
        needed = [name for name, _ in columns] + list(more)
        missing = [name for name in needed if name not in (rows.fieldnames or ())]
        if missing:
            raise BadInput(path, f"has no column {', '.join(missing)}", hint="`make setup` copies it")
        yield from rows


def open_text(path: Path) -> io.TextIOWrapper:
    """Open a CSV file, or the one of the same name in a zip archive."""
    if path.suffix != ".zip":
        return path.open(encoding="utf-8", newline="")
    with zipfile.ZipFile(path) as archive:
        content = archive.read(path.stem)
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")


def _is_linked(row: Record, known: Mapping[str, Mapping[str, Record]]) -> bool:
    return (
        row["tailnum"] in known["planes"]
        and row["carrier"] in known["airlines"]
        and row["origin"] in known["airports"]
        and row["dest"] in known["airports"]
    )


def _draw(
    rows: Iterable[Record], limit: int | None, seed: int, name: Callable[[Record], str]
) -> list[Record]:
    """Sample rows by seed and sort them by their names."""
    drawn = rows if limit is None else heapq.nsmallest(limit, rows, key=lambda row: rank(seed, name(row)))
    return sorted(drawn, key=name)


def _name_flight(row: Record) -> str:
    return f"{_date(row)} {int(row['sched_dep_time']):04d} {row['carrier']} {row['flight']} {row['origin']}"


def _name_hour(row: Record) -> str:
    return f"{_date(row)} {int(row['hour']):02d} {row['origin']}"


def _date(row: Record) -> str:
    return f"{row['year']}-{int(row['month']):02d}-{int(row['day']):02d}"


def _pick(
    rows: Mapping[str, Record], keys: Iterable[str], columns: Sequence[tuple[str, Convert]]
) -> list[tuple[Cell, ...]]:
    return [convert_row(rows[key], columns) for key in sorted(keys)]


def convert_flight(row: Record) -> tuple[Cell, ...]:
    """Convert a CSV row of flights to the table's cells, without the flight's number."""
    return _date(row), *convert_row(row, FLIGHTS)


def convert_hour(row: Record) -> tuple[Cell, ...]:
    """Convert a CSV row of weather to the table's cells, without the hour's number."""
    return row["origin"], f"{_date(row)} {int(row['hour']):02d}:00", *convert_row(row, WEATHER)


def convert_row(row: Record, columns: Sequence[tuple[str, Convert]]) -> tuple[Cell, ...]:
    """Convert the given columns of a CSV row to cells of the database; `NA` becomes NULL."""
    return tuple(None if row[name] in {"NA", ""} else convert(row[name]) for name, convert in columns)
