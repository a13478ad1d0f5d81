"""Tests that the profile determines a column's content from its cells, regardless of the declaration."""

import sqlite3
from contextlib import closing

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.look_alikes import find_look_alikes, fold
from tasks.databases.profile.measure import measure_columns
from tasks.databases.profile.profiling import list_losses, name_unread, profile_columns
from tasks.databases.reflection import list_unread, reflect
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place

UUIDS = [f"00000000-0000-4000-8000-{n:012}" for n in range(20)]
MONTH_FIRST = [f"{n % 12 + 1}/{n + 5}/2004" for n in range(20)]
CASES = {
    # declared type, cells -> kind, type, reading
    "REAL numbers": ("REAL", [float(n) for n in range(20)], ("numbers", "real", "")),
    "REAL with texts for none": ("REAL", [1.5, "", "N/A", 2.5] * 5, ("numbers", "real", "number")),
    "INTEGER with few texts": ("INTEGER", [*range(30), "about 3"], ("numbers", "integer", "number")),
    "INTEGER with many texts": ("INTEGER", [*range(10), *"abc"], ("numbers and texts", "text", "")),
    "REAL with an infinity": ("REAL", [float("inf"), *range(30)], ("numbers", "real", "number")),
    "REAL with many infinities": ("REAL", [float("inf"), float("-inf"), 1.5], ("numbers", "other", "")),
    "no type, an infinity": ("", [float("inf"), *range(30)], ("numbers", "integer", "number")),
    "DATE month first": ("DATE", MONTH_FIRST, ("dates", "date", "%m/%d/%Y")),
    "DATE either way": ("DATE", ["1/2/2004", "3/4/2005"], ("dates, day or month first", "text", "")),
    "DATE ISO": ("DATE", ["2004-01-02", "2005-03-04"], ("dates", "date", "")),
    "DATE with 0000-00-00": ("DATE", ["2004-01-02", "0000-00-00"], ("dates", "date", "day")),
    "DATE with 9999-12-31": ("DATE", ["2004-01-02", "9999-12-31"], ("dates", "date", "day")),
    "DATE of two forms": ("DATE", ["2004-01-02", "3 May 2004"] * 5, ("dates and texts", "text", "")),
    "DATETIME at midnight": ("DATETIME", ["2004-01-02 00:00:00.000"], ("dates", "date", "day")),
    "DATETIME2": ("DATETIME2", ["2004-01-02 10:00:00"], ("dates with times", "date", "")),
    "timestamptz": ("timestamptz", ["2004-01-02 10:00:00"], ("dates with times", "date", "")),
    "TEXT day first with times": (
        "TEXT",
        ["17/07/1996 10:30", "3/8/1996 9:15:30"],
        ("dates with times", "date", "%d/%m/%Y %H:%M"),
    ),
    "TEXT day first at midnight": (
        "TEXT",
        ["17/07/1996 00:00", "3/8/1996 00:00"],
        ("dates", "date", "%d/%m/%Y 00:00"),
    ),
    "TEXT day first with 31/12/9999": ("TEXT", ["17/07/1996", "31/12/9999"], ("dates", "date", "%d/%m/%Y")),
    "DATETIME2 of seven places": ("DATETIME2", ["2004-01-02 00:00:00.0000000"], ("dates", "date", "day")),
    "TEXT with ISO dates": ("TEXT", ["2004-01-02", "2005-03-04"], ("dates", "date", "")),
    "TEXT with months": ("TEXT", ["May 3, 2004", "June 13, 2005"], ("dates", "date", "%b %d, %Y")),
    "STRING": ("STRING", ["Ann", "Bob"], ("names", "text", "")),
    "MEMO": ("MEMO", ["x" * 200, "y" * 300], ("free text", "text", "")),
    "TEXT digits": ("TEXT", ["9785811770698", "0000000123"], ("digits", "text", "")),
    "TEXT categories": ("TEXT", ["red", "blue"] * 9, ("categories", "text", "")),
    "TEXT times": ("TEXT", ["05:17", "23:59"], ("times of day", "text", "")),
    "UUID": ("UUID", UUIDS, ("identifiers", "text", "")),
    "JSON": ("JSON", ['{"a": 1}', "[2]"], ("JSON", "text", "")),
    "TEXT geometry": ("TEXT", ["POINT(1 2)", "POINT(3 4)"], ("geometry", "text", "")),
    "no type, numbers": ("", [1, 2.5], ("numbers", "real", "")),
    "no value": ("REAL", [None, "", "n/a"], ("empty", "real", "")),
}


def profile(tmp_path, declared, cells, overrides=None):
    path = tmp_path / "one.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE one (cell {declared})")
        connection.executemany("INSERT INTO one VALUES (?)", [(cell,) for cell in cells])
        connection.commit()
    entry = DatabaseEntry(name="one", file=path)
    (found,) = measure_columns(entry, reflect(entry), ColumnRules(), overrides or {})
    return found


@pytest.mark.parametrize("case", CASES)
def test_kinds_by_hand(tmp_path, case):
    declared, cells, due = CASES[case]
    found = profile(tmp_path, declared, cells)
    assert (found.kind, found.type, found.reading) == due, found.why


def test_misfits_are_counted_and_shown(tmp_path):
    found = profile(tmp_path, "INTEGER", [*range(10), "a", "b", "c", "d", ""])
    assert (found.misfits, found.odd) == (4, ("a", "b", "c"))
    assert found.why == "4 of 14 values are not numbers: not ranked, bounded or averaged ('a', 'b', 'c')"


def test_a_person_decides_where_the_cells_do_not(tmp_path):
    cells = ["1/2/2004", "3/4/2005"]
    assert profile(tmp_path, "DATE", cells, {"one.cell": "%d/%m/%Y"}).reading == "%d/%m/%Y"


@pytest.mark.parametrize(
    "names",
    [
        ("Anker", "anker"), ("Anker", "Anker "), ("Zo\u00eb", "Zoe\u0308"), ("Blue Bay", "Blue\u00a0Bay"),
        ("Two  Rivers", "Two Rivers"), ("Fast\u200bBoat", "FastBoat"), ("O\u2019Neil", "O'Neil"),
        ("Spider-Man", "Spider\u2013Man"), ("St. Ives", "St Ives"), ("STRASSE", "stra\u00dfe"),
    ],
)  # fmt: skip
def test_look_alikes(names):
    assert find_look_alikes([*names, "Gull", None, 3]) == frozenset(names)


@pytest.mark.parametrize("names", [("Bern", "Berne"), ("!!!", "???"), ("A 1", "A 2"), ("\u00e9", "e")])
def test_what_a_reader_tells_apart(names):
    assert len({fold(name) for name in names}) == 2


def test_shadow_tables_are_left_out_and_named(tmp_path):
    path = tmp_path / "notes.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE pages (page_id INTEGER PRIMARY KEY, title TEXT)")
        connection.execute("CREATE VIRTUAL TABLE notes USING fts5(body)")
        connection.execute("CREATE TABLE links (page_id INTEGER REFERENCES gone (page_id))")
        connection.commit()
    assert {column.table for column in reflect(path)} == {"pages", "notes", "links"}
    unread = {part.what: part.reason for part in list_unread(path)}
    assert unread["table notes_idx is"] == "internal_table"
    assert unread["foreign key links.page_id -> gone is"] == "foreign_key"
    assert len(unread) == 6


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place("postgresql") as place:
        yield place


def test_one_odd_date_costs_its_column_alone(server):
    from tasks.databases.content import read_content

    server.run(
        "CREATE TABLE loans (loan_id int PRIMARY KEY, valid_to date, signed timestamp, due date, "
        "rate numeric)",
        "INSERT INTO loans SELECT i, CASE i WHEN 3 THEN 'infinity' ELSE date '2020-01-01' + i END, "
        "CASE i WHEN 4 THEN '0044-03-15 BC' ELSE timestamp '2019-01-01' + i * interval '1 day' END, "
        "date '2020-01-01' + i, CASE i WHEN 5 THEN 'NaN'::numeric ELSE i END FROM generate_series(1, 30) i",
    )
    server.grant()
    assert read_content(server.entry).tables["loans"].rows == 30
    profiles = measure_columns(server.entry, reflect(server.entry), ColumnRules(), {})
    found = {
        listed_profile.column: (listed_profile.type, listed_profile.reading) for listed_profile in profiles
    }
    assert found == {
        "loan_id": ("integer", ""), "valid_to": ("text", ""), "signed": ("text", ""), "due": ("date", ""),
        "rate": ("real", "number"),
    }  # fmt: skip


def test_schemas_partitions_and_keys_that_are_not_read_are_named(server):
    server.run(
        "CREATE SCHEMA hr",
        "CREATE TABLE hr.people (person_id int PRIMARY KEY)",
        "CREATE TABLE people (paid date NOT NULL, person_id int REFERENCES hr.people) "
        "PARTITION BY RANGE (paid)",
        "CREATE TABLE people_2024 PARTITION OF people FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
        "CREATE TABLE base (n int)",
        "CREATE TABLE derived (m int) INHERITS (base)",
    )
    server.grant()
    columns = reflect(server.entry)
    assert {column.table for column in columns} == {"people", "base"}
    assert not [column for column in columns if column.references]
    unread = {part.what: part for part in list_unread(server.entry)}
    assert set(unread) == {
        "table derived is", "table people_2024 is", "schema hr is",
        "foreign key people.person_id -> hr.people is",
    }  # fmt: skip
    assert "search_path%3Dpublic,hr" in unread["schema hr is"].hint


TEXTS = {
    # cells of a server's text column -> kind, type, reading
    "ISO": (["2004-01-02", "2005-03-04"], ("dates", "date", "")),
    "ISO with texts for none": (["2004-01-02", "N/A", "2005-03-04"], ("dates", "date", "%Y-%m-%d 00:00")),
    "ISO with times and a T": (["2004-01-02T10:00:00"], ("dates with times", "date", "%Y-%m-%d %H:%M")),
    "month first": (["12/31/2004", "1/2/2005", None], ("dates", "date", "%m/%d/%Y")),
    "day first with times": (["31/12/2004 10:30"], ("dates with times", "date", "%d/%m/%Y %H:%M")),
    "months": (["May 3, 2004", "June 13, 2005"], ("dates", "date", "%b %d, %Y")),
    "either way": (["1/2/2004", "3/4/2005"], ("dates, day or month first", "text", "")),
    "names": (["Ann", "Bob"], ("names", "text", "")),
    "no such day": (["2004-02-30", "2004-02-31"], ("digits", "text", "")),
}


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_texts_on_servers(kind, monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place(kind) as place:
        for number, (cells, _) in enumerate(TEXTS.values()):
            place.run(f"CREATE TABLE t{number} (c VARCHAR(40))")
            place.load(f"t{number}", [(cell,) for cell in cells])
        place.grant()
        profiles = measure_columns(place.entry, reflect(place.entry), ColumnRules(), {})
    found = [
        (listed_profile.kind, listed_profile.type, listed_profile.reading)
        for listed_profile in sorted(profiles, key=lambda profile: profile.table)
    ]
    assert dict(zip(TEXTS, found, strict=True)) == {name: due for name, (_, due) in TEXTS.items()}


def make_unreadable(path):
    """Write a table with damaged pages, an intact table, and a virtual table of a missing module."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE sound (name TEXT)")
        connection.execute("INSERT INTO sound VALUES ('Ann')")
        connection.execute("CREATE TABLE damaged (name TEXT, price REAL)")
        connection.executemany("INSERT INTO damaged VALUES (?, 1.5)", [("x" * 500,) for _ in range(200)])
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'damaged'").fetchone()
        connection.commit()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        gone = "CREATE VIRTUAL TABLE gone USING nowhere(a)"
        connection.execute("INSERT INTO sqlite_master VALUES ('table', 'gone', 'gone', 0, ?)", [gone])
        connection.commit()
    return path


def test_a_damaged_table_is_lost_by_name_and_the_others_are_read(tmp_path):
    entry = DatabaseEntry(name="some", file=make_unreadable(tmp_path / "some.sqlite"))
    profiles = profile_columns(entry, ColumnRules())
    assert {listed_profile.id: listed_profile.kind for listed_profile in profiles} == {
        "damaged.name": "unreadable", "damaged.price": "unreadable", "sound.name": "names",
    }  # fmt: skip
    assert [drop.detail for drop in list_losses(profiles)] == [
        f"damaged.{name}: database disk image is malformed" for name in ("name", "price")
    ]
    (unread,) = name_unread(entry)
    assert (unread.reason, unread.detail) == (
        "unreadable_table", "table gone is not read: no such module: nowhere",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_table_that_may_not_be_read_is_lost_by_name(kind, monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place(kind) as place:
        place.run(
            "CREATE TABLE sound (name VARCHAR(20))",
            "INSERT INTO sound VALUES ('Ann')",
            "CREATE TABLE secret (name VARCHAR(20), price INT)",
            "INSERT INTO secret VALUES ('Bob', 3)",
        )
        place.grant()
        if kind == "postgresql":
            place.run(f"REVOKE SELECT ON secret FROM {place.reader}")
        else:
            # An account with rights to one column sees the table, but cannot read its definition.
            place.run(
                f"REVOKE SELECT ON {place.name}.* FROM {place.reader}",
                f"GRANT SELECT ON {place.name}.sound TO {place.reader}",
                f"GRANT SELECT (name) ON {place.name}.secret TO {place.reader}",
            )
        profiles = profile_columns(place.entry, ColumnRules())
        lost = [*list_losses(profiles), *name_unread(place.entry)]
    kinds = {listed_profile.id: listed_profile.kind for listed_profile in profiles}
    assert kinds.pop("sound.name") == "names"
    assert len(lost) == (2 if kind == "postgresql" else 1)
    assert {drop.reason for drop in lost} == {"unreadable" if kind == "postgresql" else "unreadable_table"}
    assert all("secret" in drop.detail and "denied" in drop.detail for drop in lost)
