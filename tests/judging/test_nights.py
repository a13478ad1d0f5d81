"""Tests of a night's alarm: on a significant drop (after correction) of a system, but not of a judge."""

import numpy as np
import pytest

from tasks.judging.answered import Answered, Scored
from tasks.judging.canaries import CanaryRow
from tasks.judging.comparison import ScoredSystem, compare_scored_systems
from tasks.judging.nights import (
    AlarmRule,
    compare_canaries,
    judge_series,
    list_alarms,
    list_series,
    mark_drifts,
)

RULE = AlarmRule(drop=0.02, alpha=0.05, draws=2000)


def make_scored_system(values, size=2, entry="films-weak", system="weak"):
    answers = [
        (
            Scored(f"a{n}", f"g{n // size:03}", value),
            Answered(f"a{n}", f"q{n:03}", system, "accuracy", "", "", ""),
        )
        for n, value in enumerate(values)
    ]
    return ScoredSystem("assessments", entry, system, answers)


def judge(before, now, rule=RULE, judges=()):
    """Compare two nights. before, now: scored systems in order; an empty `before` means the first night."""
    comparison = compare_scored_systems(zip(before, now, strict=True) if before else (), draws=rule.draws)
    series = judge_series(list_series(now), comparison, judges, rule)
    return series, list_alarms(series, judges, (), rule)


def judge_one(before, now, rule=RULE, size=2, judges=()):
    scored_systems = [make_scored_system(before, size)] if before else []
    (series,), alarms = judge(scored_systems, [make_scored_system(now, size)], rule, judges)
    return series, alarms


def test_the_first_night_is_compared_with_nothing():
    series, alarms = judge_one([], [1.0, 0.0, 1.0])
    assert (series.n, series.n_scored, series.n_pairs, series.outcome) == (3, 3, 0, "first")
    assert series.mean == pytest.approx(2 / 3)
    assert not alarms


def test_an_unchanged_system_holds():
    same = [1.0, 0.0, 1.0, 1.0] * 10
    series, alarms = judge_one(same, same)
    assert (series.difference, series.p_value, series.outcome) == (0.0, 1.0, "held")
    assert not alarms


def test_a_real_drop_is_an_alarm_that_says_how_far():
    # 40 of 40 correct before, 20 of 40 now: the mean drops by one half.
    series, alarms = judge_one([1.0] * 40, [1.0, 1.0, 0.0, 0.0] * 10)
    assert (series.difference, series.fell, series.outcome) == (-0.5, 20, "fell")
    assert [alarm.kind for alarm in alarms] == ["regression"]
    assert "assessments.films-weak/weak accuracy: the mean fell by 0.500 over 40 items" in alarms[0].what


def test_a_rise_is_no_alarm():
    assert judge_one([0.0] * 40, [1.0] * 40)[0].outcome == "held"


def test_one_item_that_falls_may_be_chance():
    series, alarms = judge_one([1.0] * 40, [0.0, *[1.0] * 39])
    assert (series.fell, series.outcome) == (1, "held")
    assert not alarms


def test_a_fall_smaller_than_the_rule_is_no_alarm():
    rule = AlarmRule(drop=0.6, draws=2000)
    assert judge_one([1.0] * 40, [0.0] * 20 + [1.0] * 20, rule)[0].outcome == "held"


def test_of_fewer_than_six_groups_nothing_is_told():
    # All five groups of eight drop: a bootstrap alone would report certainty.
    series, alarms = judge_one([1.0] * 40, [0.0] * 40, size=8)
    assert (series.clusters, series.difference, series.outcome) == (5, -1.0, "too few")
    assert not alarms


def test_groups_are_drawn_whole():
    # Ten items of one group drop: significant if items are resampled, but not if groups are resampled.
    before, now = [1.0] * 100, [0.0] * 10 + [1.0] * 90
    assert judge_one(before, now, size=10)[0].outcome == "held"
    assert judge_one(before, now, size=1)[0].outcome == "fell"


def test_items_that_are_not_scored_in_both_nights_are_no_pairs():
    series, _ = judge_one([1.0, None, 1.0, 0.0], [1.0, 1.0, None, 0.0, 1.0], AlarmRule(unscored=0.5))
    # q000 and q003 are scored in both; q004 is new.
    assert (series.n, series.n_scored, series.n_pairs) == (5, 4, 2)
    assert (series.before, series.now) == (0.5, 0.5)


def test_a_night_that_could_not_be_scored_alarms_instead_of_passing():
    series, alarms = judge_one([1.0] * 10, [None] * 10)
    assert series.outcome == "unscored"
    assert "10 of 10 items could not be scored; at most 20% are allowed" in alarms[0].what
    assert not judge_one([], [1.0, None, 1.0, 1.0, 1.0, 1.0])[1]


def test_what_one_comparison_alone_would_alarm_may_be_chance_among_ten():
    # Nine of 40 independent items drop and two rise: p is about 0.03 without correction.
    before = [1.0] * 38 + [0.0] * 2
    now = [0.0] * 9 + [1.0] * 31
    alone, _ = judge_one(before, now, size=1)
    assert 0.01 < alone.p_value < 0.05
    assert alone.outcome == "fell"
    same = [make_scored_system(before, 1, f"other{n}") for n in range(9)]
    series, alarms = judge([make_scored_system(before, 1), *same], [make_scored_system(now, 1), *same])
    assert {metric.outcome for metric in series} == {"held"}
    assert not alarms


def make_canaries(right, judge=""):
    name = f"{judge}/" if judge else ""
    return [
        CanaryRow(f"{name}c{n:02}", "label", "Correct", given, "", None, "", "", False, ())
        for n, given in enumerate("Correct" if mark else "Incorrect" for mark in right)
    ]


def drift(before, now, judge=""):
    entry = ("assessments", "films-weak")
    changes = compare_canaries(entry, make_canaries(before, judge), make_canaries(now, judge))
    return mark_drifts(changes, RULE.alpha)


def test_a_fall_whose_judge_fails_its_canaries_is_the_judges():
    # Of 24 canaries, 12 are lost and none is gained: McNemar's p is 2 / 2^12.
    judges = drift([True] * 24, [True] * 12 + [False] * 12)
    assert judges[0].p_value == pytest.approx(2 / 2**12)
    series, alarms = judge_one([1.0] * 40, [1.0, 1.0, 0.0, 0.0] * 10, judges=judges)
    assert series.outcome == "judge drift"
    assert [alarm.kind for alarm in alarms] == ["judge drift"]
    assert "right on 12 of 24 canaries, in the earlier night on 24" in alarms[0].what
    assert "these metrics fell with the judge and do not count as regressions: accuracy" in alarms[0].what


def test_a_judge_that_wavers_on_a_few_canaries_excuses_nothing():
    # Five lost, none gained: p is 2 / 2^5 = 0.0625.
    judges = drift([True] * 24, [True] * 19 + [False] * 5)
    assert not judges[0].drifted
    assert judge_one([1.0] * 40, [1.0, 1.0, 0.0, 0.0] * 10, judges=judges)[0].outcome == "fell"


def test_one_of_two_judges_excuses_its_own_metric_alone():
    judges = drift([True] * 24, [False] * 24, judge="second")
    assert judges[0].drifted
    assert judge_one([1.0] * 40, [0.0] * 40, judges=judges)[0].outcome == "fell"


def test_entries_that_share_a_judge_count_its_change_once():
    # Six lost, none gained: p is 2 / 2^6 = 0.03125; counted for three entries, Holm would not reject.
    changes = [
        change
        for key in ("films-weak", "films-good", "films-alone")
        for change in compare_canaries(
            ("assessments", key), make_canaries([True] * 24), make_canaries([True] * 18 + [False] * 6)
        )
    ]
    assert all(change.drifted for change in mark_drifts(changes, 0.05))


def test_a_second_judge_that_hardly_changed_hides_no_drift_of_the_first():
    # Six lost, none gained: p is 2 / 2^6 = 0.03125. The other judge's single change cannot be below 0.05.
    first = drift([True] * 24, [True] * 18 + [False] * 6)
    second = drift([True] * 24, [True] * 23 + [False], judge="second")
    assert [change.drifted for change in mark_drifts([*first, *second], 0.05)] == [True, False]


def test_a_reviewers_drift_is_told_and_excuses_no_score():
    rows = [make_canaries([True] * 24), make_canaries([False] * 24)]
    changes = compare_canaries(
        ("assessments", "films-weak"), *rows, lambda row: "reviewer" if row.id < "c12" else ""
    )
    assert [(change.judge, change.n) for change in changes] == [("reviewer", 12), ("", 12)]
    marked = mark_drifts(changes, 0.05)
    reviewer = [change for change in marked if change.judge]
    series, alarms = judge_one([1.0] * 40, [0.0] * 40, judges=reviewer)
    assert series.outcome == "fell"
    assert [alarm.kind for alarm in alarms] == ["regression", "judge drift"]


def draw_night(rng, chances, drop=0.0):
    """Sample a night's scores of independent items. chances: probability of a correct answer per item."""
    return (rng.random(len(chances)) < np.clip(chances - drop, 0, 1)).astype(float).tolist()


def test_of_a_thousand_nights_of_an_unchanged_noisy_system_few_alarm():
    rng = np.random.default_rng(20310709)
    rule = AlarmRule(draws=500)
    alarmed = 0
    for _ in range(1000):
        chances = rng.uniform(0.3, 1.0, 60)
        before, now = draw_night(rng, chances), draw_night(rng, chances)
        alarmed += bool(judge_one(before, now, rule, size=1)[1])
    assert alarmed <= 65, "6.5% of them"


def test_of_a_thousand_nights_each_held_against_the_last_accepted_few_alarm():
    rng = np.random.default_rng(20310709)
    rule = AlarmRule(draws=500)
    chances = rng.uniform(0.3, 1.0, 60)
    before, alarmed = draw_night(rng, chances), 0
    for _ in range(1000):
        now = draw_night(rng, chances)
        if judge_one(before, now, rule, size=1)[1]:
            alarmed += 1
        else:
            before = now
    assert alarmed <= 65, "6.5% of them"


@pytest.mark.drill
def test_a_drop_of_15_points_among_four_comparisons_is_found_in_nine_of_ten_nights():
    rng = np.random.default_rng(20310709)
    rule = AlarmRule(draws=1000)
    found = 0
    for _ in range(200):
        chances = [rng.uniform(0.4, 1.0, 300) for _ in range(4)]
        before = [make_scored_system(draw_night(rng, chance), 1, f"e{n}") for n, chance in enumerate(chances)]
        now = [
            make_scored_system(draw_night(rng, chance, 0.15 if n == 0 else 0.0), 1, f"e{n}")
            for n, chance in enumerate(chances)
        ]
        found += judge(before, now, rule)[0][0].outcome == "fell"
    assert found >= 180
