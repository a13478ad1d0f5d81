"""Tests of the three scores of a conversation on cases computed by hand."""

import pytest

from tasks.errors import BadInput
from tasks.scoring.multiturn import compute_wscore
from tasks.scoring.registry import make_metric


@pytest.mark.parametrize(
    ("scores", "turns", "wscore"),
    [
        ([1, 5], 3, 3),  # (3*1 + 2*5 + 1*5) / 6
        ([5], 3, 5),  # (3*5 + 2*5 + 1*5) / 6
        ([0, 0, 0], 3, 0),
        ([1, 2, 3], 3, 10 / 6),  # (3*1 + 2*2 + 1*3) / 6: nothing is filled in
        ([2], 1, 2),
        ([4, 2], 5, (5 * 4 + 4 * 2 + 3 * 2 + 2 * 2 + 1 * 2) / 15),
        ([0, 3, 5], 5, (5 * 0 + 4 * 3 + 3 * 5 + 2 * 5 + 1 * 5) / 15),
    ],
)
def test_wscore(scores, turns, wscore):
    assert compute_wscore(scores, turns) == pytest.approx(wscore)


def test_means_over_conversations(score):
    report = score("multiturn", [{"id": 1, "scores": [1, 5]}, {"id": 2, "scores": [4, 2, 3]}], turns=3)
    # wscore: 3 and (3*4 + 2*2 + 1*3) / 6 = 19/6; lscore 2 and 3; mscore 5 and 4
    assert report["wscore"] == pytest.approx((3 + 19 / 6) / 2)
    assert (report["lscore"], report["mscore"]) == (2.5, 4.5)


def test_the_default_is_five_turns(score):
    report = score("multiturn", [{"id": 1, "scores": [1] * 5}])
    assert (report["wscore"], report["lscore"]) == (1, 5)


def test_no_turns_are_refused():
    with pytest.raises(BadInput, match="--turns: is 0"):
        make_metric("multiturn", {"turns": 0})
