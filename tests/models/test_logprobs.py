import math

import pytest

from tasks.models.logprobs import compare_choices, read_logprobs

EXTRA = {
    "logprobs": {
        "content": [
            {
                "token": " Yes",
                "logprob": math.log(0.6),
                "top_logprobs": [
                    {"token": " Yes", "logprob": math.log(0.6)},
                    {"token": "no", "logprob": math.log(0.15)},
                    {"token": "yes", "logprob": math.log(0.05)},
                    {"token": "Maybe", "logprob": math.log(0.2)},
                ],
            }
        ]
    }
}


def test_a_choice_has_the_probability_of_all_tokens_that_begin_it():
    # yes: 0.6 + 0.05, no: 0.15, of 0.8 in all
    shares = compare_choices(read_logprobs(EXTRA), ["yes", "no"])
    assert shares == {"yes": pytest.approx(0.8125), "no": pytest.approx(0.1875)}


def test_a_token_that_begins_two_choices_counts_for_neither():
    assert compare_choices([{"s": -0.1, "supported": -3.0}], ["supported", "same"]) == {
        "supported": 1.0,
        "same": 0.0,
    }


@pytest.mark.parametrize("extra", [{}, {"logprobs": None}, {"logprobs": {"content": []}}])
def test_an_endpoint_that_gives_none_gives_no_verdict(extra):
    assert compare_choices(read_logprobs(extra), ["yes", "no"]) is None


def test_blank_tokens_are_no_choice():
    assert compare_choices([{" ": -0.1, "": -0.2}], ["yes", "no"]) is None


def test_the_chosen_token_counts_though_it_is_not_among_the_likeliest():
    extra = {"logprobs": {"content": [{"token": "no", "logprob": -2.0, "top_logprobs": []}]}}
    assert compare_choices(read_logprobs(extra), ["yes", "no"]) == {"yes": 0.0, "no": 1.0}
