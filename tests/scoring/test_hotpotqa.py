"""Tests of HotpotQA's rules on hand-written cases."""

import pytest

from tasks.scoring.hotpotqa import normalise


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Eiffel Tower", "eiffel tower"),
        ("an apple a day", "apple day"),
        ("a-b", "ab"),  # punctuation is removed first, without a space
        ("u.s.a.", "usa"),  # ... so no article remains
        ("Theatre, anthem", "theatre anthem"),  # articles are whole words
        ("  two \t words\n", "two words"),
        ("The", ""),
        ("«Été»", "«été»"),  # only ASCII punctuation is removed
    ],
)
def test_normalisation(text, normal):
    assert normalise(text) == normal


@pytest.mark.parametrize(
    ("gold", "prediction", "em", "official", "streambench"),
    [
        ("Paris", "paris!", 1, 1, 1),
        ("the Seine", "Seine", 1, 1, 1),
        # tokens new york city / new york: overlap 2, p = 2/2, r = 2/3
        ("New York City", "New York", 0, 4 / 5, 4 / 5),
        ("Paris", "London", 0, 0, 0),
        # bag: overlap of {to 2, be 1} and {to 1, be 1} is 2, p = 2/2, r = 2/3;
        # set: the same overlap of 2, over the same lengths
        ("to be to", "to be", 0, 4 / 5, 4 / 5),
        # a repeated token in both: bag 4 of 4; set {new, york} 2, over lists of 4: p = r = 1/2
        ("new york new york", "New York, New York", 1, 1, 1 / 2),
        # yes, no, noanswer must be equal; to streambench they are tokens: p = 1/2, r = 1
        ("yes", "yes", 1, 1, 1),
        ("yes", "yes indeed", 0, 0, 2 / 3),
        ("yes indeed", "yes", 0, 0, 2 / 3),
        ("no", "yes", 0, 0, 0),
        ("noanswer", "noanswer given", 0, 0, 2 / 3),
        ("no", "no.", 1, 1, 1),  # equal after normalisation
        # empty strings are answers, not missing ones
        ("Paris", "", 0, 0, 0),
        ("", "Paris", 0, 0, 0),
        ("the", "", 1, 0, 1),  # both are empty: no overlap to official, agreement to streambench
    ],
)
def test_both_rules(score, gold, prediction, em, official, streambench):
    report = score("hotpotqa", [{"id": 1, "gold": gold, "prediction": prediction}], rule="all")
    assert report["official"] == pytest.approx({"em": em, "f1": official})
    assert report["streambench"] == pytest.approx({"em": em, "f1": streambench})


def test_the_default_rule_is_official_and_a_null_prediction_is_failed(score):
    rows = [{"id": 1, "gold": "yes", "prediction": "yes sir"}, {"id": 2, "gold": "x", "prediction": None}]
    report = score("hotpotqa", rows)
    assert (report["rule"], report["f1"], report["n_failed"]) == ("official", 0, 1)
