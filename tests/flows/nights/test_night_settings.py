"""Tests of the schedule: impossible times and schedules with six fields are refused."""

from datetime import UTC, datetime

import pytest

from flows.night_settings import Nightly, describe_schedule
from flows.prefect_file import compare_deployments
from flows.settings import parse_section
from tasks.errors import BadInput

REFUSED = {
    "0 3 31 2 *": "matches a date: bad day-of-month",
    "0 3 30 2 *": "matches a date: bad day-of-month",
    "0 3 31 2,4,6,9,11 *": "matches a date: bad day-of-month",
    "0 0 3 * * *": "must have five fields",
    "0 25 * * *": "matches a date: bad hour",
    "@daily": "must have five fields",
    "": "must have five fields",
    "0 3 * * 9": "matches a date: bad day-of-week",
    "*/0 * * * *": "matches a date: bad minute",
}


@pytest.mark.parametrize("cron", REFUSED)
def test_a_schedule_that_is_none_is_refused_where_it_is_read(cron, tmp_path):
    for read in (
        lambda params: parse_section(params, "nightly", Nightly),
        lambda params: compare_deployments(tmp_path, params),
    ):
        with pytest.raises(BadInput, match=r"^params\.yaml: nightly\.cron: ") as refused:
            read({"nightly": {"cron": cron}})
        assert REFUSED[cron] in str(refused.value)
        assert "\n" not in str(refused.value)


TAKEN = ["0 3 * * *", "*/15 * * * *", "0 3 29 2 *", "0 3 * jan-mar 1-5", "30 4 1,15 * 5"]


@pytest.mark.parametrize("cron", TAKEN)
def test_a_schedule_is_taken(cron):
    parse_section({"nightly": {"cron": cron}}, "nightly", Nightly)


def test_the_next_night_is_told_in_its_time_zone():
    nightly = Nightly(cron="0 3 * * *", timezone="Europe/Berlin")
    told = describe_schedule(nightly, datetime(2031, 7, 9, 1, 30, tzinfo=UTC))
    assert told == "'0 3 * * *', Europe/Berlin (next Thu 10 Jul 2031, 03:00)"
