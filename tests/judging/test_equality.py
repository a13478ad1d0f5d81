import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.equality import find_equality, holds_answer
from tests.judging.texts import HOSTILE


@pytest.mark.parametrize(
    ("answer", "response", "question", "rule"),
    [
        ("PG", " pg. ", "", "exact"),
        ("IM Global", "“IM Global”", "", "exact"),
        ("The Hague", "the hague", "", "exact"),
        ("United States", "The United States.", "", "exact"),
        ("109", "109", "", "exact"),
        ("109", "109 minutes", "How long is it, in minutes?", "number"),
        ("109", "109.0", "", "number"),
        ("12 minutes", "12", "", "number"),
        ("1234567", "1,234,567", "", "number"),
        ("-3", "\u22123", "", "number"),
        ("45", "45%", "What percentage is it?", ""),
        ("45", "45 percent", "How many percent is it?", "number"),
        ("104.33333333333333", "104.33", "", "number"),
        ("104.333", "104.3", "", ""),
        ("104.339", "104.33", "", ""),
        ("1984-10-01", "October 1, 1984", "", "date"),
        ("1984-10-01", "1st of October 1984", "", "date"),
        ("1984-10-01 00:00:00", "1 Oct. 1984", "", "date"),
        ("1984-10-01", "01.10.1984", "", ""),
        ("1984-10-01", "1984", "", ""),
        ("109", "109 hours", "How long is it, in minutes?", ""),
        ("109", "109 or 110", "", ""),
        ("109", "It is not 109", "", ""),
        ("PG", "PG-13", "", ""),
        ("1", "1.5", "", ""),
        ("12", "1,2", "", ""),
        ("-3", "3", "", ""),
        ("Rome", "Rome, or rather Paris", "", ""),
        ("Rome", "Not Rome", "", ""),
        ("C++", "C", "", ""),
        ("", "", "", ""),
        ("...", "...", "", ""),
    ],
)  # fmt: skip
def test_only_what_is_nothing_but_the_answer_is_decided(answer, response, question, rule):
    assert find_equality(answer, response, question) == rule


@given(st.one_of(HOSTILE, st.text(max_size=40)), st.one_of(HOSTILE, st.text(max_size=40)))
def test_it_is_the_same_both_ways_and_never_fails(one, other):
    assert find_equality(one, other) in ("", "exact", "number", "date", "list")
    assert (find_equality(one, other) == "exact") == (find_equality(other, one) == "exact")


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.sampled_from(["", " km", "%", ".00"]))
def test_numbers_are_equal_by_their_value_alone(one, other, tail):
    assert bool(find_equality(str(one), f"{other:,}{tail}", "how many km, or percent")) == (one == other)


@pytest.mark.parametrize(
    ("answer", "response", "held"),
    [
        ("PG", "Its rating? PG, they say.", True),
        ("109", "A hundred? No: it runs for 109 minutes.", True),
        ("12", "It has twelve employees.", True),
        ("21", "Twenty-one of them.", True),
        ("1984-10-01", "It came out on the 1st of October, 1984.", True),
        ("1234", "About 1,234 in all", True),
        ("PG", "It is PG-13.", False),
        ("2", "It is -2 degrees", False),
        ("12", "It has 120.", False),
        ("1", "It won 1.5 million", False),
        ("1", "It won 21 of them", False),
        ("1984-10-01", "It came out in October 1984.", False),
        ("Rome", "Romeo", False),
        ("Rome", "", False),
        ("", "anything", False),
    ],
)
def test_a_response_may_have_the_answer_in_it(answer, response, held):
    assert holds_answer(answer, response) == held


@given(HOSTILE, HOSTILE)
def test_looking_for_an_answer_never_fails(one, other):
    assert holds_answer(one, other) in (True, False)


@pytest.mark.parametrize(
    ("response", "same"),
    [
        ("Hulk; GoldenEye; Fantastic Four", True),
        ("fantastic four, goldeneye and hulk.", True),
        ("Fantastic Four, GoldenEye, and Hulk", True),
        ("- GoldenEye\n- Hulk\n- Fantastic Four", True),
        ("1. GoldenEye\n2. Hulk\n3. Fantastic Four", True),
        ("GoldenEye; Hulk", False),
        ("GoldenEye; Hulk; Fantastic Four; Jaws", False),
        ("GoldenEye; Hulk; Hulk", False),
        ("Not GoldenEye; Hulk; Fantastic Four", False),
    ],
)
def test_a_list_is_the_same_in_any_order_and_no_longer_or_shorter(response, same):
    assert find_equality("Fantastic Four; GoldenEye; Hulk", response) == ("list" if same else "")


def test_names_with_commas_and_ands_are_told_apart_by_semicolons():
    answer = "1776; Give 'em Hell, Harry!; Love and Death"
    assert find_equality(answer, "Love and Death; Give 'em Hell, Harry!; 1776") == "list"
    assert find_equality(answer, "Love; Death; Give 'em Hell, Harry!; 1776") == ""
