"""Tests that the benchmark of comparisons compares all 10,000 items."""

from bench.comparing import ITEMS, make_scored_system
from tasks.judging.comparison import compare_scored_systems


def test_ten_thousand_items_are_compared():
    found = compare_scored_systems(
        [(make_scored_system(1, 2_500, graded=False), make_scored_system(2, 2_500, graded=False))]
    )
    (change,) = found.strands[0].metrics
    assert (change.n_pairs, change.clusters) == (ITEMS, 2_500)
    # Both systems are 60% correct: the interval's width is about 2 x 1.96 x sqrt(2 x 0.24 / 10,000).
    assert 0.02 < change.high - change.low < 0.034
    assert change.low - 0.02 < 0 < change.high + 0.02
