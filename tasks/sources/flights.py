"""Import the flights from New York in 2013, with airlines, airports, planes and weather."""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import Field

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.settings import Settings
from tasks.sources.tables import Cell, write_database

Record = Mapping[str, str]
Convert = Callable[[str], Cell]
Columns = Sequence[tuple[str, Convert]]
ConvertRow = Callable[[Record, Columns], tuple[Cell, ...]]
MISSING = frozenset(["NA", ""])


class Flights(Settings):
    """`sources.flights` in params.yaml."""

    month: int | None = Field(default=None, ge=1, le=12)
    """The month of the flights and the weather; null imports the whole year."""


SCHEMA = (
    "CREATE TABLE airlines (carrier_code TEXT PRIMARY KEY NOT NULL, airline_name TEXT NOT NULL)",
    """CREATE TABLE airports (
        airport_code TEXT PRIMARY KEY NOT NULL, airport_name TEXT, latitude_degrees REAL,
        longitude_degrees REAL, altitude_feet INTEGER, time_zone TEXT)""",
    """CREATE TABLE planes (
        tail_number TEXT PRIMARY KEY NOT NULL, manufacture_year INTEGER, plane_type TEXT,
        manufacturer TEXT, model TEXT, number_of_engines INTEGER, seats INTEGER, engine_type TEXT)""",
    """CREATE TABLE flights (
        flight_id INTEGER PRIMARY KEY, flight_date DATE NOT NULL, flight_number INTEGER NOT NULL,
        carrier_code TEXT NOT NULL REFERENCES airlines (carrier_code),
        tail_number TEXT REFERENCES planes (tail_number),
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
INDEXES = (
    *(
        f"CREATE INDEX flights_{column} ON flights ({column})"
        for column in (
            "flight_date",
            "flight_number",
            "carrier_code",
            "tail_number",
            "origin_airport",
            "destination_airport",
        )
    ),
    "CREATE INDEX weather_airport_code ON weather (airport_code)",
    "CREATE INDEX weather_observation_time ON weather (observation_time)",
)
ONE_MANUFACTURER = {
    "AIRBUS INDUSTRIE": "AIRBUS",
    "MCDONNELL DOUGLAS AIRCRAFT CO": "MCDONNELL DOUGLAS",
    "MCDONNELL DOUGLAS CORPORATION": "MCDONNELL DOUGLAS",
}
"""Variant name of a manufacturer -> the name to use, so that a count per manufacturer includes all planes."""
FEWEST_SEATS = 50
"""Minimum number of seats for a registered plane to count as an airline's plane.

The register describes the plane that has the tail number today. If this plane has fewer seats, the airline
flew a different plane with the same tail number in 2013.
"""
# The weather file contains a wind of 1,048 miles an hour, which is an error.
FASTEST_WIND_MPH = 200


def _read_clock(text: str) -> str:
    """Convert a time of day to HH:MM: 517 to 05:17, and 2400 to 00:00."""
    return f"{int(text) // 100 % 24:02d}:{int(text) % 100:02d}"


def _read_name(text: str) -> str:
    return text.replace("\\", "")


AIRLINES: Columns = (("carrier", str), ("name", _read_name))
AIRPORTS: Columns = (
    ("faa", str),
    ("name", _read_name),
    ("lat", float),
    ("lon", float),
    ("alt", int),
    ("tzone", str),
)
PLANES: Columns = (
    ("tailnum", str),
    ("year", int),
    ("type", str),
    ("manufacturer", lambda name: ONE_MANUFACTURER.get(name, name)),
    ("model", str),
    ("engines", int),
    ("seats", int),
    ("engine", str),
)
FLIGHTS: Columns = (
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
WEATHER: Columns = (
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
    """Write the flights database: all flights and weather rows of a month, and the rows they reference.

    Inputs are the package's CSV files. `NA` becomes NULL. A plane or an airport that the package does not
    describe gets a row with only its key, so that no flight is missing from a count. The counts contain the
    numbers of rows and values that were left out or set to NULL, by reason. Raises BadInput if a file is not
    the expected file.
    """
    known = {
        "airlines": {row["carrier"]: row for row in _read(airlines, AIRLINES)},
        "airports": {row["faa"]: row for row in _read(airports, AIRPORTS)},
        "planes": {row["tailnum"]: row for row in _read(planes, PLANES)},
    }
    left_out: Counter[str] = Counter()
    rows_in = sum(len(rows) for rows in known.values())
    flown, felt = list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    carriers, ports, origins, tails = set[str](), set[str](), set[str](), set[str]()
    for row in _read(flights, FLIGHTS, "year", "month", "day"):
        rows_in += 1
        if params.month is not None and int(row["month"]) != params.month:
            left_out["flight of another month"] += 1
            continue
        flown.append(convert_flight(row))
        carriers.add(row["carrier"])
        ports |= {row["origin"], row["dest"]}
        origins.add(row["origin"])
        if row["tailnum"] not in MISSING:
            tails.add(row["tailnum"])
    times = Counter[tuple[Cell, ...]]()
    for row in _read(weather, WEATHER, "origin", "year", "month", "day", "hour"):
        rows_in += 1
        if row["origin"] not in origins or params.month not in (None, int(row["month"])):
            left_out["weather of another month or airport"] += 1
            continue
        felt.append(convert_hour(row))
        times[felt[-1][:2]] += 1
        left_out["NULL: wind over 200 miles an hour"] += _is_gale(row)
    # When daylight saving time ends, one hour occurs twice, so a question about that hour is ambiguous.
    once = [hour for hour in felt if times[hour[:2]] == 1]
    left_out["weather of an hour that came twice"] = len(felt) - len(once)
    left_out["NULL: small plane under an airliner's tail number"] = sum(
        _is_small(known["planes"][tail]) for tail in tails & set(known["planes"])
    )
    tables: dict[str, list[tuple[Cell, ...]]] = {
        "airlines": _pick(known["airlines"], carriers, AIRLINES, convert_row),
        "airports": _pick(known["airports"], ports, AIRPORTS, convert_row),
        "planes": _pick(known["planes"], tails, PLANES, convert_plane),
        "flights": [(number, *cells) for number, cells in enumerate(sorted(flown, key=_order), start=1)],
        "weather": [(number, *cells) for number, cells in enumerate(sorted(once, key=_order), start=1)],
    }
    for table in ("airlines", "airports", "planes"):
        used = {str(row[0]) for row in tables[table]} & set(known[table])
        left_out[f"{table} without a flight"] = len(known[table]) - len(used)
        left_out[f"only a key: {table} that are not described"] = len(tables[table]) - len(used)
    rows_out = write_database(out, SCHEMA, tables, INDEXES)
    return Counts(rows_in, rows_out, {reason: count for reason, count in sorted(left_out.items()) if count})


def _read(path: Path, columns: Columns, *more: str) -> Iterator[Record]:
    """Yield the rows of a CSV file. Raises BadInput if a required column is missing."""
    try:
        text = open_text(path)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise BadInput(path, f"cannot be read: {error}", hint="run the stage sources.packages") from error
    with text:
        rows = csv.DictReader(text)
        needed = [name for name, _ in columns] + list(more)
        missing = [name for name in needed if name not in (rows.fieldnames or ())]
        if missing:
            raise BadInput(path, f"has no column {', '.join(missing)}", hint="run the stage sources.packages")
        yield from rows


def open_text(path: Path) -> io.TextIOWrapper:
    """Open a CSV file, or the CSV file inside a zip archive: `a.csv` in `a.csv.zip`."""
    if path.suffix != ".zip":
        return path.open(encoding="utf-8", newline="")
    with zipfile.ZipFile(path) as archive:
        content = archive.read(path.stem)
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")


def _is_small(row: Record) -> bool:
    return int(row["seats"]) < FEWEST_SEATS or row["engine"] == "Reciprocating"


def _is_gale(row: Record) -> bool:
    return row["wind_speed"] not in MISSING and float(row["wind_speed"]) > FASTEST_WIND_MPH


def _order(cells: tuple[Cell, ...]) -> tuple[str, ...]:
    """Return a row's sort key: the first six cells, which start with the date or the airport."""
    return tuple(map(str, cells[:6]))


def _date(row: Record) -> str:
    return f"{row['year']}-{int(row['month']):02d}-{int(row['day']):02d}"


def _pick(
    rows: Mapping[str, Record], keys: Iterable[str], columns: Columns, convert: ConvertRow
) -> list[tuple[Cell, ...]]:
    """Convert the rows with these keys; a key without a row becomes a row with NULL in the other columns."""
    blank = (None,) * (len(columns) - 1)
    return [convert(rows[key], columns) if key in rows else (key, *blank) for key in sorted(keys)]


def convert_flight(row: Record) -> tuple[Cell, ...]:
    """Convert a row of the flights file to the cells of the flights table, without the flight's id."""
    return _date(row), *convert_row(row, FLIGHTS)


def convert_hour(row: Record) -> tuple[Cell, ...]:
    """Convert a row of the weather file to the cells of the weather table, without the row's id."""
    cells = convert_row({**row, "wind_speed": "NA"} if _is_gale(row) else row, WEATHER)
    return row["origin"], f"{_date(row)} {int(row['hour']):02d}:00", *cells


def convert_plane(row: Record, columns: Columns) -> tuple[Cell, ...]:
    """Convert a row of the planes file to cells; keep only the tail number if the plane is too small."""
    cells = convert_row(row, columns)
    return (cells[0], *(None,) * (len(cells) - 1)) if _is_small(row) else cells


def convert_row(row: Record, columns: Columns) -> tuple[Cell, ...]:
    """Convert the given columns of a CSV row to cells of the database; `NA` becomes NULL."""
    return tuple([_convert(row[name], convert) for name, convert in columns])


@cache
def _convert(text: str, convert: Convert) -> Cell:
    """Convert a cell. Results are cached: a file of 300,000 lines has only a few thousand distinct cells."""
    return None if text in MISSING else convert(text)
