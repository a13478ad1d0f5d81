"""A shipyard's database with every kind of fault observed in real databases, on three engines."""

import datetime as dt
import sqlite3
from contextlib import closing

from tasks.databases.entry import DatabaseEntry

SHIPS = 84
PORTS = (
    "Anker", "anker", "Two  Rivers", "Two Rivers", "Zo\u00eb", "Zoe\u0308", "Gull", "Heron", "Ibis", "Knot ",
    "Lark", "Merlin",
)  # fmt: skip
FLAGS = ("red", "white", "blue")
MONTHS = ("January", "Feb", "March", "Apr", "May", "June", "Jul", "August", "Sept", "Oct", "November", "Dec")


def list_ports():
    """List ports: look-alike names, month-first dates with a placeholder, texts for missing values."""
    for number, name in enumerate(PORTS, start=1):
        opened = "12/31/9999" if number == 3 else f"{number}/{number + 12}/19{50 + number}"
        depth = ("", "N/A")[number % 2] if number in (4, 9) else number * 2.5
        yield number, name, f"Coast {number % 3}", opened, depth, f"00000000-0000-4000-8000-{number:012}"


def list_ships():
    """List ships, each as a mapping from column to SQLite cell."""
    for number in range(1, SHIPS + 1):
        day = dt.date(1990, 1, 1) + dt.timedelta(days=number * 37)
        clock = f"{number % 24}:{number % 60:02}"
        yield {
            "ship_id": number,
            "name": f"Ship {number}",
            "isbn": f"0{number * 98_765_431 % 10**12:012}",
            "price": float(number * 5),
            "launched": day.isoformat(),
            "docked": f"{day} 00:00:00.000",
            "surveyed": f"{day} {number % 24:02}:30:00.0000000",
            "logged": f"{day:%d/%m/%Y} {clock}" if number != 5 else "n/a",
            "sailed": f"{MONTHS[day.month - 1]} {day.day}, {day.year}",
            "paid": f"{day:%d.%m.%Y}" if number % 40 else "unknown",
            "checked": "0000-00-00" if number % 9 == 0 else "9999-12-31" if number == 11 else day.isoformat(),
            "either": f"{number % 12 + 1}/{number % 11 + 1}/2004",
            "tons": "heavy" if number % 4 == 0 else number * 1.5,
            "crew": "about 9" if number == 13 else number % 17,
            "rating": number % 5 + (0.5 if number % 7 == 0 else 0),
            "flag": FLAGS[number % 3],
            "remark": f"Ship {number} was seen near the coast. " * 5,
            "meta": f'{{"a": {number}}}',
            "shape": f"POINT({number} 2)",
            "token": f"10000000-0000-4000-8000-{number:012}",
            "photo": b"\x00\xff" if number % 2 else None,
            "empty": (None, "", "n/a")[number % 3],
            "port_id": number % len(PORTS) + 1,
            "owner_id": number,
        }  # fmt: skip


SQLITE = """
CREATE TABLE ports (
    port_id INTEGER PRIMARY KEY, name TEXT, coast STRING, opened DATE, depth NUMBER, port_uuid UUID);
CREATE TABLE ships (
    ship_id INTEGER PRIMARY KEY, name STRING, isbn TEXT, price REAL, launched TEXT, docked DATETIME,
    surveyed DATETIME2, logged VARCHAR(20), sailed TEXT, paid DATE, checked DATE, either DATE, tons REAL,
    crew INTEGER, rating INTEGER, flag TEXT, remark MEMO, meta JSON, shape TEXT, token UNIQUEIDENTIFIER,
    photo IMAGE, empty REAL, port_id INTEGER REFERENCES ports (port_id),
    owner_id INTEGER REFERENCES owners (owner_id));
CREATE TABLE broken (broken_id INTEGER PRIMARY KEY, label TEXT);
CREATE VIRTUAL TABLE notes USING fts5(body);
INSERT INTO notes VALUES ('A note'), ('Another note');
INSERT INTO broken VALUES (1, 'whole'), (2, CAST(x'ff6f' AS TEXT)), (3, 'Fern'), (4, 'Ash');
"""
POSTGRES = f"""
CREATE TABLE ports (
    port_id INT PRIMARY KEY, name TEXT, coast VARCHAR(20), opened TEXT, depth NUMERIC, port_uuid UUID);
CREATE TYPE colour AS ENUM ('red', 'white', 'blue');
CREATE SCHEMA hr;
CREATE TABLE hr.owners (owner_id INT PRIMARY KEY);
INSERT INTO hr.owners SELECT generate_series(1, {SHIPS});
CREATE TABLE ships (
    ship_id INT PRIMARY KEY, name TEXT, isbn TEXT, price DOUBLE PRECISION, launched TEXT, docked TIMESTAMP,
    surveyed TIMESTAMPTZ, logged VARCHAR(20), sailed TEXT, paid TEXT, checked DATE, either TEXT, tons NUMERIC,
    crew INT, rating REAL, flag colour, remark TEXT, meta JSONB, shape POINT, token UUID, photo BYTEA,
    empty REAL, port_id INT REFERENCES ports (port_id), owner_id INT REFERENCES hr.owners (owner_id),
    valid_to DATE, built DATE);
CREATE TABLE voyages (voyage_id INT, paid_on DATE, fare NUMERIC, PRIMARY KEY (voyage_id, paid_on))
    PARTITION BY RANGE (paid_on);
CREATE TABLE voyages_2024 PARTITION OF voyages FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO voyages SELECT n, date '2024-01-01' + n, n * 1.5 FROM generate_series(1, 30) n;
"""
MARIADB = """
CREATE TABLE ports (
    port_id INT PRIMARY KEY, name VARCHAR(40), coast VARCHAR(20), opened VARCHAR(20), depth DOUBLE,
    port_uuid UUID);
CREATE TABLE ships (
    ship_id INT PRIMARY KEY, name VARCHAR(40), isbn VARCHAR(20), price DOUBLE, launched VARCHAR(20),
    docked DATETIME, surveyed DATETIME, logged VARCHAR(20), sailed VARCHAR(20), paid VARCHAR(20),
    checked DATE, either VARCHAR(20), tons DOUBLE, crew INT, rating DOUBLE, flag ENUM('red', 'white', 'blue'),
    remark TEXT, meta JSON, shape POINT, token UUID, photo BLOB, empty DOUBLE,
    port_id INT REFERENCES ports (port_id), owner_id INT);
"""


def make_sqlite(path):
    """Write the database as one SQLite file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SQLITE)
        connection.executemany("INSERT INTO ports VALUES (?, ?, ?, ?, ?, ?)", list_ports())
        ships = list(list_ships())
        marks = ", ".join(f":{name}" for name in ships[0])
        connection.executemany(f"INSERT INTO ships VALUES ({marks})", ships)
        connection.commit()
    return DatabaseEntry(name="shipyard", file=path)


def list_plants(columns):
    """List plants, each with a name, one of three coasts, and a cell of each column."""
    return [
        (n, f"Plant {n}", ("North", "South", "East")[n % 3], *cells)
        for n, cells in enumerate(zip(*columns, strict=True))
    ]


def make_plants(path, columns):
    """Write plants with columns c0, c1, ... as one SQLite file. columns: (declared type, cells)."""
    with closing(sqlite3.connect(path)) as connection:
        declared = ", ".join(f"c{n} {kind}" for n, (kind, _) in enumerate(columns))
        connection.execute(
            f"CREATE TABLE plants (plant_id INTEGER PRIMARY KEY, name TEXT, coast TEXT, {declared})"
        )
        marks = ", ".join("?" * (3 + len(columns)))
        rows = list_plants([cells for _, cells in columns])
        connection.executemany(f"INSERT INTO plants VALUES ({marks})", rows)
        connection.commit()
    return DatabaseEntry(name="plants", file=path)


def make_server(place):
    """Write the database to a server; typed columns have NULL where SQLite has a text."""
    server = place.kind
    script = POSTGRES if server == "postgresql" else MARIADB
    place.run(*(statement for statement in script.split(";\n") if statement.strip()))
    ports = [tuple(_number(cell) if n == 4 else cell for n, cell in enumerate(row)) for row in list_ports()]
    place.load("ports", ports)
    rows = []
    for ship in list_ships():
        number = ship["ship_id"]
        row = {**ship, "tons": _number(ship["tons"]), "crew": _number(ship["crew"]), "empty": None}
        row["surveyed"] = row["surveyed"][:19]
        row["checked"] = "9999-12-31" if number % 9 == 0 else row["checked"]
        if server == "postgresql":
            row["shape"] = f"({number}, 2)"
            row["tons"] = "NaN" if number % 20 == 0 else row["tons"]
            row["valid_to"] = "infinity" if number == 3 else row["launched"]
            row["built"] = "0044-03-15 BC" if number == 4 else row["launched"]
        else:
            row["shape"] = None
        rows.append(tuple(row.values()))
    place.load("ships", rows)
    place.grant()
    return place.entry


def _number(cell):
    return None if isinstance(cell, str) else cell
