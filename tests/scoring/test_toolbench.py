"""Tests of ToolBench's rule on hand-written cases."""

import json
import os
from pathlib import Path

import pytest

from tasks.scoring.toolbench import WITHOUT_JUDGE

TOOLBENCH = Path(os.environ.get("BENCHLOOM_TOOLBENCH", "no such folder"))
ADD = {"date": "2024-02-28", "days": 2}


def call(predicted=ADD, *, gold=ADD, api="add_date", predicted_api="add_date", well_formed=True, judged=None):
    return {
        "id": "x",
        "api": api,
        "arguments": gold,
        "predicted_api": predicted_api,
        "predicted_arguments": predicted,
        "well_formed": well_formed,
        "judged": judged,
    }


@pytest.mark.parametrize(
    ("row", "accuracy"),
    [
        (call(), 1),
        (call(json.dumps(ADD)), 1),  # JSON text is equivalent to an object
        (call(gold=json.dumps(ADD)), 1),
        (call({**ADD, "zone": "UTC"}), 1),  # extra arguments are allowed
        (call({"days": 2}), 0),  # one argument is missing
        (call({"date": "2024-02-28", "days": 3}), 0),
        (call({"date": " 2024-02-28 ", "days": "2"}), 1),  # stripped; a number by its text
        (call({"date": "2024-02-28", "days": 2.0}), 0),  # "2.0" is not "2"
        (call(gold={"a": "Rome"}, predicted={"a": "rOME"}), 1),  # case does not count
        (call(gold={"a": True}, predicted={"a": "true"}), 1),
        (call(gold={"a": None}, predicted={"a": None}), 1),
        (call(gold={"a": None}, predicted={}), 0),  # required, even if null
        (call(gold={"A": 1}, predicted={"a": 1}), 0),  # names are case-sensitive
        (call(gold={}, predicted={}), 1),
        (call(gold={"a": 123456789012345678901}, predicted={"a": "123456789012345678901"}), 1),
        (call(gold={"a": "123456789012345678901"}, predicted='{"a": 123456789012345678901}'), 1),
        (call("{date: 2024"), 0),  # unparsable: wrong, not failed
        (call("[1]"), 0),  # JSON, but not an object
        (call(well_formed=False), 0),
        (call(predicted=None, predicted_api=None, well_formed=False), 0),
        (call(predicted_api="forecast_weather"), 0),
        (call(predicted=None, predicted_api="forecast_weather"), 0),
        # for other APIs the judge decides, whatever the arguments look like
        (call({}, api="disambiguation", predicted_api="disambiguation", judged=True), 1),
        (call(api="disambiguation", predicted_api="disambiguation", judged=False), 0),
        (call(api="disambiguation", predicted_api="add_date", judged=None), 0),  # nothing to judge
        (call({}, judged=True), 0),  # the judge has no influence if arguments are compared
    ],
)
def test_one_call(score, row, accuracy):
    report = score("toolbench", [row])
    assert (report["accuracy"], report["n_scored"]) == (accuracy, 1)


@pytest.mark.parametrize(
    "row",
    [
        call(predicted_api=None),
        call(predicted=None),
        call(api="disambiguation", predicted_api="disambiguation", judged=None),
    ],
)
def test_what_is_missing_is_failed_not_wrong(score, row):
    report = score("toolbench", [row])
    assert (report["n_failed"], report["n_scored"], report["accuracy"]) == (1, 0, None)


def test_figures_have_their_own_denominators(score):
    rows = [
        call(),  # right
        call(predicted_api="get_today_date"),  # well-formed, another API
        call({"days": 9}),  # correct API, wrong arguments
        call(well_formed=False),
    ]
    report = score("toolbench", [{**row, "id": n} for n, row in enumerate(rows)])
    assert report["well_formed"] == 3 / 4
    assert report["api_match"] == pytest.approx(2 / 3)  # over well-formed calls
    assert report["accuracy"] == 1 / 4  # over all calls


def test_31_apis_are_without_a_judge():
    assert len(WITHOUT_JUDGE) == 31


@pytest.mark.skipif(not TOOLBENCH.is_dir(), reason="BENCHLOOM_TOOLBENCH names no folder with tool_test.json")
def test_of_the_50_published_apis_19_are_left_to_the_judge():
    names = set(json.loads((TOOLBENCH / "tool_test.json").read_text(encoding="utf-8")))
    assert (len(names), len(names - WITHOUT_JUDGE)) == (50, 19)
