import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.grammar.assess.judgements import Majority, count_votes, judge_often
from tests.judging.scripted import answer
from tests.judging.texts import STEADY


def judge(values):
    async def ask_once(sample):
        await asyncio.sleep(0)
        return answer(values[sample], f"call {sample}")

    return asyncio.run(judge_often(ask_once, len(values)))


def test_the_most_frequent_answer_wins_and_says_how_many_gave_it():
    found = judge(["Correct", "Incorrect", "Correct"])
    assert found == Majority("Correct", 2 / 3, ("call 0", "call 1", "call 2"))


def test_a_tie_is_no_verdict():
    found = judge(["Correct", "Incorrect", "Incorrect", "Correct"])
    assert (found.value, found.agreement, found.problem) == (None, 0.5, "tie: 2 of 4 each")
    assert judge([3, 4, 5]).value is None


def test_unparsed_replies_do_not_vote():
    assert judge(["Correct", None, "Incorrect", "Correct", None]).value == "Correct"
    assert judge(["Correct", None, "Correct", None]).value == "Correct"  # half suffices


def test_with_fewer_than_half_of_the_replies_there_is_no_verdict():
    found = judge(["Correct", None, None])
    assert (found.value, found.problem) == (None, "unparsed: 2 of 3 replies")
    assert judge([None]).agreement is None


def test_a_score_of_zero_is_an_answer():
    assert judge([0, 0, 1]).value == 0


def test_no_repeats_are_refused():
    with pytest.raises(ValueError, match="repeats is 0"):
        judge([])


@STEADY
@given(st.lists(st.sampled_from(["Correct", "Incorrect", None]), min_size=1, max_size=9), st.randoms())
def test_the_order_of_the_replies_is_no_matter(values, random):
    shuffled = random.sample(values, len(values))
    one, other = [count_votes([answer(value) for value in order]) for order in (values, shuffled)]
    assert (one.value, one.agreement, one.problem) == (other.value, other.agreement, other.problem)
    if one.value is not None:
        assert values.count(one.value) > (len(values) - values.count(None)) / 2
