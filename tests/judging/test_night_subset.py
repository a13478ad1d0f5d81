"""Tests of selecting a night's subset of items, of estimates from the subset, and of a drop's p value."""

import numpy as np
import pytest

from tasks.judging.night_subset import (
    check_part,
    choose_part,
    count_part,
    estimate_change,
    expect_scores,
    find_chances,
    find_detectable_drop,
    find_fall_chance,
    order_items,
    weigh_items,
    weigh_parts,
)

IDS = [f"q{n:02}" for n in range(40)]
STRATA = [(f"t{n // 8}", f"g{n // 4}") for n in range(40)]


def choose(ids, strata, seed=0, part=0, number=10, chances=None):
    chances = np.full(len(ids), number / len(ids)) if chances is None else chances
    chosen = choose_part(chances, order_items(ids, strata, seed), part, seed)
    return {item for item, is_in in zip(ids, chosen, strict=True) if is_in}


def test_an_item_that_changes_weighs_more():
    # Two items, four nights: 0 1 0 1 and 1 1 1 1. Squares 1 and 0, pooled variance 1 / (3 + 3) = 1/6. With a
    # prior of 8 results: (1 + 8/6) / 11 = 0.2121 and (8/6) / 11 = 0.1212; their mean is 1/6.
    past = np.array([[[0.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]])
    assert weigh_items(past, ["accuracy"]) == pytest.approx(
        [np.sqrt(0.21212 * 6), np.sqrt(0.12121 * 6)], abs=1e-4
    )


def test_an_item_that_tells_two_systems_apart_weighs_more_and_scales_do_not_count():
    steady = np.array([[[1.0, 1.0]] * 3, [[0.0, 1.0]] * 3])
    assert weigh_items(steady, ["f1", "f1"])[0] > weigh_items(steady, ["f1", "f1"])[1]
    assert weigh_items(steady, ["f1", "em"]) == pytest.approx([1, 1]), "each never changed by itself"
    noisy = np.array([[[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]]])
    assert weigh_items(noisy * 5, ["score"]) == pytest.approx(weigh_items(noisy, ["score"]))


def test_unscored_results_do_not_count():
    past = np.array([[[0.0, 1.0], [np.nan, 1.0], [1.0, np.nan], [np.nan, np.nan]]])
    assert weigh_items(past, ["f1"])[0] > weigh_items(past, ["f1"])[1]
    assert expect_scores(past).tolist() == [[0.5, 1.0]]


def test_chances_are_in_proportion_and_at_most_one():
    # 2 of 4: the first would have 2 * 3/6 = 1, so it is certain, and the others share the rest.
    assert find_chances(np.array([3.0, 1, 1, 1]), 2) == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3])
    # 3 of 4, weights 6 2 1 1: the first is certain, and then the second, with 2 * 2/4 = 1.
    assert find_chances(np.array([6.0, 2, 1, 1]), 3) == pytest.approx([1, 1, 0.5, 0.5])


def test_each_stratum_has_its_share_of_each_part():
    for part in range(20):
        chosen = choose(IDS, STRATA, part=part)
        assert len(chosen) == 10
        numbers = sorted(int(item[1:]) for item in chosen)
        assert [n // 8 for n in numbers] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], "two of eight of each template"
        assert [n // 4 for n in numbers] == list(range(10)), "one of four of each group"


def test_unequal_chances_are_kept_in_the_long_run():
    chances = find_chances(np.linspace(1, 6, 40), 10)
    order = order_items(IDS, STRATA, 0)
    often = np.mean([choose_part(chances, order, part, 0) for part in range(987)], axis=0)
    assert often == pytest.approx(chances, abs=0.01)


def test_the_same_items_and_seed_give_the_same_part_in_whatever_order_they_are_listed():
    shuffled = np.random.default_rng(1).permutation(40)
    ids, strata = [IDS[n] for n in shuffled], [STRATA[n] for n in shuffled]
    assert choose(ids, strata, part=3) == choose(IDS, STRATA, part=3)
    assert choose(IDS, STRATA, seed=1) != choose(IDS, STRATA)


def test_parts_in_a_row_ask_all_items():
    asked = set().union(*(choose(IDS, STRATA, part=part) for part in range(8)))
    assert asked == set(IDS)
    assert not choose(IDS, STRATA, part=0) & choose(IDS, STRATA, part=1)


def test_a_part_has_six_items_or_more():
    assert [count_part(items, 0.1) for items in (240, 40, 4)] == [24, 6, 4]


def test_the_change_is_the_weighted_mean_of_differences():
    expected, weights = np.array([1.0, 0.5, 0.5, 0.0]), np.array([0.25, 0, 0.75, 0])
    assert estimate_change(np.array([0.0, np.nan, 1.0, np.nan]), expected, weights) == pytest.approx(
        0.25 * -1 + 0.75 * 0.5
    )
    assert estimate_change(np.array([0.0, 1.0, np.nan, 1.0]), expected, weights) == pytest.approx(-1)
    assert np.isnan(estimate_change(np.full(4, np.nan), expected, weights))


def test_weights_of_parts_add_up_to_one_and_undo_the_chances():
    # One of four equal items, or one of two: the first item weighs 1 / probability before scaling.
    chances = np.array([0.25] * 4 + [0.5] * 2)
    weights = weigh_parts(chances, np.arange(6), 0, 1, 0)
    assert weights.sum() == pytest.approx(1)
    assert sorted(weights[weights > 0]) == pytest.approx([2 / 6, 4 / 6])
    three = weigh_parts(chances, np.arange(6), 0, 3, 0)
    parts = [weigh_parts(chances, np.arange(6), part, 1, 0) for part in range(3)]
    assert three == pytest.approx(np.mean(parts, axis=0))


def test_estimates_are_right_on_average():
    rng = np.random.default_rng(0)
    chances = find_chances(rng.uniform(0.5, 2, 40), 10)
    order, expected = order_items(IDS, STRATA, 0), rng.random(40)
    now = expected - rng.uniform(0, 0.4, 40)
    found = [estimate_change(now, expected, weigh_parts(chances, order, part, 1, 0)) for part in range(400)]
    assert np.mean(found) == pytest.approx((now - expected).mean(), abs=0.005)


def test_the_error_is_what_a_part_is_off_by_in_the_next_night():
    rng = np.random.default_rng(0)
    nights = (rng.random((300, 8, 40)) < rng.beta(2, 1, (300, 1, 40))).astype(float)
    past, now = nights[:, None, :7], nights[:, 7]
    order = order_items(IDS, STRATA, 0)
    stated = check_part(past, ["f1"], order, 0.25, 0)
    chances = find_chances(weigh_items(past, ["f1"]), 10)
    expected = expect_scores(past)[:, 0]
    change = estimate_change(now, expected, weigh_parts(chances, order, 0, 1, 0))
    off = change - (now - expected).mean(1)
    assert np.sqrt(np.mean(stated.error**2)) == pytest.approx(np.sqrt(np.mean(off**2)), rel=0.12)
    assert np.sqrt(np.mean(stated.spread**2)) == pytest.approx(np.sqrt(np.mean(change**2)), rel=0.12)


def test_a_fall_is_unlikely_by_its_spread():
    found = find_fall_chance(np.array([-0.16449, 0.0, -0.1, 0.0, np.nan]), np.array([0.1, 0.1, 0, 0, 0.1]))
    assert found == pytest.approx([0.05, 0.5, 0, 1, 1], abs=1e-4)


def test_the_detectable_drop_counts_what_the_drop_itself_adds():
    # Without a unit: (1.6449 + 0.8416) * 0.1. Without a spread: 0.8416^2 * 0.04.
    assert find_detectable_drop(0.1, 0.0, 0.05) == pytest.approx(0.24865, abs=1e-4)
    assert find_detectable_drop(0.0, 0.04, 0.05) == pytest.approx(0.02833, abs=1e-4)
    drop = find_detectable_drop(0.05, 0.04, 0.05)
    assert drop == pytest.approx(1.6449 * 0.05 + 0.8416 * np.sqrt(0.05**2 + drop * 0.04), abs=1e-4)
