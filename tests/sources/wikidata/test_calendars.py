import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.sources.wikidata.calendars import convert, count_days, from_day_number, is_leap, to_day_number


@given(st.dates())
def test_gregorian_days_follow_each_other_as_in_the_standard_library(date):
    first = to_day_number((1, 1, 1), "gregorian")
    assert to_day_number((date.year, date.month, date.day), "gregorian") - first == (date - dt.date.min).days


@given(st.integers(-(10**9), 10**9), st.sampled_from(["gregorian", "julian"]))
def test_every_number_is_a_day_that_its_month_has(number, calendar):
    year, month, day = from_day_number(number, calendar)
    assert year != 0
    assert 1 <= day <= count_days(year, month, calendar)
    assert to_day_number((year, month, day), calendar) == number


@pytest.mark.parametrize(
    ("julian", "gregorian"),
    [
        ((1582, 10, 4), (1582, 10, 14)),  # the day before the reform, 1582-10-15
        ((1582, 10, 5), (1582, 10, 15)),
        ((1900, 2, 29), (1900, 3, 13)),  # a leap day only in the Julian calendar
        ((1917, 10, 25), (1917, 11, 7)),  # the October revolution
        ((200, 3, 1), (200, 3, 1)),  # from 200-03-01 to 300-02-28 both agree
        ((-44, 3, 15), (-44, 3, 13)),  # the Ides of March
        ((-1, 12, 31), (-1, 12, 29)),
        ((1, 1, 1), (-1, 12, 30)),  # there is no year 0
        ((-4713, 1, 1), (-4714, 11, 24)),  # the first day of the Julian day count
    ],
)
def test_days_of_both_calendars_are_the_same_days(julian, gregorian):
    assert convert(julian, "julian", "gregorian") == gregorian
    assert convert(gregorian, "gregorian", "julian") == julian


def test_leap_years_before_our_era_are_one_off():
    # 1 BCE is the astronomical 0, 5 BCE is -4, 101 BCE is -100.
    assert [is_leap(year, "gregorian") for year in (-1, -4, -5, -101, -401, 1900, 2000)] == [
        True, False, True, False, True, False, True,
    ]  # fmt: skip
    assert is_leap(-101, "julian")
    assert is_leap(1900, "julian")
