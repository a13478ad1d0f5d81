"""A reading gives the date or number of a cell that fits, and NULL for every other cell."""

import datetime as dt
import re
import sqlite3
from contextlib import closing

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.databases.columns import Column
from tasks.databases.profile.readings import (
    DAY,
    MOMENT,
    NUMBER,
    apply_readings,
    is_format,
    list_readings,
    strip_readings,
    write_reading,
)

FORMATS = (
    "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%b-%Y", "%b %d, %Y", "%d %b %Y", "%Y%m%d", "%Y.%m.%d",
    "%Y-%m-%d",
)  # fmt: skip
JUNK = (
    "", "N/A", "now", "2/30/2004", "1/2/3/2004", "13/13/2004", "0000-00-00", "1/2/2004x", "Jan", "30.2.2004",
    "20040230", "Foo 5, 2001", "31/12/9999", "12/31/9999", "99991231", "9999-12-31", "0001-01-01",
    "2004-1-1-1", "2004-02-30", "--", "/ /2004",
)  # fmt: skip


def read(cells, reading):
    sql = write_reading("cell", reading).sql(dialect="sqlite")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (cell)")
        connection.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
        return [cell for (cell,) in connection.execute(f"SELECT {sql} FROM t ORDER BY rowid")]


def write_date(day, form, padded):
    text = day.strftime(form)
    return text if padded or form == "%Y%m%d" else re.sub(r"(?<!\d)0(?=\d(?!\d{3}))", "", text)


@settings(max_examples=25, deadline=None)
@given(
    days=st.lists(st.dates(dt.date(1000, 1, 1), dt.date(9998, 12, 31)), max_size=40),
    form=st.sampled_from(FORMATS),
    padded=st.booleans(),
)
def test_a_format_gives_every_date_of_it(days, form, padded):
    assert read([write_date(day, form, padded) for day in days], form) == [day.isoformat() for day in days]


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_else_is_a_date(form):
    assert is_format(form)
    assert read([*JUNK, None, 12, 3.5, b"\x00"], form) == [None] * (len(JUNK) + 4)


@pytest.mark.parametrize(
    ("reading", "cells"),
    [
        (NUMBER, {5: 5, 2.5: 2.5, "": None, "N/A": None, "7": None, None: None}),
        (DAY, {"2004-02-29": "2004-02-29", "1996-07-17 00:00:00.000": "1996-07-17", "2004-02-30": None,
               "1996-07-17 10:00": None, "0000-00-00": None, "9999-12-31": None, "now": None}),
        (MOMENT, {"1996-07-17T10:00:05Z": "1996-07-17 10:00:05", "1996-07-17 10:00": "1996-07-17 10:00",
                  "1996-07-17 10:00:00+02:00": None, "1996-07-17": None}),
    ],
)  # fmt: skip
def test_readings_by_hand(reading, cells):
    assert read(cells, reading) == list(cells.values())


@pytest.mark.parametrize("reading", [NUMBER, DAY, MOMENT, *FORMATS])
def test_a_query_with_readings_is_the_query_again_without_them(reading):
    column = Column("t.odd name", "t", "odd name", "date", True, False, None, True, reading=reading)
    sql = (
        "SELECT DISTINCT t.\"odd name\" FROM t WHERE t.\"odd name\" BETWEEN '2000-01-01' AND '2001-01-01' "
        'ORDER BY t."odd name"'
    )
    full = apply_readings(sqlglot.parse_one(sql, dialect="sqlite"), list_readings([column]))
    assert full.sql(dialect="sqlite") != sql
    again = sqlglot.parse_one(full.sql(dialect="sqlite"), dialect="sqlite")
    assert strip_readings(again, list_readings([column])).sql(dialect="sqlite") == sql


@pytest.mark.parametrize("text", ["%d/%m", "%d/%m/%y", "%H:%M", "%Y-%Y-%d", "real", "%d%m%Y", "%b/%m/%Y"])
def test_what_is_no_format(text):
    assert not is_format(text)
