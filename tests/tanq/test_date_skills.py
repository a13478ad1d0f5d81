"""Tests of ages and durations against dateutil and convertdate, including BCE and leap days."""

from datetime import date

import pytest
from convertdate import gregorian, julian
from dateutil.relativedelta import relativedelta
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.sources.wikidata.calendars import (
    from_day_number,
    is_leap,
    to_astronomical,
    to_day_number,
    to_historical,
)
from tasks.sources.wikidata.values import Precision, Time
from tasks.tanq.build.date_skills import (
    count_days_between,
    count_full_years,
    count_years_between,
    read_year,
    say_year,
    show_year,
)

EPOCH = to_day_number((1, 1, 1), "gregorian")
FIRST, LAST = -1_400_000, 800_000  # days relative to the year 1: 3833 BCE to 2191
DAYS = st.integers(FIRST, LAST)


def make(number, calendar="gregorian"):
    return Time(*from_day_number(EPOCH + number, calendar), Precision.DAY, calendar)


def count_by_dateutil(first, second):
    """Count full years after moving dates to the years 1 to 9999 by the Gregorian cycle of 400 years."""
    days = [date.fromordinal(number + 10 * 146_097 + 1) for number in (first, second)]
    return relativedelta(days[1], days[0]).years


@settings(max_examples=400, deadline=None)
@given(DAYS, DAYS)
@example(date(2000, 2, 29).toordinal() - 1, date(2001, 2, 28).toordinal() - 1)
@example(date(2000, 2, 29).toordinal() - 1, date(2004, 2, 28).toordinal() - 1)
@example(to_day_number((-5, 2, 29), "gregorian") - EPOCH, to_day_number((1, 2, 28), "gregorian") - EPOCH)
@example(-1, 0)
def test_ages_are_those_of_dateutil(one, other):
    first, second = sorted((one, other))
    assert count_full_years(make(first), make(second)) == count_by_dateutil(first, second)


YEARS = range(-3000, 2101)
"""Astronomical years, as in both libraries and these tests: 0 is 1 BCE."""
LEAPS = {
    "gregorian": [year for year in YEARS if gregorian.isleap(year)],
    "julian": [year for year in YEARS if julian.leap(year)],
}


def make_day(year, month, day, calendar):
    return Time(to_historical(year), month, day, Precision.DAY, calendar)


def count_by_cycles(born, died, calendar):
    """Count full years by dateutil, in years from 1 to 9999 with the same pattern of leap years.

    The Gregorian calendar repeats every 400 years, the Julian every 4; from 1901 to 2099, both are equal.
    """
    start, period = (1904, 4) if calendar == "julian" else (2000, 400)
    first = start + born[0] % period
    last = first + died[0] - born[0]
    assert calendar == "gregorian" or last < 2100
    return relativedelta(date(last, *died[1:]), date(first, *born[1:])).years


@pytest.mark.parametrize("calendar", ["gregorian", "julian"])
def test_leap_years_are_those_of_convertdate(calendar):
    assert [year for year in YEARS if is_leap(to_historical(year), calendar)] == LEAPS[calendar]
    assert sum(year < 1 for year in LEAPS[calendar]) == {"gregorian": 728, "julian": 751}[calendar]


ENDS = [(2, 28), (2, 29), (3, 1), (12, 31)]


SPANS = (0, 1, 3, 4, 8, 57, 100, 189)


def list_lives(calendar):
    """List lifetimes that begin or end on a leap day: BCE, CE, and across the year 1."""
    for leap in LEAPS[calendar][::7]:
        for span in SPANS:
            for month, day in ENDS:
                if day != 29 or leap + span in LEAPS[calendar]:
                    yield (leap, 2, 29), (leap + span, month, day)
                if day != 29 or leap - span in LEAPS[calendar]:
                    yield (leap - span, month, day), (leap, 2, 29)


@pytest.mark.parametrize("calendar", ["gregorian", "julian"])
def test_ages_from_and_to_leap_days_are_those_of_dateutil(calendar):
    lives = [(born, died) for born, died in list_lives(calendar) if born <= died]
    assert sum(died[1:] == (2, 29) and died[0] < 1 for _, died in lives) > 2_000
    wrong = [
        (born, died)
        for born, died in lives
        if count_full_years(make_day(*born, calendar), make_day(*died, calendar))
        != count_by_cycles(born, died, calendar)
    ]
    assert wrong == []


@settings(max_examples=300, deadline=None)
@given(st.integers(-1_400_000, 700_000), st.integers(0, 69_000))
@example(julian.to_jd(0, 2, 29) - 1_721_425.5, 0)
def test_ages_by_the_julian_calendar_are_those_of_dateutil(born, days):
    # Use both libraries: days from convertdate, years from dateutil.
    first, second = (julian.from_jd(1_721_425.5 + number) for number in (born, born + days))
    age = count_full_years(make_day(*first, "julian"), make_day(*second, "julian"))
    assert age == count_by_cycles(first, second, "julian")


@settings(max_examples=300, deadline=None)
@given(st.integers(-1_400_000, 700_000), st.integers(0, 69_000))
def test_ages_over_both_calendars_are_those_of_the_gregorian_one(born, days):
    first, second = julian.from_jd(1_721_425.5 + born), gregorian.from_jd(1_721_425.5 + born + days)
    age = count_full_years(make_day(*first, "julian"), make_day(*second, "gregorian"))
    assert age == count_by_cycles(julian.to_gregorian(*first), second, "gregorian")


@settings(max_examples=300, deadline=None)
@given(DAYS, DAYS, st.sampled_from(["gregorian", "julian"]), st.sampled_from(["gregorian", "julian"]))
def test_days_between_are_those_of_convertdate(one, other, calendar, second_calendar):
    first, second = make(one, calendar), make(other, second_calendar)
    assert count_days_between(first, second) == count_by_convertdate(second) - count_by_convertdate(first)


def count_by_convertdate(time):
    """Return the Julian day number; the library's years include a year 0."""
    calendar = gregorian if time.calendar == "gregorian" else julian
    return calendar.to_jd(to_astronomical(time.year), time.month, time.day)


@pytest.mark.parametrize(
    ("born", "died", "age"),
    [
        # Caesar: 12 July 100 BCE to 15 March 44 BCE
        (Time(-100, 7, 12, Precision.DAY, "julian"), Time(-44, 3, 15, Precision.DAY, "julian"), 55),
        # Augustus: 23 September 63 BCE to 19 August 14, with no year 0: 62 + 14 - 1
        (Time(-63, 9, 23, Precision.DAY, "julian"), Time(14, 8, 19, Precision.DAY, "julian"), 75),
        # Newton: 25 December 1642 by the Julian calendar to 20 March 1726 (counted from January: 1727)
        (Time(1642, 12, 25, Precision.DAY, "julian"), Time(1727, 3, 20, Precision.DAY, "julian"), 84),
        # Born on 29 February 1800 in the Julian calendar, which is 12 March in the Gregorian calendar
        (Time(1800, 2, 29, Precision.DAY, "julian"), Time(1860, 3, 11, Precision.DAY, "gregorian"), 59),
        (Time(1800, 2, 29, Precision.DAY, "julian"), Time(1860, 3, 12, Precision.DAY, "gregorian"), 60),
    ],
)
def test_ages_by_calendar(born, died, age):
    assert count_full_years(born, died) == age


def test_years_are_subtracted_without_a_year_0():
    assert (
        count_years_between(Time(-44, None, None, Precision.YEAR), Time(14, None, None, Precision.YEAR)) == 57
    )
    assert count_years_between(Time(-1, None, None, Precision.YEAR), Time(1, None, None, Precision.YEAR)) == 1


@pytest.mark.parametrize(("year", "shown"), [(1879, "1879"), (-44, "44 BCE"), (-1, "1 BCE"), (7, "7")])
def test_a_date_has_its_year(year, shown):
    assert show_year(Time(year, 3, 14, Precision.DAY)) == shown == say_year(year)
    assert read_year(shown) == year


@pytest.mark.parametrize("text", ["", "0", "44 BC", "-44", "about 1900", "1900 CE"])
def test_what_is_no_year_is_refused(text):
    with pytest.raises(ValueError, match="is not a year"):
        read_year(text)


def test_what_is_too_coarse_or_the_wrong_way_round_is_refused():
    year, day = Time(1900, None, None, Precision.YEAR), Time(1950, 1, 1, Precision.DAY)
    with pytest.raises(ValueError, match="less precise than a day"):
        count_full_years(year, day)
    with pytest.raises(ValueError, match="before"):
        count_full_years(day, Time(1949, 1, 1, Precision.DAY))
    with pytest.raises(ValueError, match="less precise than a year"):
        show_year(Time(1900, None, None, Precision.CENTURY))
