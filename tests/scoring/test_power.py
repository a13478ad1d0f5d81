"""Tests of a comparison's power, against results by hand and simulation."""

from math import sqrt

import numpy as np
import pytest

from tasks.scoring.statistics import compare_paired, find_clustered_error, find_detectable, find_needed


def test_without_clusters_it_is_the_plain_standard_error():
    # mean 0.5; sum of squares about it 4 * 0.25 = 1; s = sqrt(1/3); s / sqrt(4) = sqrt(1/12)
    assert find_clustered_error([0, 1, 0, 1], range(4)) == pytest.approx(sqrt(1 / 12))


def test_clusters_of_equals_count_once():
    # Two clusters of two: sums about the mean are -1 and 1; sqrt(2 / 1 * 2) / 4 = 0.5,
    # which is what two items 0 and 1 give: s = sqrt(1/2), / sqrt(2).
    assert find_clustered_error([0, 0, 1, 1], ["a", "a", "b", "b"]) == pytest.approx(0.5)
    assert find_clustered_error([0, 1], ["a", "b"]) == pytest.approx(0.5)


def test_what_tells_nothing_of_chance_is_none():
    assert find_clustered_error([0, 1], ["a", "a"]) is None
    assert find_detectable(None, 1, 0.05) is None
    assert find_detectable(0.0, 40, 0.05) is None


def test_the_detectable_difference_is_that_of_the_books():
    # Large samples: 1.96 + 0.84 = 2.80 standard errors.
    assert find_detectable(1.0, 1_000_000, 0.05) == pytest.approx(2.8016, abs=1e-3)
    assert find_detectable(1.0, 10, 0.05) > find_detectable(1.0, 100, 0.05)
    assert find_detectable(1.0, 100, 0.05 / 6) > find_detectable(1.0, 100, 0.05)


def test_a_true_difference_of_that_size_is_found_four_times_in_five():
    rng = np.random.default_rng(7)
    clusters = np.repeat(np.arange(60), 3)

    def draw(shift: float) -> np.ndarray:
        return shift + rng.normal(size=60)[clusters] * 0.5 + rng.normal(size=180) * 0.5

    errors = [find_clustered_error(list(draw(0)), list(clusters)) for _ in range(50)]
    detectable = find_detectable(float(np.mean(errors)), 60, 0.05)
    found = sum(
        compare_paired(list(draw(detectable)), [0.0] * 180, list(clusters), 400).p_value < 0.05
        for _ in range(400)
    )
    assert 0.74 <= found / 400 <= 0.87


def test_the_needed_pairs_are_those_that_there_are_for_what_these_detect():
    detectable = find_detectable(0.04, 60, 0.05)
    assert find_needed(0.04, 180, 60, 0.05, detectable * 1.000001) == 180
    # Half the difference needs four times the items, or slightly fewer, as Student's t approaches the normal.
    assert 700 < find_needed(0.04, 180, 60, 0.05, detectable / 2) < 720
    assert find_needed(0.04, 180, 60, 0.05, 100 * detectable) == 6, "two clusters at least"
    assert find_needed(0.0, 180, 60, 0.05, 0.1) is None
    assert find_needed(None, 1, 1, 0.05, 0.1) is None
    with pytest.raises(ValueError, match="distance is 0"):
        find_needed(0.04, 180, 60, 0.05, 0)


def test_so_many_pairs_find_the_distance_four_times_in_five():
    rng = np.random.default_rng(11)

    def draw(clusters: int, shift: float) -> tuple[list[float], list[int]]:
        index = np.repeat(np.arange(clusters), 3)
        return list(shift + rng.normal(size=clusters)[index] * 0.5 + rng.normal(size=len(index)) * 0.5), list(
            index
        )

    errors = [find_clustered_error(*draw(40, 0)) for _ in range(50)]
    needed = find_needed(float(np.mean(errors)), 120, 40, 0.05, 0.15)
    found = 0
    for _ in range(300):
        values, index = draw(needed // 3, 0.15)
        found += compare_paired(values, [0.0] * len(values), index, 400).p_value < 0.05
    assert 0.73 <= found / 300 <= 0.87
