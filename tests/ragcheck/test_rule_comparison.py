import pytest

from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.figures import Resampling
from tasks.ragcheck.ratings import Rating
from tasks.ragcheck.rule_comparison import rule_comparison
from tasks.ragcheck.scores import JudgeScore
from tests.ragcheck.scripted import make_question

ENTRY = Assessment(systems=("s",), judges=("one",), ratings="x.csv")


def compare(before, after, people=(), keys=None, draws=1000):
    """Compare grades by E2 (before) and E3 (after) of the same answers; None is a missing grade."""
    questions = [make_question(n, key=keys[n - 1] if keys else f"key-{n}") for n in range(1, len(before) + 1)]
    scores = [
        JudgeScore(f"{n}{rule}", f"a{n}", f"q{n}", "s", rule, "one", grades[n - 1], "", "", ())
        for n in range(1, len(before) + 1)
        for rule, grades in (("E2", before), ("E3", after))
    ]
    ratings = [Rating(f"r{n}", f"a{n}", "ann", rating, ()) for n, rating in enumerate(people, 1)]
    rows = rule_comparison(questions, scores, ratings, ENTRY, Resampling(draws=draws)).rows
    return {row.figure: row for row in rows}


def test_only_answers_with_a_grade_by_both_rules_are_compared():
    row = compare([3, 4, 0, None, 2], [4, 4, 5, 5, 5])["mean"]
    assert (row.n, row.estimate.value) == (3, pytest.approx((1 + 0 + 3) / 3))
    assert len(row.origin) == 6
    assert compare([3, 4], [4, 4])["pearson"].estimate.value is None


def test_a_correlation_that_rises_is_shown_in_pairs():
    people = [1, 2, 3, 4, 5] * 6
    rows = compare([3, 1, 5, 2, 4] * 6, people, people)
    # E3's grades equal people's: 1. With E2, the centred products sum to 3, the squares to 10.
    for figure in ("pearson", "spearman"):
        assert rows[figure].estimate.value == pytest.approx(1 - 0.3)
        assert rows[figure].estimate.low > 0
        assert rows[figure].p_value < 0.01
        assert rows[figure].adjusted >= rows[figure].p_value


def test_equal_grades_differ_in_nothing():
    same, people = [1, 2, 3, 4, 5, 1], [2, 2, 3, 5, 4, 1]
    for row in compare(same, same, people).values():
        assert (row.estimate.value, row.estimate.interval, row.p_value) == (0, None, 1)
        assert row.estimate.why == "all values are equal: no interval"
    for row in compare(same[:5], same[:5], people[:5]).values():
        assert (row.estimate.value, row.estimate.interval, row.p_value) == (0, None, None)
        assert row.estimate.why == "fewer than 6 conversations: no interval"


def test_turns_of_one_conversation_are_drawn_together():
    before, after = [3] * 24, [4, 4, 4, 4, 2, 2, 2, 2, 4, 4, 4, 4] * 2
    alone = compare(before, after)["mean"]
    keys = [f"talk-{n // 4}<::>{n}" for n in range(24)]
    whole = compare(before, after, keys=keys)["mean"]
    assert (alone.conversations, whole.conversations) == (24, 6)
    assert alone.estimate.value == whole.estimate.value == pytest.approx(1 / 3)
    assert whole.estimate.low < alone.estimate.low
    assert whole.p_value > alone.p_value
