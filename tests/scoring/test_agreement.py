"""Tests of agreement against results by hand, a published table, and NLTK."""

import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask

from tasks.scoring.running import Bootstrap


def rate(*items):
    return [{"id": n, "ratings": list(ratings)} for n, ratings in enumerate(items)]


def test_two_raters_by_hand(score):
    # raters: 1 1 2 2 / 1 2 2 2. Agreement 3/4; chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2: kappa (3/4 - 1/2) / (1/2)
    # alpha: ratings 1 three times, 2 five times, n = 8; D_o = 2 unlike ordered pairs / 8;
    # D_e = 2 * 3 * 5 / (8 * 7); 1 - (1/4) / (15/28)
    report = score("agreement", rate((1, 1), (1, 2), (2, 2), (2, 2)))
    assert report["unanimous"] == 3 / 4
    assert report["kappa"] == pytest.approx(1 / 2)
    assert report["krippendorff"] == pytest.approx(1 - (1 / 4) / (15 / 28))


# Krippendorff's own example ("Computing Krippendorff's Alpha-Reliability", part C): four observers, twelve
# units, gaps; published results: 0.743 nominal, 0.815 ordinal, 0.849 interval.
A = [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None]
B = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3]
C = [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None]
D = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None]


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_example(score, level, alpha):
    report = score("agreement", rate(*zip(A, B, C, D, strict=True)), level=level)
    assert report["krippendorff"] == pytest.approx(alpha, abs=0.0005)
    assert (report["n_scored"], report["n_skipped"]) == (11, 1)  # the last unit has one rating
    assert report["unanimous"] == pytest.approx(8 / 11)  # all but units 2, 6 and 8
    assert report["kappa"] is None  # four raters


def test_interval_by_hand(score):
    # units (1, 2) and (4, 4): D_o = 2 * 1 / 4. Ratings 1 2 4 4: squared differences 1 9 9 4 4 0, both ways
    # round 54, D_e = 54 / (4 * 3)
    report = score("agreement", rate((1, 2), (4, 4)), level="interval")
    assert report["krippendorff"] == pytest.approx(1 - (2 / 4) / (54 / 12))


def test_ratings_may_be_words_and_words_are_not_numbers(score):
    report = score("agreement", rate(("Match", "Match"), ("1", 1), (True, 1), (False, False), (1, 1.0)))
    assert report["unanimous"] == 3 / 5


def test_kappa_is_over_the_items_that_both_rated_and_null_for_other_numbers_of_raters(score):
    report = score("agreement", rate((1, 1), (1, 2), (2, 2), (2, 2), (None, 2), (1, None)))
    assert report["kappa"] == pytest.approx(1 / 2)
    assert score("agreement", rate((1, 1), (1, 2, None)))["kappa"] is None


def test_kappa_against_nltk(score):
    rng = np.random.default_rng(4)
    first = rng.integers(0, 4, 200)
    second = np.where(rng.random(200) < 0.6, first, rng.integers(0, 4, 200))
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    task = AnnotationTask([(rater, n, pair[rater]) for n, pair in enumerate(pairs) for rater in (0, 1)])
    assert score("agreement", rate(*pairs))["kappa"] == pytest.approx(task.kappa())


def test_without_any_expected_disagreement_there_is_no_coefficient(score):
    report = score("agreement", rate((3, 3), (3, 3)), level="ordinal", intervals=Bootstrap(20))
    assert (report["unanimous"], report["krippendorff"], report["kappa"]) == (1, None, None)
    assert report["ci"]["krippendorff"] is None


def test_opposite_ratings_are_worse_than_chance(score):
    report = score("agreement", rate((1, 2), (2, 1)))
    # kappa: agreement 0, chance 1/2. alpha: D_o = 4/4, D_e = 2 * 2 * 2 / (4 * 3)
    assert report["kappa"] == pytest.approx(-1)
    assert report["krippendorff"] == pytest.approx(1 - 1 / (8 / 12))
