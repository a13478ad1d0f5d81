"""Tests that a verdict better than the answer's values allow is refused, and the values are named."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from tasks.longform.build.statement import Claim
from tasks.longform.judge.critical_values import find_missing, limit_verdict, list_critical
from tasks.longform.labels import Verdict
from tests.longform.scripted_judges import make_item

ASKED = "On average, do flights of Corvane leave later than those of Tindle, among those above 60 minutes?"
DELAY = Claim(
    "The average delay is 23.7 minutes for flights of Corvane Air Ways (3 flights), against 4.3 minutes "
    "early for those of Tindle (known for 4 of 5 flights).",
    "SELECT 1",
    ("name", "delay"),
    json.dumps([["Corvane Air Ways", 3, 3, 23.7], ["Tindle", 5, 4, -4.3]]),
)
MILES = Claim(
    "Among flights above 60 minutes, the average distance is 1,963,000 miles for those of Corvane Air Ways.",
    "SELECT 1",
    ("name", "distance"),
    json.dumps([["Corvane Air Ways", 3, 3, 1963000.0]]),
)
ITEM = replace(make_item(), question=ASKED, claims=(DELAY, MILES))
MATCH, NOT_MATCH = Verdict.MATCH, Verdict.NOT_MATCH


def test_a_claim_stands_on_its_first_group_and_the_numbers_before_what_it_is_held_against():
    assert list_critical(DELAY, ASKED) == ["Corvane Air Ways", "23.7"]
    assert list_critical(MILES, ASKED) == ["Corvane Air Ways", "1,963,000"]


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("Yes: Corvane, by 23.7 minutes and over 1,963,000 miles.", ()),
        ("Yes: Corvane, by 23.67 minutes and over 1.963 million miles.", ()),
        ("Yes: CAW leaves 24 minutes late.", ("23.7", "1,963,000")),
        ("Yes: CAW leaves 23.7 minutes late, 1963000 miles.", ()),
        ("Yes, Corvane.", ("23.7", "1,963,000")),
        ("Yes, by 23.7 minutes and 1,963,000 miles.", ("Corvane Air Ways",)),
        ("Tindle", ("Corvane Air Ways", "23.7", "1,963,000")),
        ("We need to calculate the average delay of both.", ("Corvane Air Ways", "23.7", "1,963,000")),
        ("Corvane: 4.3 minutes and 60 miles", ("23.7", "1,963,000")),
    ],
)
def test_every_critical_value_must_be_in_the_answer_for_a_match(answer, missing):
    assert find_missing(ITEM, answer) == missing
    assert limit_verdict(ITEM, answer, MATCH) == (NOT_MATCH if missing else MATCH, missing)
    # A rule never makes a match.
    assert limit_verdict(ITEM, answer, NOT_MATCH)[0] == NOT_MATCH


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("Corvane's average delay is 23.7 minutes, its distance 1,963,000 miles.", 5),
        ("Corvane's average delay is 23.7 minutes.", 3),
        ("Corvane has the higher delay.", 2),
        ("Corvane is later.", 1),
        ("To answer this, we need to compare the average delay and distance of both.", 1),
        ("The SQL query for the average delay is invalid.", 1),
    ],
)
def test_a_score_is_no_better_than_the_values_allow(answer, score):
    item = replace(ITEM, kind="interpretive")
    assert limit_verdict(item, answer, Verdict.FIVE)[0] == str(score)
    assert limit_verdict(item, answer, Verdict.ONE)[0] == "1"


def test_of_a_reference_without_claims_one_number_is_enough():
    item = replace(
        make_item(), question="Who guides more ships?", claims=(), reference="Ruvay, 28 against 14."
    )
    assert find_missing(item, "Ruvay guides 28.") == ()
    assert find_missing(item, "Ruvay, of course.") == ("28", "14")
    assert find_missing(replace(item, reference="It is unknown."), "Nobody knows.") == ()
    # The requirements for a score are unknown there.
    assert limit_verdict(replace(item, kind="interpretive"), "Ruvay.", Verdict.FOUR)[0] == "4"


@pytest.mark.parametrize("part", ["1", "1,", "a-", "(", "we need ", "1.2 million "])
def test_a_long_answer_takes_bounded_work(part):
    began = time.process_time()
    limit_verdict(ITEM, part * (100_000 // len(part)), MATCH)
    assert time.process_time() - began < 5
