"""Tests of likely mistakes of new users: each gives a one-line error before any paid call."""

import sqlite3

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import is_empty
from tasks.errors import BadInput
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.schema import schema
from tasks.grammar.construct.sql_templates import SqlTemplate
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place

BOATS = "CREATE TABLE boats (boat_id INTEGER PRIMARY KEY, name TEXT, built INTEGER);"
BUILT = SqlTemplate(
    id="built",
    sql="SELECT DISTINCT boats.built FROM boats WHERE boats.name = '[boats.name]'",
    tables=("boats",),
    projection=("boats.built",),
    placeholders=("boats.name",),
    choices=1,
    origin=(),
)


PARAMS = FillIn(
    cap=None, single_answer=True, seed=0, limits={"timeout_s": 60, "memory_mb": 512, "bytes": 50_000_000}
)


def make_entry(tmp_path, script):
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as database:
        database.executescript(script)
    database.close()
    return DatabaseEntry(name="shop", file=path)


@pytest.mark.parametrize("script", ["", "CREATE VIEW boats AS SELECT 1 AS name;"])
def test_a_database_without_tables_is_one_line(tmp_path, script):
    entry = make_entry(tmp_path, script)
    with pytest.raises(
        BadInput,
        match=r"shop.sqlite: has no tables \(databases.shop refers to this file; views are not read\)",
    ) as said:
        schema([], [], entry)
    assert "\n" not in str(said.value)


def test_tables_without_rows_are_one_line_that_names_them(tmp_path):
    entry = make_entry(tmp_path, BOATS)
    with pytest.raises(
        BadInput, match=r"shop.sqlite: has no rows in any table \(boats\) \(used by databases.shop; "
    ) as said:
        schema([], [], entry)
    assert "\n" not in str(said.value)


def test_a_table_that_may_not_be_read_is_not_called_empty(monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place("postgresql") as place:
        place.run("CREATE TABLE archive (x INTEGER)", "CREATE TABLE boats (name TEXT)")
        assert is_empty(place.entry, []) is True
        assert is_empty(place.entry, ["archive", "boats"]) is False  # no rights have been granted
        place.grant()
        assert is_empty(place.entry, ["archive", "boats"]) is True
        place.run("INSERT INTO boats VALUES ('Heron')")
        assert is_empty(place.entry, ["archive", "boats"]) is False


def test_one_row_in_one_table_is_enough(tmp_path):
    entry = make_entry(tmp_path, BOATS + "CREATE TABLE ' a \"b\"' (x); INSERT INTO ' a \"b\"' VALUES (1);")
    assert {column.table for column in schema([], [], entry).rows} == {"boats", ' a "b"'}


def test_rows_that_give_no_group_are_no_empty_table(tmp_path):
    entry = make_entry(tmp_path, BOATS + "INSERT INTO boats VALUES (1, 'Heron', NULL);")
    drafts = fill_in([BUILT], list(schema([], [], entry).rows), entry, PARAMS)
    assert not list(drafts.rows)
    assert drafts.dropped
