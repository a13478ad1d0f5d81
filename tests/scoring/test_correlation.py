"""Tests of correlation coefficients against results by hand and, on many values, scipy."""

import numpy as np
import pytest
from scipy import stats

from tasks.scoring.running import Bootstrap


def pairs(humans, judges):
    both = enumerate(zip(humans, judges, strict=True))
    return [{"id": n, "human": human, "judge": judge} for n, (human, judge) in both]


def test_by_hand(score):
    # x 1 2 3 4, y 1 3 2 4: means 2.5; sum of products 2.25 - 0.25 - 0.25 + 2.25 = 4, both sums of squares 5
    # ranks are the values themselves; of 6 pairs one is discordant: (5 - 1) / 6
    report = score("correlation", pairs([1, 2, 3, 4], [1, 3, 2, 4]))
    assert report["pearson"] == pytest.approx(4 / 5)
    assert report["spearman"] == pytest.approx(4 / 5)
    assert report["kendall"] == pytest.approx(4 / 6)
    assert (report["mean_human"], report["mean_judge"]) == (2.5, 2.5)


def test_tau_b_leaves_ties_out_of_its_denominator(score):
    # x 1 1 2, y 1 2 3: two pairs are concordant, one is tied in x: 2 / sqrt(2 * 3)
    assert score("correlation", pairs([1, 1, 2], [1, 2, 3]))["kendall"] == pytest.approx(2 / 6**0.5)


def test_many_values_against_scipy(score):
    rng = np.random.default_rng(1)
    humans = rng.integers(0, 6, 300)
    judges = np.clip(humans + rng.integers(-2, 3, 300), 0, 5)
    report = score("correlation", pairs(humans.tolist(), judges.tolist()))
    assert report["pearson"] == pytest.approx(stats.pearsonr(humans, judges).statistic)
    assert report["spearman"] == pytest.approx(stats.spearmanr(humans, judges).statistic)
    assert report["kendall"] == pytest.approx(stats.kendalltau(humans, judges).statistic)


def test_a_list_of_ratings_is_averaged(score_items, score):
    rows = pairs([[1, 2], [3], 5, [4, 4, 1]], [1, 2, 3, 4])  # 1.5, 3, 5, 3
    assert [line["mean_human"] for line in score_items("correlation", rows)] == [1.5, 3, 5, 3]
    assert score("correlation", rows)["mean_human"] == pytest.approx(12.5 / 4)


def test_drop_zero_leaves_an_item_out_of_every_figure(score):
    kept = pairs([1, 2, 3, 4], [1, 3, 2, 4])
    zeros = [
        {"id": "a", "human": 0, "judge": 5},
        {"id": "b", "human": 5, "judge": 0},
        {"id": "c", "human": [5, 0], "judge": 1},
        {"id": "d", "human": 5, "judge": 0.0},
    ]
    report = score("correlation", [*kept, *zeros], drop_zero=True)
    assert (report["n"], report["n_scored"], report["n_skipped"]) == (8, 4, 4)
    assert (report["pearson"], report["mean_judge"]) == (pytest.approx(4 / 5), 2.5)
    assert score("correlation", [*kept, *zeros])["n_scored"] == 8


def test_what_is_not_defined_is_null(score):
    constant = score("correlation", pairs([0.1, 0.1, 0.1], [1, 2, 3]), intervals=Bootstrap(100))
    assert [constant[name] for name in ("pearson", "spearman", "kendall")] == [None, None, None]
    assert constant["ci"]["pearson"] is None
    one = score("correlation", pairs([1], [2]))
    assert (one["pearson"], one["kendall"], one["mean_human"]) == (None, None, 1)
    none = score("correlation", [{"id": 1, "human": 2, "judge": None}])
    assert (none["n_failed"], none["pearson"], none["mean_human"]) == (1, None, None)


def test_intervals_are_those_of_resampled_pairs(score):
    rng = np.random.default_rng(2)
    humans = rng.normal(size=60)
    judges = humans + rng.normal(size=60)
    ours = score("correlation", pairs(humans.tolist(), judges.tolist()), intervals=Bootstrap(4000))["ci"]
    for name, statistic in (
        ("pearson", lambda x, y: stats.pearsonr(x, y).statistic),
        ("spearman", lambda x, y: stats.spearmanr(x, y).statistic),
        ("kendall", lambda x, y: stats.kendalltau(x, y).statistic),
    ):
        theirs = stats.bootstrap(
            (humans, judges), statistic, paired=True, vectorized=False, n_resamples=2000,
            method="percentile", rng=np.random.default_rng(3),
        ).confidence_interval  # fmt: skip
        assert ours[name] == pytest.approx([theirs.low, theirs.high], abs=0.03)
