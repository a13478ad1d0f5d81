"""Tests of intervals, paired differences, McNemar's test and Holm's correction."""

from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from tasks.errors import BadInput
from tasks.scoring.metric import MeanSample, count_kinds
from tasks.scoring.statistics import (
    LEVEL,
    NORMAL_QUANTILE,
    bootstrap,
    compare_outcomes,
    compare_paired,
    correct_holm,
    draw_by_index,
    draw_weights,
    find_mean_interval,
    find_share_interval,
    find_wilson_interval,
    settle_interval,
)


def sample(values):
    return MeanSample.gather(("mean",), frozenset(), np.array(values, dtype=float).reshape(-1, 1))


def test_kinds_are_sorted_counted_and_nan_equals_nan():
    kinds, counts = count_kinds(np.array([[2, np.nan], [1, 5], [2, np.nan], [1, 4]]))
    assert kinds.tolist()[:2] == [[1, 4], [1, 5]]
    assert counts.tolist() == [1, 1, 2]


def test_every_draw_takes_as_many_units_as_there_are():
    blocks = list(draw_weights(np.array([3, 1, 6]), 1000, np.random.default_rng(0)))
    weights = np.concatenate(blocks)
    assert weights.shape == (1000, 3)
    assert (weights.sum(axis=1) == 10).all()
    assert weights.mean(axis=0) == pytest.approx([3, 1, 6], abs=0.2)


def test_the_interval_of_a_mean_is_scipys():
    values = np.random.default_rng(1).exponential(size=80)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert bootstrap(sample(values))["mean"] == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_the_interval_of_a_share_is_binomial():
    # 50 of 100: a sample's count is Binomial(100, 0.5), whose 2.5% and 97.5% quantiles are 40 and 60
    assert bootstrap(sample([1] * 50 + [0] * 50))["mean"] == (0.4, 0.6)


def test_the_same_seed_gives_the_same_interval_and_order_does_not_matter():
    values = np.random.default_rng(1).random(50)
    assert bootstrap(sample(values), 500, 7) == bootstrap(sample(values[::-1]), 500, 7)
    assert bootstrap(sample(values), 500, 7) != bootstrap(sample(values), 500, 8)


def test_no_units_have_no_interval():
    assert bootstrap(sample([])) == {}


def test_equal_systems_do_not_differ_and_clear_ones_do():
    a = [1, 0] * 50
    equal = compare_paired(a, a)
    assert (equal.difference, equal.interval, equal.p_value) == (0, None, 1)
    assert equal.why == "all values are equal: no interval"
    clear = compare_paired([1] * 50 + [0] * 50, [0] * 90 + [1] * 10)
    assert clear.difference == pytest.approx(0.4)
    assert clear.interval[0] > 0.2
    assert clear.p_value == pytest.approx(2 / 10_001)  # no sample reached zero


def test_groups_are_drawn_whole():
    # In three groups of 50, a is better; in three groups, b is better. A sample of 6 has binomial(6, 1/2) of
    # a's groups: none in 1.6% of samples, one in 9.4%, so 2.5% are at -4/6 and below. A bootstrap over items
    # would be near 0.
    a, b = [1] * 150 + [0] * 150, [0] * 150 + [1] * 150
    grouped = compare_paired(a, b, groups=[n // 50 for n in range(300)])
    assert grouped.interval == pytest.approx((-4 / 6, 4 / 6))
    assert grouped.clusters == 6
    single = compare_paired(a, b).interval
    assert -0.2 < single[0] < single[1] < 0.2


def test_of_five_clusters_nothing_is_told_of_chance():
    a, b = [1, 1, 0, 1, 1], [0, 0, 1, 0, 0]
    few = compare_paired(a, b)
    assert (few.difference, few.interval, few.p_value) == (pytest.approx(0.6), None, None)
    assert few.why == "fewer than 6 items: no interval"
    # Any number of items in five groups.
    many = compare_paired(a * 20, b * 20, groups=[0, 1, 2, 3, 4] * 20, of="templates")
    assert (many.interval, many.p_value, many.why) == (None, None, "fewer than 6 templates: no interval")
    assert compare_outcomes([True] * 5, [False] * 5).p_value is None
    six = compare_paired([*a, 1], [*b, 0])
    assert six.interval is not None
    assert six.p_value is not None


def test_no_p_is_below_that_of_all_clusters_on_one_side():
    # All six rose by the same amount: by chance in 2 of 2^6 cases. A bootstrap would report 2 of 10,001.
    assert compare_paired([1] * 6, [0] * 6).p_value == 2 / 2**6


def test_an_interval_has_a_width_and_a_reason_where_there_is_none():
    assert settle_interval((0.2, 0.4), 6, "items") == ((0.2, 0.4), "")
    assert settle_interval((0.2, 0.4), 5, "items") == (None, "fewer than 6 items: no interval")
    assert settle_interval((0.2, 0.2), 6, "items") == (None, "all values are equal: no interval")
    # A width due to rounding does not count.
    assert settle_interval((0.2, 0.2 + 1e-12), 6, "items")[0] is None
    # A share of 0 or 1 has Wilson's interval: 0 of 6 extends to z^2 / (6 + z^2).
    assert settle_interval((0, 0), 6, "items", 0)[0] == pytest.approx((0, 3.8415 / 9.8415), abs=1e-4)
    assert settle_interval((3, 3), 6, "items", 3)[0] is None
    assert find_share_interval(5, 5, "answers") == (None, "fewer than 6 answers: no interval")


def test_the_interval_of_a_mean_draws_its_groups_whole():
    values = [1, 1, 1, 0, 0, 0] * 4
    alone = find_mean_interval(values, of="items")[0]
    # Four copies of each of six items are six clusters, with the uncertainty of six items.
    whole = find_mean_interval(values, [0, 1, 2, 3, 4, 5] * 4, of="items")[0]
    assert whole == pytest.approx((1 / 6, 5 / 6))
    assert whole[0] < alone[0] < alone[1] < whole[1]
    assert find_mean_interval(values, [0, 1, 2] * 8, of="groups")[1] == "fewer than 6 groups: no interval"
    assert find_mean_interval([1] * 6, of="items", share=True)[0] == pytest.approx((0.6097, 1), abs=1e-4)


def test_pairs_must_fit():
    with pytest.raises(BadInput, match="the same items"):
        compare_paired([1, 2], [1])
    with pytest.raises(BadInput, match="the same items"):
        compare_outcomes([True], [])


def test_mcnemar_is_the_sign_test_of_the_items_that_differ():
    # 6 items only for a, 1 only for b: 2 * (C(7,0) + C(7,1)) / 2^7 = 16/128
    a = [True] * 6 + [False] + [True] * 20 + [False] * 3
    b = [False] * 6 + [True] + [True] * 20 + [False] * 3
    found = compare_outcomes(a, b)
    assert (found.only_a, found.only_b) == (6, 1)
    assert found.p_value == pytest.approx(16 / 128)
    assert compare_outcomes([True] * 6, [True] * 6).p_value == 1


def test_holm_by_hand():
    # sorted 0.01 0.02 0.04: times 3, 2, 1, never falling: 0.03 0.04 0.04
    assert correct_holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert correct_holm([0.9, 0.8]) == pytest.approx([1, 1])
    assert correct_holm([]) == []
    # Missing p values remain missing, and do not count as tests.
    assert correct_holm([None, 0.01, None, 0.02]) == [None, pytest.approx(0.02), None, pytest.approx(0.02)]


def test_holm_leaves_ties_and_order_alone():
    # sorted 0.01 0.01 0.03 0.03: times 4, 3, 2, 1: 0.04 0.03 0.06 0.03, never falling: 0.04 0.04 0.06 0.06
    assert correct_holm([0.03, 0.01, 0.03, 0.01]) == pytest.approx([0.06, 0.04, 0.06, 0.04])


def test_wilsons_interval_by_hand():
    # 0 of n: from 0 to z^2 / (n + z^2); n = 10, z^2 = 3.8415: 3.8415 / 13.8415
    assert find_wilson_interval(0, 10) == pytest.approx((0, 0.27753), abs=5e-6)
    # half of n: 0.5 -+ z sqrt(n + z^2) / (2 (n + z^2)); n = 20: 0.5 -+ 0.98 / sqrt(23.8415) = 0.5 -+ 0.20070
    assert find_wilson_interval(10, 20) == pytest.approx((0.29930, 0.70070), abs=5e-6)


def test_wilsons_interval_has_scipys_digits():
    for trials in range(1, 41):
        for successes in range(trials + 1):
            theirs = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
            ours = find_wilson_interval(successes, trials)
            assert ours == pytest.approx((theirs.low, theirs.high), rel=1e-13, abs=1e-15)
            assert 0 <= ours[0] < ours[1] <= 1


def test_the_quantile_of_wilsons_interval_is_that_of_the_level():
    assert NormalDist().cdf(NORMAL_QUANTILE) == pytest.approx((1 + LEVEL) / 2, rel=1e-15)


@pytest.mark.parametrize(("units", "kinds"), [(1, 1), (7, 3), (60, 60), (1500, 900)])
def test_draws_in_blocks_are_those_of_one_draw_after_the_other(units, kinds):
    counts = np.bincount(np.arange(units) % kinds, minlength=kinds)
    kind = np.repeat(np.arange(kinds), counts)
    rng = np.random.default_rng(5)
    one_by_one = [np.bincount(kind[rng.integers(0, units, units)], minlength=kinds) for _ in range(301)]
    assert (draw_by_index(counts, 301, np.random.default_rng(5)) == one_by_one).all()
