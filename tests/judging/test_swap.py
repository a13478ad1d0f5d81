import asyncio

import pytest

from tasks.judging.swap import PLACES, PairwiseVerdict, combine_orders, compare_both_ways, count_bias
from tests.judging.scripted import answer


def compare(prefer):
    async def ask_once(first, second):
        return answer(prefer(first, second), f"{first}{second}")

    return asyncio.run(compare_both_ways("a", "b", ask_once))


def test_a_judge_that_goes_by_what_it_sees_gives_a_verdict():
    assert compare(lambda first, second: "first" if first == "a" else "second").outcome == "a"
    assert compare(lambda first, second: "first" if first == "b" else "second").outcome == "b"
    assert compare(lambda first, second: "tie").outcome == "tie"


@pytest.mark.parametrize("place", ["first", "second"])
def test_a_judge_that_goes_by_the_place_gives_none(place):
    found = compare(lambda first, second: place)
    assert found == PairwiseVerdict("inconsistent", place, place, ("ab", "ba"))


def test_what_does_not_parse_is_unscored():
    assert compare(lambda first, second: "first" if first == "a" else None).outcome is None


def test_every_pair_of_words_is_settled():
    settled = {(one, other): combine_orders(one, other) for one in PLACES for other in PLACES}
    agreed = {("first", "second"): "a", ("second", "first"): "b", ("tie", "tie"): "tie"}
    assert settled == dict.fromkeys(settled, "inconsistent") | agreed


def test_the_bias_counts_which_place_decided():
    words = [("first", "second")] * 10 + [("first", "first")] * 6 + [("second", "second"), ("tie", "first")]
    comparisons = [
        PairwiseVerdict(combine_orders(*places), *places, ()) for places in [*words, ("first", None)]
    ]
    bias = count_bias(comparisons)
    assert (bias.n, bias.n_scored, bias.n_consistent) == (19, 18, 10)
    assert (bias.n_first, bias.n_second, bias.n_wavering) == (6, 1, 1)
    assert bias.inconsistent == pytest.approx(8 / 18)
    # 7 coin tosses, 6 or more on one side: 2 (7 + 1) / 128
    assert bias.p_value == pytest.approx(2 * 8 / 128)


def test_without_a_comparison_there_is_no_share():
    bias = count_bias([])
    assert (bias.n, bias.inconsistent, bias.p_value) == (0, None, None)
