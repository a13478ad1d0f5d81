import pytest

from tasks.judging.abstention import is_abstention


@pytest.mark.parametrize(
    "response",
    [
        "", " ", "I do not know.", "I don\u2019t know which city that is.", "I am not sure.",
        "I cannot answer this from the documents.", "The documents do not mention it.",
        "The runtime is not given in the sources.", "There is no information about the film.",
    ],
)  # fmt: skip
def test_what_only_says_that_it_is_not_known_is_no_answer(response):
    assert is_abstention(response)


@pytest.mark.parametrize(
    "response",
    ["PG", "It is not Rome.", "No.", "Nobody knows it better than Ada.", "I do. " * 50],
)
def test_an_answer_is_none(response):
    assert not is_abstention(response)
