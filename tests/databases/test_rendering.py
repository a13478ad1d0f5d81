"""Tests that rendered values of every kind parse to the same value."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.databases.literals import read_literal
from tasks.databases.rendering import read_plain, read_said, round_bound, write_plain, write_said
from tasks.grammar.construct.queries import write_literal

DATES = st.dates(dt.date(1000, 1, 1)).map(dt.date.isoformat)
MOMENTS = st.tuples(DATES, st.times()).map(lambda parts: f"{parts[0]} {parts[1].isoformat('seconds')}")
VALUES = st.one_of(
    st.tuples(st.just("integer"), st.integers(-(2**62), 2**62)),
    st.tuples(st.just("real"), st.floats(-1e15, 1e15).map(round_bound)),
    st.tuples(st.just("date"), DATES),
    st.tuples(st.just("moment"), MOMENTS),
    st.tuples(st.just("text"), st.one_of(st.text(min_size=1), st.from_regex(r"\d{1,20}", fullmatch=True))),
)


@settings(max_examples=300, deadline=None)
@given(value=VALUES, grouped=st.booleans())
def test_what_is_written_reads_back(value, grouped):
    kind, cell = value
    text = write_plain(cell)
    assert read_plain(text, kind) == cell
    said = write_said(text, kind, grouped=grouped)
    assert read_said(said, kind) == text
    assert write_plain(read_literal(write_literal(cell))) == text


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("1996-07-17", "date", "17 July 1996"),
        ("1996-07-17 10:30:00.000", "moment", "17 July 1996, 10:30"),
        ("1996-07-17 10:30:05", "moment", "17 July 1996, 10:30:05"),
        ("9785811770698", "text", "9785811770698"),
        ("1996-07-17", "text", "1996-07-17"),
        ("2500000", "integer", "2,500,000"),
        ("12345.5", "real", "12,345.5"),
        ("2012", "integer", "2012"),
        ("05:17:00", "date", "05:17:00"),
        ("2004-02-30", "date", "2004-02-30"),
    ],
)
def test_by_hand(text, kind, said):
    assert write_said(text, kind, grouped=True) == said


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (15.0, "15"),
        (0.1 + 0.2, "0.3"),
        (12345678901.25, "12345678901.25"),
        (1e-7, "0.0000001"),
        (1e12, "1000000000000"),
    ],
)
def test_numbers_by_hand(value, text):
    assert write_plain(value) == text
