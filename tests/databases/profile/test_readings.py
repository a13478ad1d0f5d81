"""Tests that a reading converts matching cells to dates or numbers, and other cells to NULL."""

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
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place

CLOCKS = ("%d/%m/%Y %H:%M", "%m.%d.%Y %H:%M", "%Y/%m/%d 00:00", "%d-%m-%Y 00:00")
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
               "1996-07-17T00:00:00Z": "1996-07-17", "1996-07-17 00:00:30": None,
               "1996-07-17 00:00:00.5": None, "1996-07-17 00:00:00+02:00": None,
               "1996-07-17 10:00": None, "0000-00-00": None, "9999-12-31": None, "now": None}),
        ("%d/%m/%Y %H:%M", {"17/07/1996 10:30": "1996-07-17 10:30:00",
                            "7/7/1996 9:05:07": "1996-07-07 09:05:07",
                            "17/07/1996 24:10": None, "17/07/1996": None, "17/07/1996 10:30 ": None,
                            "30/02/2004 10:30": None, "17/07/1996 now": None, "N/A": None}),
        ("%d/%m/%Y 00:00", {"17/07/1996 00:00:00.000": "1996-07-17", "17/07/1996 0:00": "1996-07-17",
                            "17/07/1996": "1996-07-17", "17/07/1996 10:30": None, "31/12/9999 00:00": None}),
        (MOMENT, {"1996-07-17T10:00:05Z": "1996-07-17 10:00:05", "1996-07-17 10:00": "1996-07-17 10:00",
                  "1996-07-17 10:00:00+02:00": None, "1996-07-17": None}),
    ],
)  # fmt: skip
def test_readings_by_hand(reading, cells):
    assert read(cells, reading) == list(cells.values())


@pytest.mark.parametrize(
    ("form", "allowed"), [("%b %d, %Y", "A-Za-z ,"), ("%d-%b, %Y", "A-Za-z ,-"), ("%d/%m/%Y", "/")]
)
def test_the_separators_have_a_fixed_order(form, allowed):
    # An order that depends on PYTHONHASHSEED would give gold SQL that another process does not recognise.
    assert f"'*[^0-9{allowed}]*'" in write_reading("cell", form).sql(dialect="sqlite")


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


@pytest.mark.parametrize(
    "text", ["%d/%m", "%d/%m/%y", "%H:%M", "%Y-%Y-%d", "real", "%d%m%Y", "%b/%m/%Y", "%b %d, %Y %H:%M"]
)
def test_what_is_no_format(text):
    assert not is_format(text)


ODD = [*JUNK, "17/07/1996 24:10", "29/02/1900", "29/02/2000 0:00", "2004-02-29T10:00:00", "May 3, 2004"]
TIMES = st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9998, 12, 31))  # noqa: DTZ001 (cells have no zone)
CELLS = st.one_of(
    st.sampled_from(ODD),
    st.builds(
        lambda moment, form, clock: moment.strftime(form + clock),
        TIMES,
        st.sampled_from([*FORMATS, *CLOCKS]),
        st.sampled_from(["", " %H:%M", " %H:%M:%S"]),
    ),
)


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def server(request):
    with pytest.MonkeyPatch.context() as patch, open_place(request.param) as place:
        patch.setenv(PASSWORD_ENV, PASSWORD)
        place.run("CREATE TABLE cells (n INT PRIMARY KEY, c VARCHAR(60))")
        yield place


@settings(max_examples=2, deadline=None)
@given(cells=st.lists(CELLS, min_size=80, max_size=120))
def test_a_server_reads_texts_as_sqlite_does(server, cells):
    server.run("DELETE FROM cells")
    server.load("cells", list(enumerate([*cells, None])))
    dialect = server.entry.dialect
    for form in (*FORMATS, *CLOCKS, "%Y-%m-%d %H:%M"):
        sql = write_reading("c", form, dialect).sql(dialect=dialect)
        ((*found,),) = server.run(f"SELECT {sql} FROM cells ORDER BY n")
        assert [cell for (cell,) in found] == read([*cells, None], form), form
