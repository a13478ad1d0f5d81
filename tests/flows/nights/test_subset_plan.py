"""Tests of a night's plan: the past nights that it uses, and the rows that a stage receives."""

from types import SimpleNamespace

import pytest

from flows.discovery import list_evaluating
from flows.nights.history import find_against
from flows.nights.subset import WholeNight, list_whole, plan_night
from flows.run.asked_items import keep_asked
from flows.run.node import Node
from tasks.errors import BadInput
from tasks.judging.night_forecast import NightPart
from tasks.judging.night_subset import NightSubset
from tasks.judging.nights import Night, NightAlarm

PART = NightPart(6, 60, 1, 6, 60, ("a",))


def make_night(label, state="accepted", part=None, alarms=()):
    return Night(label, None, state, tuple(NightAlarm("regression", what) for what in alarms), part=part)


HISTORY = [
    make_night("a"),
    make_night("b"),
    make_night("c", part=PART),
    make_night("d", "alarm", alarms=["fell"]),
    make_night("e", "unfinished"),
]


def test_whole_nights_are_the_baselines():
    assert find_against(HISTORY, "new") == "b"
    assert find_against(HISTORY, "b") == "a", "a night that is run again has the same past"
    past, since = list_whole(HISTORY)
    assert ([night.label for night in past], since) == (["a", "b"], 2)
    assert list_whole([]) == ([], 0)


def test_an_alarm_that_was_accepted_begins_another_past():
    history = [*HISTORY, make_night("f", alarms=["fell"]), make_night("g"), make_night("h", part=PART)]
    past, since = list_whole(history)
    assert ([night.label for night in past], since) == (["f", "g"], 1)


@pytest.mark.parametrize(
    ("subset", "why"),
    [
        (None, ""),
        (NightSubset(nights=3), "one of the first 3 whole nights"),
        (NightSubset(nights=3, every=2), "one in 2 nights asks all items"),
    ],
)
def test_the_whole_is_asked_at_first_and_every_so_many_nights(tmp_path, subset, why):
    history = [*HISTORY, *([make_night("x"), make_night("y", part=PART)] if why.endswith("items") else [])]
    assert plan_night(tmp_path, {}, [], subset, history, 1) == WholeNight(why)


def make_node(stage, key="mine"):
    return Node(f"{stage}@{key}", stage, key, (), (), ())


def test_a_stage_is_given_the_items_that_its_entry_asks():
    rows = [SimpleNamespace(id=name) for name in "abc"]
    params = {"evaluation": {"as_of": "x", "items": {"qa.systems.mine": ["c", "a"]}}}
    answers = make_node("qa.answers")
    assert [row.id for row in keep_asked(answers, "items", rows, params)] == ["a", "c"]
    assert keep_asked(answers, "answers", rows, params) == rows, "not the items"
    assert keep_asked(make_node("qa.answers", "other"), "items", rows, params) == rows
    assert keep_asked(make_node("qa.items"), "items", rows, params) == rows, "of the set, not of a system"
    for given in ({}, {"evaluation": {"as_of": "x"}}, {"evaluation": {"items": None}}):
        assert keep_asked(answers, "items", rows, given) == rows
    with pytest.raises(BadInput, match=r"1 items of qa\.systems\.mine are not in the artifact"):
        keep_asked(answers, "items", rows[:2], params)


def test_streams_are_asked_whole_since_their_items_follow_each_other():
    asks = {scope.over: scope.asks for scope in list_evaluating()}
    assert {over for over, argument in asks.items() if not argument} == {
        "streambench.evaluations",
        "streambench.systems",
    }
