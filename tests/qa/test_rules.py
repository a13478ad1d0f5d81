"""Tests of exact match and F1 with accepted answers, against results computed by hand."""

import pytest

from tasks.qa.accepted_answers import read_accepted
from tasks.qa.rules import score_answer
from tasks.scoring.items import BadItem

CASES = [
    # Text, by HotpotQA's normalisation: case, punctuation and articles do not count.
    ("The Mill", "mill.", 1, 1),
    ("Marta Quill", "It is Marta Quill", 0, 2 * (2 / 4) * 1 / (2 / 4 + 1)),
    ("Oslo", "Rome", 0, 0),
    # A list: the maximum of each score.
    (["New York", "NYC"], "nyc", 1, 1),
    (["New York City", "NYC"], "New York", 0, 2 * 1 * (2 / 3) / (1 + 2 / 3)),
    # Numbers are compared by value, whether they are JSON numbers or CSV texts.
    (1.5, "1.50", 1, 1),
    ("1.50", "1.5", 1, 1),
    (1.5, "15", 0, 0),
    (1234, "1,234", 1, 1),
    ("1,234", "1234", 1, 1),
    (-5, "\u22125", 1, 1),
    (-5, "5", 0, 0),
    (12, "12 films", 1, 1),
    (12, "12 dogs", 0, 2 * (1 / 2) * 1 / (1 / 2 + 1)),
    (12, "there are 13", 0, 0),
    (1e22, "10000000000000000000000", 1, 1),
    ("007", "7", 0, 0),
    # Yes and no.
    (True, "Yes.", 1, 1),
    (True, "true", 1, 1),
    (False, "no", 1, 1),
    (False, "yes", 0, 0),
    ("yes", "TRUE", 1, 1),
    ("no", "No, it is not", 0, 0),
    # The normalisation removes all of these texts.
    ("A", "a", 1, 1),
    ("A", "The", 0, 0),
    ("!", "?", 0, 0),
    ("Oslo", "", 0, 0),
]


@pytest.mark.parametrize(("answer", "response", "em", "f1"), CASES)
def test_an_answer_has_the_scores_that_are_worked_by_hand(answer, response, em, f1):
    score = score_answer(read_accepted(answer), response, "How many films are there?")
    assert (score.em, score.f1) == (em, pytest.approx(f1))


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ('["Oslo", "Christiania", "Oslo"]', ["Oslo", "Christiania"]),
        ("[sic]", ["[sic]"]),
        ([1, 1.0, True, "x"], ["1", "true", "x"]),
        ({"text": ["a b", "c"], "answer_start": [1, 2]}, ["a b", "c"]),
        ({"value": "Oslo", "aliases": ["Kristiania"]}, ["Oslo", "Kristiania"]),
    ],
)
def test_lists_and_the_forms_of_squad_and_triviaqa_are_accepted_answers(value, texts):
    assert [answer.text for answer in read_accepted(value)] == texts


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "answer is missing"),
        ("  ", "answer is empty"),
        ([], "answer is an empty list"),
        ("[]", "answer is an empty list"),
        ([["a"]], "an element of answer is a list"),
        ({"label": 1}, "an object without `text` or `value`"),
        (["a"] * 1001, "at most 1000"),
        ("x" * 100_001, "more than 100,000 characters"),
    ],
)
def test_what_is_no_answer_is_refused_in_one_clause(value, said):
    with pytest.raises(BadItem, match=said):
        read_accepted(value)
