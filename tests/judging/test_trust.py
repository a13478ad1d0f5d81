import pytest

from flows.settings import load_params, parse_section
from tasks.judging.canaries import CanaryHealth
from tasks.judging.human_labels import HumanLabel
from tasks.judging.trust import TrustThresholds, find_majority_labels, find_warnings, measure_agreement
from tests.judging.scripted import ROOT

HEALTHY = CanaryHealth(24, 24, 0, 1.0)


def people(**by_item):
    """Return people's ratings: q1="CCI" means three raters, and the third says Incorrect."""
    words = {"C": "Correct", "I": "Incorrect"}
    return [
        HumanLabel(item, words[sign], f"rater {n}")
        for item, signs in by_item.items()
        for n, sign in enumerate(signs)
    ]


def test_thresholds_stand_in_the_parameters():
    assert parse_section(load_params(ROOT), "judging.thresholds", TrustThresholds) == TrustThresholds()


def test_people_are_settled_by_most_of_them():
    assert find_majority_labels(people(a="CCI", b="CI", c="I")) == {
        "a": "Correct",
        "b": None,
        "c": "Incorrect",
    }


def test_a_judge_is_held_against_people():
    # a, b, c, d are compared, and d differs: 3 of 4. Chance: people say C 3 of 4 times, the judge 2 of 4, so
    # p_e = 3/4 * 2/4 + 1/4 * 2/4 = 1/2, kappa = (3/4 - 1/2) / (1 - 1/2) = 1/2.
    labels = people(a="C", b="C", c="I", d="C", e="C", f="CI", g="C")
    verdicts = {"a": "Correct", "b": "Correct", "c": "Incorrect", "d": "Incorrect", "e": None, "f": "Correct"}
    found = measure_agreement(verdicts, labels, draws=500)
    assert (found.n_items, found.n_unsettled, found.n_unscored, found.n) == (7, 1, 2, 4)
    assert found.agreement == pytest.approx(0.75)
    assert found.kappa == pytest.approx(0.5)
    assert (found.low, found.high, found.kappa_interval) == (None, None, None)  # of four items
    assert measure_agreement(verdicts, labels[::-1], draws=500) == found


def test_an_agreement_over_six_items_has_an_interval_and_a_whole_one_wilsons():
    labels = people(a="C", b="C", c="I", d="C", e="C", f="I")
    verdicts = {"a": "Correct", "b": "Correct", "c": "Incorrect", "d": "Incorrect", "e": "Correct"}
    five = measure_agreement(verdicts, labels, draws=500)
    assert (five.n, five.low, five.kappa_interval) == (5, None, None)
    six = measure_agreement({**verdicts, "f": "Incorrect"}, labels, draws=500)
    assert six.n == 6
    assert 0 <= six.low < 5 / 6 < six.high <= 1
    assert six.kappa_interval[0] < six.kappa < six.kappa_interval[1]
    same = measure_agreement({**verdicts, "d": "Correct", "f": "Incorrect"}, labels, draws=500)
    # Wilson for 6 of 6: from 6 / (6 + z2), z2 = 3.8415, to 1. A kappa of 1 in all samples has no interval.
    assert (same.low, same.high) == pytest.approx((6 / 9.8415, 1), abs=1e-4)
    assert (same.kappa, same.kappa_interval) == (1, None)


def test_the_raters_own_agreement_is_told():
    # Two raters of a, b: observed disagreement on 1 of 2 items; values C C C I:
    # D_o = 1/2, D_e = 2 * 3 * 1 / (4 * 3) = 1/2, so alpha = 0.
    assert measure_agreement({}, people(a="CC", b="CI"), draws=10).raters_alpha == pytest.approx(0)
    assert measure_agreement({}, people(a="C", b="I"), draws=10).raters_alpha is None


def test_without_a_pair_there_is_no_figure():
    found = measure_agreement({"x": "Correct"}, people(a="C"), draws=10)
    assert (found.n, found.agreement, found.low, found.kappa) == (0, None, None, None)


def warn(canaries=HEALTHY, human=None, n=100, n_unscored=0):
    return find_warnings(TrustThresholds(), n=n, n_unscored=n_unscored, canaries=canaries, human=human)


def test_a_judge_that_can_be_believed_brings_no_warning():
    human = measure_agreement({"a": "Correct", "b": "Incorrect"}, people(a="C", b="I"), draws=10)
    assert warn(human=human, n_unscored=5) == ()
    assert warn(CanaryHealth(20, 20, 0, 0.9, ("a", "b"))) == ()


def test_wrong_canaries_are_named():
    (sentence,) = warn(CanaryHealth(24, 23, 1, 20 / 23, ("a", "b", "c")))
    assert "20 of 23 test cases right, 1 more got no readable verdict" in sentence
    assert "90.0% required" in sentence
    assert "Wrong: a, b, c." in sentence


def test_further_canaries_warn_beside_the_first_and_their_absence_does_not():
    poor = CanaryHealth(24, 24, 0, 0.5, ("x",))
    assert find_warnings(TrustThresholds(), n=9, n_unscored=0, canaries=HEALTHY, further=HEALTHY) == ()
    (sentence,) = find_warnings(TrustThresholds(), n=9, n_unscored=0, canaries=HEALTHY, further=poor)
    assert "held-out test cases right" in sentence


def test_unreadable_canaries_do_not_make_a_judge_trusted():
    assert "2 of 2 test cases right, 22 more got no readable verdict" in warn(CanaryHealth(24, 2, 22, 1.0))[0]
    assert "no readable verdict on 24" in warn(CanaryHealth(24, 0, 24, None))[0]


def test_a_judge_that_was_never_tried_is_told():
    assert "not tested on cases with known verdicts" in warn(None)[0]
    assert "not tested on cases with known verdicts" in warn(CanaryHealth(0, 0, 0, None))[0]


def test_a_judge_that_people_disagree_with_is_told():
    human = measure_agreement({"a": "Correct", "b": "Correct"}, people(a="C", b="I"), draws=50)
    (sentence,) = warn(human=human)
    assert "agrees with people on 50.0% of 2 items" in sentence
    assert "80.0% required" in sentence
    nothing = measure_agreement({}, people(a="C"), draws=50)
    assert "None of the 1 items" in warn(human=nothing)[0]


def test_unscored_rows_are_told():
    assert "6 of 100 rows are unscored (6.0%; at most 5.0% are allowed)" in warn(n_unscored=6)[0]
    assert warn(n=0) == ("No row was judged.",)


def test_every_reason_has_its_sentence():
    human = measure_agreement({"a": "Correct"}, people(a="I"), draws=50)
    assert len(warn(CanaryHealth(4, 4, 0, 0.5, ("a", "b")), human, 10, 10)) == 3
