"""The profile says what the cells of a column are, however the column was declared."""

import sqlite3
from contextlib import closing

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.look_alikes import find_look_alikes, fold
from tasks.databases.profile.measure import measure_columns
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
    "DATE month first": ("DATE", MONTH_FIRST, ("dates", "date", "%m/%d/%Y")),
    "DATE either way": ("DATE", ["1/2/2004", "3/4/2005"], ("dates, day or month first", "text", "")),
    "DATE ISO": ("DATE", ["2004-01-02", "2005-03-04"], ("dates", "date", "")),
    "DATE with 0000-00-00": ("DATE", ["2004-01-02", "0000-00-00"], ("dates", "date", "day")),
    "DATE with 9999-12-31": ("DATE", ["2004-01-02", "9999-12-31"], ("dates", "date", "day")),
    "DATE of two forms": ("DATE", ["2004-01-02", "3 May 2004"] * 5, ("dates and texts", "text", "")),
    "DATETIME at midnight": ("DATETIME", ["2004-01-02 00:00:00.000"], ("dates", "date", "day")),
    "DATETIME2": ("DATETIME2", ["2004-01-02 10:00:00"], ("dates with times", "date", "")),
    "timestamptz": ("timestamptz", ["2004-01-02 10:00:00"], ("dates with times", "date", "")),
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
    found = {one.column: (one.type, one.reading) for one in profiles}
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
