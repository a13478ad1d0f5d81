import pytest

from tasks.judging.nights import AlarmRule, compare_nights
from tasks.judging.scored import Scored

RULE = AlarmRule(drop=0.02, alpha=0.05, draws=2000)


def night(*values, size=2):
    return [Scored(f"q{n:03}", f"g{n // size}", value) for n, value in enumerate(values)]


def test_the_first_night_is_compared_with_nothing_and_accepted():
    change = compare_nights([], night(1.0, 0.0, 1.0), RULE)
    assert (change.n, change.n_scored, change.n_pairs) == (3, 3, 0)
    assert change.mean == pytest.approx(2 / 3)
    assert change.difference is None
    assert not change.alarms


def test_an_unchanged_system_passes():
    same = night(*[1.0, 0.0, 1.0, 1.0] * 10)
    change = compare_nights(same, same, RULE)
    assert (change.difference, change.p_value, change.fallen, change.risen) == (0.0, 1.0, (), ())
    assert not change.alarms


def test_a_real_drop_is_an_alarm_that_says_how_far():
    # 40 of 40 right before, 20 of 40 now: the mean falls by one half.
    change = compare_nights(night(*[1.0] * 40), night(*[1.0, 1.0, 0.0, 0.0] * 10), RULE)
    assert change.difference == -0.5
    assert len(change.fallen) == 20
    assert change.alarms
    assert "fell by 0.500 over 40 items" in change.alarms[0]


def test_a_rise_is_no_alarm():
    change = compare_nights(night(*[0.0] * 40), night(*[1.0] * 40), RULE)
    assert change.difference == 1.0
    assert not change.alarms


def test_one_item_that_falls_may_be_chance():
    change = compare_nights(night(*[1.0] * 40), night(0.0, *[1.0] * 39), RULE)
    assert change.fallen == ("q000",)
    assert change.p_value > 0.05
    assert not change.alarms


def test_a_fall_smaller_than_the_rule_is_no_alarm():
    change = compare_nights(
        night(*[1.0] * 40), night(*[0.0] * 20, *[1.0] * 20), AlarmRule(drop=0.6, draws=2000)
    )
    assert change.difference == -0.5
    assert not change.alarms


def test_items_that_are_not_scored_in_both_nights_are_no_pairs():
    change = compare_nights(
        night(1.0, None, 1.0, 0.0), night(1.0, 1.0, None, 0.0, 1.0), AlarmRule(unscored=0.5)
    )
    # q000 and q003 are scored in both; q004 is new.
    assert (change.n, change.n_scored, change.n_pairs) == (5, 4, 2)
    assert (change.before, change.now) == (0.5, 0.5)


def test_a_night_that_could_not_be_scored_alarms_instead_of_passing():
    change = compare_nights(night(*[1.0] * 10), night(*[None] * 10), RULE)
    assert [alarm.split(",")[0] for alarm in change.alarms] == [
        "10 of 10 items could not be scored",
        "no item is scored in this night and in the one it is compared with",
    ]
    assert not any(compare_nights([], night(1.0, None, 1.0, 1.0, 1.0, 1.0), RULE).alarms)


def test_groups_are_drawn_whole():
    # Ten items fall, all of one group among ten: drawn one by one that is beyond chance, drawn whole not.
    before = night(*[1.0] * 100, size=10)
    now = night(*[0.0] * 10, *[1.0] * 90, size=10)
    assert not compare_nights(before, now, RULE).alarms
    alone = AlarmRule(drop=0.02, alpha=0.05, draws=2000)
    assert compare_nights(night(*[1.0] * 100, size=1), night(*[0.0] * 10, *[1.0] * 90, size=1), alone).alarms
