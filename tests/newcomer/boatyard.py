"""Create the legacy database of a boatyard, with irregular names and values.

    python -m tests.newcomer.boatyard yard.sqlite

Prefixes (`tbl_Vessel`), abbreviations (`dt_in`, `LOA_m`), reserved words (`order`, `group`), spaces, mixed
case, a digit and a hyphen (`Qty-2`), codes for words, dates as text, empty cells, a pure link table, a link
table with other columns, a lookup table, and an unused table.
"""

from __future__ import annotations

import random
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

SEED = 23
VESSELS, OWNERS, JOBS = 260, 190, 1400

SCHEMA = """
CREATE TABLE Owners (own_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, Town TEXT, mbr_since INTEGER,
    tel TEXT);
CREATE TABLE tbl_Vessel (VesselNo INTEGER PRIMARY KEY, "Vessel Name" TEXT NOT NULL, typ TEXT, LOA_m REAL,
    Yr_Built INTEGER, "Hull Mat." TEXT, OwnerRef INTEGER REFERENCES Owners (own_id));
CREATE TABLE lkpShed (code TEXT PRIMARY KEY, "Shed Name" TEXT NOT NULL, cap INTEGER, heated INTEGER);
CREATE TABLE "Job Orders" (JobNo INTEGER PRIMARY KEY,
    VesselNo INTEGER NOT NULL REFERENCES tbl_Vessel (VesselNo),
    shed TEXT REFERENCES lkpShed (code), dt_in TEXT NOT NULL, dt_out TEXT, "order" TEXT, EstCost REAL);
CREATE TABLE Suppliers (supp_id INTEGER PRIMARY KEY, "Supplier Name" TEXT NOT NULL, city TEXT,
    "Lead Days" INTEGER);
CREATE TABLE Parts (PartCode TEXT PRIMARY KEY, descr TEXT NOT NULL, "group" TEXT, UnitPrice REAL,
    stk INTEGER,
    supp_id INTEGER REFERENCES Suppliers (supp_id));
CREATE TABLE JobParts (JobNo INTEGER REFERENCES "Job Orders" (JobNo),
    PartCode TEXT REFERENCES Parts (PartCode),
    "Qty-2" INTEGER, PRIMARY KEY (JobNo, PartCode));
CREATE TABLE tblWrkr (wrkr_id INTEGER PRIMARY KEY, nm TEXT NOT NULL, trade TEXT, dt_start TEXT);
CREATE TABLE job_wrkr (JobNo INTEGER REFERENCES "Job Orders" (JobNo),
    wrkr_id INTEGER REFERENCES tblWrkr (wrkr_id),
    PRIMARY KEY (JobNo, wrkr_id));
CREATE TABLE zz_import_2019 (f1 TEXT, f2 TEXT, f3 TEXT);
"""

FIRST = """
Agnes Alasdair Anwen Barnaby Beatrix Callum Catrin Cedric Clementine Dafydd Delia Dougal Edith
Eluned Ewan Fergus Fiona Gareth Geraint Gwen Hamish Harriet Hester Idris Imogen Iona Isobel Jago
Jocelyn Keir Kirsty Lachlan Lowri Magnus Mairi Morwenna Muriel Neville Nuala Oswin Petra Ranald
Rhian Rory Rowena Selwyn Sorcha Tamsin Torquil Ursula Wilfred Winifred
"""
LAST = """
Abernethy Arbuthnot Bevan Bolitho Brathwaite Cadwallader Carrick Chenoweth Colquhoun Dalgleish
Drummond Fairweather Farquhar Gillespie Greenhalgh Haldane Hargreaves Inskip Jardine Kettlewell
Lanyon Lockhart MacAskill Maddocks Merriweather Nankivell Ogilvie Pascoe Penhaligon Pritchard
Ravenscroft Rosewarne Sinclair Strachan Tregenza Trelawny Urquhart Vaughan Wetherby Yelland
"""
TOWNS = (
    "Oban", "Tobermory", "Falmouth", "Fowey", "Conwy", "Barmouth", "Whitby", "Maldon", "Lymington",
    "Salcombe", "Stornoway", "Ullapool", "Tenby", "Brixham", "Kirkwall", "Dartmouth",
)  # fmt: skip
BEFORE = (
    "Arctic", "Autumn", "Bonny", "Bright", "Celtic", "Crimson", "Distant", "Early", "Gentle", "Golden",
    "Highland", "Little", "Lucky", "Merry", "Morning", "Northern", "Quiet", "Restless", "Royal", "Salty",
    "Silver", "Spirit of", "Tidal", "Western", "Wild",
)  # fmt: skip
AFTER = (
    "Albatross", "Breeze", "Curlew", "Dawn", "Dolphin", "Endeavour", "Fulmar", "Gannet", "Heather",
    "Kestrel", "Kittiwake", "Lass", "Mariner", "Petrel", "Rover", "Seal", "Selkie", "Star", "Swan",
    "Tern", "Venture", "Whimbrel",
)  # fmt: skip
TYPES = {
    "SLP": (7, 13),
    "KTC": (9, 16),
    "YWL": (9, 15),
    "MYT": (8, 22),
    "FSH": (6, 18),
    "RIB": (4, 9),
    "DGY": (3, 5),
}
HULLS = ("GRP", "WD", "STL", "ALU", "FC")
SHEDS = (
    ("A", "Top Shed", 4, 1), ("B", "Slipway Shed", 3, 0), ("C", "Old Ropewalk", 6, 0),
    ("D", "Paint Bay", 2, 1),
    ("E", "Engine Shop", 3, 1), ("Y", "Outer Yard", 30, 0),
)  # fmt: skip
ORDERS = {
    "AF": 300,
    "ENG": 1900,
    "RIG": 1400,
    "OSM": 4200,
    "KEEL": 3100,
    "SURV": 450,
    "ELEC": 900,
    "WNTR": 700,
}
"""Kinds of work, as the yard writes them, with approximate costs."""
TRADES = (
    "shipwright",
    "rigger",
    "marine engineer",
    "painter",
    "electrician",
    "sailmaker",
    "laminator",
    "crane driver",
)
FIRMS = (
    "Ardmore Chandlery", "Bosun & Daughters", "Clyde Marine Spares", "Cawsand Rope Works",
    "Dunmore Diesels", "Estuary Paints", "Fastnet Rigging", "Gweek Timber", "Humber Bearings",
    "Ionia Electrics", "Kyle Fastenings", "Lundy Sails", "Menai Pumps", "North Channel Anodes",
    "Orwell Stoves", "Polruan Glassfibre", "Rame Instruments", "Solent Winches", "Tamar Anchors",
    "Wexford Seacocks",
)  # fmt: skip
PARTS = {
    "PNT": ("antifouling", "topcoat enamel", "primer", "epoxy filler", "varnish", "boot-top tape"),
    "ENG": (
        "impeller",
        "alternator belt",
        "fuel filter",
        "oil filter",
        "injector",
        "thermostat",
        "engine mount",
    ),
    "RIG": ("shroud", "forestay", "turnbuckle", "halyard", "mainsheet block", "cleat", "clevis pin"),
    "HUL": ("anode", "seacock", "skin fitting", "stern gland", "cutless bearing", "rudder pintle"),
    "ELE": ("bilge pump", "battery", "navigation light", "fuse panel", "shore power lead", "depth sounder"),
    "FST": ("bronze bolt", "copper rivet", "silicon screw", "hose clip", "keel bolt"),
}
GRADES = ("small", "medium", "large", "heavy duty", "racing", "budget", "classic", "long life")
PRICES = {"PNT": 38, "ENG": 46, "RIG": 72, "HUL": 55, "ELE": 95, "FST": 9}


def make_boatyard(path: Path, seed: int = SEED) -> Path:
    """Write the database to a new file; the same seed gives the same rows. Returns the path."""
    draw = random.Random(seed)
    with sqlite3.connect(path) as database:
        database.executescript(SCHEMA)
        for table, rows in list_rows(draw):
            database.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(rows[0]))})', rows)
    database.close()
    return path


def list_rows(draw: random.Random) -> Iterator[tuple[str, Sequence[tuple[object, ...]]]]:
    """Yield each table with its rows, after the tables that its foreign keys refer to."""
    names = draw.sample([f"{first} {last}" for first in FIRST.split() for last in LAST.split()], OWNERS + 24)
    yield (
        "Owners",
        [
            (
                number,
                names[number],
                draw.choice(TOWNS) if draw.random() > 0.06 else None,
                draw.randint(1978, 2024) if draw.random() > 0.15 else None,
                f"01{draw.randint(200, 999)} {draw.randint(200000, 899999)}" if draw.random() > 0.3 else None,
            )
            for number in range(OWNERS)
        ],
    )
    boats = draw.sample([f"{before} {after}" for before in BEFORE for after in AFTER], VESSELS)
    yield "tbl_Vessel", [_make_vessel(draw, number + 1001, boat) for number, boat in enumerate(boats)]
    yield "lkpShed", SHEDS
    jobs = [_make_job(draw, 20001 + number) for number in range(JOBS)]
    yield "Job Orders", sorted(jobs, key=lambda job: str(job[3]))
    yield (
        "Suppliers",
        [
            (n, firm, draw.choice(TOWNS), draw.choice([2, 3, 5, 7, 10, 14, 21, None]))
            for n, firm in enumerate(FIRMS, 1)
        ],
    )
    parts = list(_list_parts(draw))
    yield "Parts", parts
    yield (
        "JobParts",
        [
            (job[0], part[0], draw.choice([1, 1, 1, 2, 2, 3, 4, 6, 12]))
            for job in jobs
            for part in draw.sample(parts, draw.randint(0, 6))
        ],
    )
    yield (
        "tblWrkr",
        [
            (number, names[OWNERS + number], TRADES[number % len(TRADES)], _draw_day(draw, 2003, 2021))
            for number in range(24)
        ],
    )
    yield (
        "job_wrkr",
        [
            (job[0], worker)
            for job in jobs
            for worker in sorted(draw.sample(range(24), draw.choice([1, 1, 2, 3])))
        ],
    )
    yield "zz_import_2019", [(f"row {n}", None, draw.choice(["x", ""])) for n in range(40)]


def _make_vessel(draw: random.Random, number: int, name: str) -> tuple[object, ...]:
    kind = draw.choice(list(TYPES))
    low, high = TYPES[kind]
    return (
        number,
        name,
        kind if draw.random() > 0.04 else None,
        round(draw.uniform(low, high), 1),
        draw.randint(1934, 2022) if draw.random() > 0.1 else None,
        draw.choices(HULLS, [55, 20, 12, 9, 4])[0],
        draw.randrange(OWNERS),
    )


def _make_job(draw: random.Random, number: int) -> tuple[object, ...]:
    start = _draw_day(draw, 2019, 2024)
    kind, cost = draw.choice(list(ORDERS.items()))
    days = timedelta(days=draw.randint(1, 40))
    done = (date.fromisoformat(start) + days).isoformat() if draw.random() > 0.08 else None
    spent = round(cost * draw.uniform(0.5, 1.9), -1) if draw.random() > 0.05 else None
    return number, draw.randint(1001, 1000 + VESSELS), draw.choice("AABBCDEYYY"), start, done, kind, spent


def _list_parts(draw: random.Random) -> Iterator[tuple[object, ...]]:
    number = 100
    for group, things in PARTS.items():
        for thing in things:
            for grade in draw.sample(GRADES, draw.randint(2, 5)):
                number += draw.randint(1, 9)
                price = round(PRICES[group] * draw.uniform(0.3, 3), 2)
                stock = draw.randint(0, 60) if draw.random() > 0.05 else None
                yield (
                    f"{group}-{number}",
                    f"{thing}, {grade}",
                    group,
                    price,
                    stock,
                    draw.randint(1, len(FIRMS)),
                )


def _draw_day(draw: random.Random, first: int, last: int) -> str:
    start = date(first, 1, 1)
    return (start + timedelta(days=draw.randrange((date(last + 1, 1, 1) - start).days))).isoformat()


if __name__ == "__main__":
    make_boatyard(Path(sys.argv[1]))
