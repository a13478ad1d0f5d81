"""Tests of a question's scope: whose rows the question states that it is answered from."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.artifacts.rows import make_id
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.schema import schema
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.verbalisation import find_scope

VISITS = """
CREATE TABLE doctors (doctor_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL);
CREATE TABLE visits (
    visit_id INTEGER PRIMARY KEY, doctor_id INTEGER NOT NULL REFERENCES doctors (doctor_id),
    visit_date DATE NOT NULL, room TEXT NOT NULL
);
INSERT INTO doctors VALUES (1, 'Ada'), (2, 'Bo');
INSERT INTO visits VALUES (1, 1, '2013-01-05', 'A'), (2, 1, '2013-01-06', 'B'), (3, 2, '2013-01-06', 'A');
"""
BY = (("doctors.doctor_id", "visits.doctor_id"),)
COUNT = Query(("visits.visit_id",), BY, ("doctors.full_name",), "count")
ON = Query(("visits.visit_id",), BY, ("doctors.full_name", "visits.visit_date"), "count")
ROOM = Query(("visits.room",), BY, ("doctors.full_name",))


@pytest.fixture
def month(tmp_path: Path) -> DatabaseEntry:
    for name, more in (("month", ""), ("year", "INSERT INTO visits VALUES (4, 1, '2013-07-01', 'C');")):
        with sqlite3.connect(tmp_path / f"{name}.sqlite") as connection:
            connection.executescript(VISITS + more)
    return DatabaseEntry(name="clinic", file=tmp_path / "month.sqlite", world=tmp_path / "year.sqlite")


def make_template(query: Query) -> SqlTemplate:
    sql = write_template(query)
    return SqlTemplate(make_id(sql), sql, query.tables, query.projection, query.placeholders, 1, ())


def test_what_is_computed_from_some_rows_says_which(month: DatabaseEntry) -> None:
    entry = month.model_copy(update={"scope": {"visits": "in  January 2013"}})
    columns = list(schema([], [], entry).rows)
    assert {column.scope for column in columns if column.table == "doctors"} == {""}
    assert find_scope(COUNT, columns) == ("visits", "in January 2013")
    assert find_scope(ROOM, columns) == ("visits", "in January 2013")
    # A question about a date needs no scope in time.
    assert find_scope(ON, columns) == ("", "")
    assert find_scope(COUNT, list(schema([], [], month).rows)) == ("", "")
    entry = month.model_copy(update={"scope": {"visits": ("in January 2013", "in these books")}})
    columns = list(schema([], [], entry).rows)
    assert find_scope(COUNT, columns) == ("visits", "in January 2013")
    assert find_scope(ON, columns) == ("visits", "in these books")
    assert find_scope(replace(ON, measure=""), columns) == ("", "")


def test_the_scope_of_a_referenced_table_is_stated_only_where_its_rows_are_selected(
    month: DatabaseEntry,
) -> None:
    both = {"visits": "in January 2013", "doctors": "in these books"}
    columns = list(schema([], [], month.model_copy(update={"scope": both})).rows)
    # The visits limit the doctors, so a lookup through a visit states only the scope of the visits.
    assert find_scope(COUNT, columns) == ("visits", "in January 2013")
    assert find_scope(Query(("doctors.full_name",), BY, ("visits.room",)), columns)[0] == "visits"
    assert find_scope(Query(("doctors.full_name",), BY, ("visits.visit_date",)), columns) == ("", "")
    # A superlative or a list over the table itself states its scope, but a name or the key identifies a row.
    senior = Query(("doctors.full_name",), (), ("doctors.ward",), "most", "doctors.doctor_id")
    ward = replace(
        next(column for column in columns if column.name == "full_name"), id="doctors.ward", name="ward"
    )
    assert find_scope(senior, [*columns, ward]) == ("doctors", "in these books")
    assert find_scope(replace(senior, measure="", ranked_by=""), [*columns, ward]) == (
        "doctors",
        "in these books",
    )
    # A range of keys does not identify a row.
    several = Query(("doctors.doctor_id",), (), ("doctors.doctor_id:from", "doctors.doctor_id:to"), "count")
    assert find_scope(several, columns) == ("doctors", "in these books")
    # Tables that reference each other keep their scopes.
    back = replace(ward, id="doctors.last_visit", name="last_visit", references="visits.visit_id")
    assert find_scope(COUNT, [*columns, back]) == ("visits", "in January 2013")
    for given in ("doctors.full_name", "doctors.doctor_id"):
        assert find_scope(Query(("doctors.ward",), (), (given,)), [*columns, ward]) == ("", "")


def test_a_question_that_says_so_is_not_held_against_the_world(month: DatabaseEntry) -> None:
    templates = [make_template(query) for query in (COUNT, ON)]
    params = FillIn(every_value_matters=False)
    kept = {}
    for scope in ({}, {"visits": "in January 2013"}):
        entry = month.model_copy(update={"scope": scope})
        drafts = fill_in(templates, list(schema([], [], entry).rows), entry, params)
        kept[bool(scope)] = {group.answer for group in drafts.rows if group.sql_template == templates[0].id}
        lost = [row.detail for row in drafts.dropped if row.reason == "other_in_world"]
        assert len(lost) == (not scope)
        assert len([group for group in drafts.rows if group.sql_template == templates[1].id]) == 3
    assert kept == {False: {"1"}, True: {"1", "2"}}


@pytest.mark.parametrize(
    ("scope", "problem"),
    [
        ({"visit": "in January"}, r"databases\.clinic\.scope: visit: the database has no such table"),
        ({"visits": "January 2013"}, r"scope: visits: 'January 2013' must be two to eight words and begin"),
        ({"visits": "in [january]"}, r"scope: visits: 'in \[january\]' must be"),
        ({"visits": ""}, r"scope: visits: '' must be"),
        ({"visits": ("in January", "books")}, r"scope: visits: 'books' must be"),
    ],
)
def test_a_bad_scope_is_one_clear_line(month: DatabaseEntry, scope: dict[str, object], problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        schema([], [], month.model_copy(update={"scope": scope}))
