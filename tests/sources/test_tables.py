import sqlite3

import pytest

from tasks.sources.tables import write_database

SCHEMA = (
    "CREATE TABLE towns (name TEXT PRIMARY KEY NOT NULL)",
    "CREATE TABLE clinics (beds INTEGER, town TEXT REFERENCES towns (name))",
)
TOWNS = [("Ayr",), ("Bath",)]


def write(path, clinics):
    return write_database(path, SCHEMA, {"towns": TOWNS, "clinics": clinics})


def test_rows_are_written_in_order_and_null_comes_first(tmp_path):
    clinics = [(3, "Bath"), (3, None), (None, "Bath"), (3, "Ayr"), (None, "Ayr")]
    assert write(tmp_path / "one.sqlite", clinics) == 7
    with sqlite3.connect(tmp_path / "one.sqlite") as connection:
        found = connection.execute("SELECT * FROM clinics ORDER BY rowid").fetchall()
    assert found == [(None, "Ayr"), (None, "Bath"), (3, None), (3, "Ayr"), (3, "Bath")]


@pytest.mark.parametrize("clinics", [[(3, "Bath"), (2, "Ayr")], [(3, None), (None, "Bath")]])
def test_the_order_of_the_rows_is_not_in_the_bytes(tmp_path, clinics):
    write(tmp_path / "one.sqlite", clinics)
    write(tmp_path / "other.sqlite", reversed(clinics))
    assert (tmp_path / "one.sqlite").read_bytes() == (tmp_path / "other.sqlite").read_bytes()


def test_a_reference_to_nothing_leaves_no_file(tmp_path):
    with pytest.raises(sqlite3.IntegrityError, match="a row of clinics refers to a missing row of towns"):
        write(tmp_path / "one.sqlite", [(3, "Leeds")])
    assert list(tmp_path.iterdir()) == []
