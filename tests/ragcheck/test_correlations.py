import pytest

from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.baselines import BaselineSimilarity
from tasks.ragcheck.correlations import correlations
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.figures import Resampling
from tasks.ragcheck.ratings import Rating
from tasks.ragcheck.scores import JudgeScore
from tests.ragcheck.scripted import make_question

RESAMPLING = Resampling(draws=300)
ENTRY = Assessment(systems=("s",), judges=("one", "two"), ratings="x.csv")


def make_answer(number, text="t"):
    return SystemAnswer(f"a{number}", f"q{number}", "s", "1", text, "", (), ())


def make_score(number, score, rule="E3", judge="one"):
    return JudgeScore(
        f"a{number}{rule}{judge}", f"a{number}", f"q{number}", "s", rule, judge, score, "", "", ()
    )


def rate(number, rating, rater="ann"):
    return Rating(f"a{number}{rater}", f"a{number}", rater, rating, ())


def recall(number, value):
    return BaselineSimilarity(f"b{number}", f"a{number}", f"q{number}", "s", "word_recall", value, "", ())


def run(n, scores=(), ratings=(), baselines=(), datasets=None, silent=()):
    questions = [make_question(i, dataset=(datasets or {}).get(i, "db")) for i in range(1, n + 1)]
    answers = [make_answer(i, None if i in silent else "t") for i in range(1, n + 1)]
    drafts = correlations(questions, answers, list(scores), list(baselines), list(ratings), ENTRY, RESAMPLING)
    return {(row.dataset, row.measure, row.judge): row for row in drafts.rows}


def test_not_sure_is_left_out_of_mean_and_correlation_and_unscored_is_failed():
    # judge 5 4 0 None 1 against people 5 4 3 2 2: pairs (5,5) (4,4) (2,1), mean (5+4+1)/3
    scores = [make_score(i, s) for i, s in enumerate([5, 4, 0, None, 1], 1)]
    people = [rate(i, r) for i, r in enumerate([5, 4, 3, 2, 2], 1)]
    row = run(5, scores, people)["", "E3", "one"]
    assert (row.n, row.scored, row.unsure, row.failed, row.skipped) == (5, 3, 1, 1, 0)
    assert row.mean.value == pytest.approx(10 / 3)
    assert row.pairs == 3
    # people 5 4 2 and judge 5 4 1: means 11/3 and 10/3; sum of products 6 + 1/3,
    # of squares 4 + 2/3 and 8 + 2/3
    assert row.pearson.value == pytest.approx((6 + 1 / 3) / ((4 + 2 / 3) * (8 + 2 / 3)) ** 0.5)
    assert row.spearman.value == pytest.approx(1.0)


def test_a_person_who_is_not_sure_leaves_the_item_out():
    scores = [make_score(i, s) for i, s in enumerate([5, 4, 3], 1)]
    people = [rate(1, 5), rate(2, 4), rate(3, 2), rate(3, 0, "bo")]
    rows = run(3, scores, people)
    assert rows["", "E3", "one"].pairs == 2
    assert (rows["", "E1", ""].scored, rows["", "E1", ""].unsure) == (2, 1)
    assert rows["", "E1", ""].mean.value == 4.5


def test_every_judge_and_rule_has_a_line_and_those_without_contexts_are_skipped():
    rows = run(2, [make_score(1, 4), make_score(2, 2), make_score(1, 5, "E2", "two")])
    assert rows["", "E3", "one"].mean.value == 3
    assert (rows["", "E2", "two"].scored, rows["", "E2", "two"].skipped) == (1, 1)
    assert rows["", "E2", "one"].mean.value is None
    assert "not shown" in rows["", "E2", "one"].note


def test_an_answer_that_was_not_given_is_failed_by_every_measure():
    rows = run(2, [make_score(1, 4)], baselines=[recall(1, 0.5)], silent=(2,))
    for key in [("", "E3", "one"), ("", "word_recall", "")]:
        assert (rows[key].scored, rows[key].failed) == (1, 1)


def test_a_zero_of_a_baseline_is_a_value():
    row = run(2, ratings=[rate(1, 5), rate(2, 1)], baselines=[recall(1, 1.0), recall(2, 0.0)])
    assert row["", "word_recall", ""].mean.value == 0.5
    assert row["", "word_recall", ""].pearson.value == 1.0


def test_raters_agreement_is_printed_with_people():
    people = [rate(i, r, who) for i, r in enumerate([1, 2, 5], 1) for who in ("ann", "bo")]
    assert run(3, ratings=people)["", "E1", ""].alpha.value == 1.0
    # One rater per item: agreement is undefined.
    assert run(3, ratings=people[::2])["", "E1", ""].alpha.value is None


def test_datasets_have_lines_of_their_own():
    scores = [make_score(1, 2), make_score(2, 4)]
    rows = run(2, scores, datasets={1: "x", 2: "y"})
    assert [rows[d, "E3", "one"].mean.value for d in ("", "x", "y")] == [3, 2, 4]


def test_without_ratings_there_is_no_line_of_people():
    assert not any(measure == "E1" for _, measure, _ in run(1, [make_score(1, 3)]))


def test_a_judges_agreement_with_people_is_ordinal_alpha_over_the_pairs():
    # Pairs (person, judge): (5,5) (1,1) (3,2); a 0 excludes one pair.
    # Mid-ranks of 1 1 2 3 5 5: 1.5 1.5 3 4 5.5 5.5. D_o = 2/6 * (4-3)^2 = 1/3.
    # D_e is the mean squared distance of two of the six ranks: 2 (6 sum g^2 - (sum g)^2) / 30
    # with sum g = 21, sum g^2 = 4.5 + 9 + 16 + 60.5 = 90, so 2 (540 - 441) / 30 = 6.6.
    scores = [make_score(i, s) for i, s in enumerate([5, 1, 2, 0], 1)]
    people = [rate(i, r) for i, r in enumerate([5, 1, 3, 4], 1)]
    rows = run(4, scores, people)
    assert rows["", "E3", "one"].alpha.value == pytest.approx(1 - (1 / 3) / 6.6)
    assert rows["", "word_recall", ""].alpha.value is None


def test_a_judge_that_ranks_as_people_do_but_gives_less_correlates_and_does_not_agree():
    scores = [make_score(i, s) for i, s in enumerate([1, 1, 2, 2, 3, 3], 1)]
    people = [rate(i, r) for i, r in enumerate([3, 3, 4, 4, 5, 5], 1)]
    row = run(6, scores, people)["", "E3", "one"]
    assert row.spearman.value == pytest.approx(1.0)
    assert row.alpha.value < 0.2
