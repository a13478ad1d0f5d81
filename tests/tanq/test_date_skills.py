"""Ages and durations against the answers of dateutil and convertdate, BCE and leap days among them."""

from datetime import date

import pytest
from convertdate import gregorian, julian
from dateutil.relativedelta import relativedelta
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.sources.wikidata.calendars import from_day_number, to_astronomical, to_day_number
from tasks.sources.wikidata.values import Precision, Time
from tasks.tanq.build.date_skills import (
    count_days_between,
    count_from,
    count_full_years,
    count_years_between,
    read_year,
    say_year,
    show_year,
)

EPOCH = to_day_number((1, 1, 1), "gregorian")
FIRST, LAST = -1_400_000, 800_000  # days about the year 1: 3833 BCE to 2191
DAYS = st.integers(FIRST, LAST)


def make(number, calendar="gregorian"):
    return Time(*from_day_number(EPOCH + number, calendar), Precision.DAY, calendar)


def count_by_dateutil(first, second):
    """Moved by cycles of 400 years, after which the Gregorian calendar repeats, into the years 1 to 9999."""
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


@settings(max_examples=200, deadline=None)
@given(
    st.integers(-3000, 2100), st.integers(-3000, 2100), st.sampled_from([(2, 28), (2, 29), (3, 1), (12, 31)])
)
def test_ages_at_the_end_of_february_too(year, other, day):
    start, end = sorted((year, other))
    born = to_day_number((4 * (start // 4) or -5, 2, 28), "gregorian") + 1 - EPOCH
    died = to_day_number((end or 1, day[0], min(day[1], 28)), "gregorian") - EPOCH
    if died >= born:
        assert count_full_years(make(born), make(died)) == count_by_dateutil(born, died)


@settings(max_examples=300, deadline=None)
@given(DAYS, DAYS, st.sampled_from(["gregorian", "julian"]), st.sampled_from(["gregorian", "julian"]))
def test_days_between_are_those_of_convertdate(one, other, calendar, second_calendar):
    first, second = make(one, calendar), make(other, second_calendar)
    assert count_days_between(first, second) == count_by_convertdate(second) - count_by_convertdate(first)


def count_by_convertdate(time):
    """The Julian day number; the library counts years with a year 0."""
    calendar = gregorian if time.calendar == "gregorian" else julian
    return calendar.to_jd(to_astronomical(time.year), time.month, time.day)


@settings(max_examples=200, deadline=None)
@given(DAYS, st.integers(0, 130), st.integers(0, 360), st.sampled_from(["gregorian", "julian"]))
def test_whoever_is_so_old_is_a_year_older_only_later(born, years, days, calendar):
    first = make(born, calendar)
    end = Time(*count_from(first, years, days), Precision.DAY, calendar)
    assert count_full_years(first, end) == years


@pytest.mark.parametrize(
    ("born", "died", "age"),
    [
        # Caesar: 12 July 100 BCE to 15 March 44 BCE
        (Time(-100, 7, 12, Precision.DAY, "julian"), Time(-44, 3, 15, Precision.DAY, "julian"), 55),
        # Augustus: 23 September 63 BCE to 19 August 14, with no year 0: 62 + 14 - 1
        (Time(-63, 9, 23, Precision.DAY, "julian"), Time(14, 8, 19, Precision.DAY, "julian"), 75),
        # Newton: 25 December 1642 by the Julian calendar to 20 March 1726 (counted from January: 1727)
        (Time(1642, 12, 25, Precision.DAY, "julian"), Time(1727, 3, 20, Precision.DAY, "julian"), 84),
        # Born by the old calendar on 29 February 1800, which the new one names 12 March
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
    with pytest.raises(ValueError, match="is no year"):
        read_year(text)


def test_what_is_too_coarse_or_the_wrong_way_round_is_refused():
    year, day = Time(1900, None, None, Precision.YEAR), Time(1950, 1, 1, Precision.DAY)
    with pytest.raises(ValueError, match="less precise than a day"):
        count_full_years(year, day)
    with pytest.raises(ValueError, match="before"):
        count_full_years(day, Time(1949, 1, 1, Precision.DAY))
    with pytest.raises(ValueError, match="less precise than a year"):
        show_year(Time(1900, None, None, Precision.CENTURY))
