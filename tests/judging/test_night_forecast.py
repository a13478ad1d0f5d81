"""Tests of forecasts for all items from a subset, and of detecting insufficient subsets."""

import numpy as np
import pytest
from scipy.stats import norm

from tasks.judging.night_forecast import (
    NightPart,
    PartTest,
    PartWorth,
    SeriesName,
    correct_forecasts,
    describe_forecast,
    describe_part,
    find_doubt,
    find_next_step,
    forecast_series,
)

EXPECTED = np.array([1.0, 0.5, 0.5, 0.0])
WEIGHTS = np.array([0.5, 0.0, 0.5, 0.0])


def forecast(now, spread=0.1, parts=1, metric="em", tests=1):
    test = PartTest(parts, 0.05, tests)
    name = SeriesName("mine", metric)
    return forecast_series(
        ("qa.systems", "mine"),
        name,
        np.array(now),
        EXPECTED,
        WEIGHTS,
        PartWorth(spread, 0.08, 1.0, 800),
        test,
    )


def find_normal_quantile(found):
    return norm.ppf(found.p_value)


def make_part(*forecasts, parts=1, whole_calls=48):
    return NightPart(6, 60, parts, 10, whole_calls, ("a", "b", "c"), correct_forecasts(forecasts))


def test_the_whole_is_its_past_mean_and_the_change():
    found = forecast([0.5, np.nan, 0.7, np.nan])
    assert (found.mean, found.change) == (pytest.approx(0.5 - 0.15), pytest.approx(-0.15))
    assert found.error == pytest.approx(1.96 * 0.08, abs=1e-4)
    assert found.p_value == pytest.approx(0.0668, abs=1e-4), "1.5 spreads below"
    assert (
        "estimated mean over all items is 0.350 ± 0.157, which is -0.150 from past nights"
        in describe_forecast(found)
    )
    three = forecast([0.5, np.nan, 0.7, np.nan], parts=3)
    assert three.error == pytest.approx(found.error / np.sqrt(3))
    assert three.p_value == pytest.approx(0.0047, abs=1e-4)


def test_past_nights_that_never_differed_leave_some_error():
    # One of 800 scores differs by 1: the variance of a mean of two is 1/800 * 1/2.
    found = forecast([0.5, np.nan, 0.7, np.nan], spread=0.0)
    assert 0 < found.p_value < 1e-6
    assert find_normal_quantile(found) == pytest.approx(-0.15 / 0.025, abs=0.01)


def test_nothing_scored_is_no_estimate_and_no_doubt():
    found = forecast([np.nan] * 4)
    assert (found.mean, found.change, found.p_value) == (None, None, 1.0)
    assert "no estimate" in describe_forecast(found)
    assert find_doubt(make_part(found), 0.05, 0.02) is None


def test_one_part_is_in_doubt_earlier_than_three_and_never_by_less_than_an_alarms_drop():
    fallen = forecast([0.5, np.nan, 0.7, np.nan])
    assert find_doubt(make_part(fallen), 0.05, 0.02) is not None, "0.067 is below 4 * 0.05"
    assert find_doubt(make_part(fallen, parts=3), 0.05, 0.02) is None
    assert find_doubt(make_part(fallen), 0.05, 0.2) is None
    assert [find_next_step(parts) for parts in (1, 3)] == [3, 0]


def test_doubt_is_corrected_over_all_metrics():
    fallen, held = forecast([0.5, np.nan, 0.7, np.nan]), [forecast([1.0, np.nan, 0.5, np.nan])] * 3
    part = make_part(fallen, *held)
    assert part.forecasts[0].adjusted == pytest.approx(4 * 0.0668, abs=1e-3)
    assert find_doubt(part, 0.05, 0.02) is None


def test_a_part_is_described_by_its_items_its_price_and_what_it_finds():
    found = forecast([0.5, np.nan, 0.7, np.nan])
    line = describe_part(make_part(found))
    assert line.startswith("subset of 6 of 60 items; 79% fewer calls; a drop of 0.")
    assert line.endswith(" can be detected")
    assert "; 90% fewer items; " in describe_part(make_part(found, whole_calls=0)), "calls are not known"
    assert forecast([1.0] * 4, tests=4).detectable > found.detectable
