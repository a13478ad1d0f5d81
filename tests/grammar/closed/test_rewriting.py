import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.grammar.closed.rewriting import rewrite

NAMES = {"Delta": "Quorin", "Delta Air Lines": "Vostel Sky", "New York": "Oslet", "It": "Pexo"}
PEOPLE = {"Jane Berg": "Mira Tolan", "Otto Berg": "Enno Falk", "Carl Dahl": "Ivo Renn"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Longest match first: Delta is not replaced inside Delta Air Lines.
        ("Delta Air Lines bought Delta.", "Vostel Sky bought Quorin."),
        # Whole words only.
        ("Deltas and Deltaic, but Delta's.", "Deltas and Deltaic, but Quorin's."),
        # The case is kept. One word matches as spelt or in capitals, several words match in any case.
        ("DELTA and delta, NEW YORK and new york", "QUORIN and delta, OSLET and oslet"),
        ("It said that it was so.", "Pexo said that it was so."),
        ("(Delta), 'Delta'; Delta-like", "(Quorin), 'Quorin'; Quorin-like"),
        ("nothing of note", "nothing of note"),
    ],
)
def test_names_change_where_they_are_meant(before, after):
    assert rewrite(before, NAMES) == after


def test_names_that_trade_places_are_not_changed_twice():
    assert rewrite("A1 met B2", {"A1": "B2", "B2": "A1"}) == "B2 met A1"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Carl Dahl came. Dahl spoke.", "Ivo Renn came. Renn spoke."),
        ("Dahl spoke.", "Dahl spoke."),  # no one here is named Carl
        ("Jane Berg and Otto Berg came. Berg spoke.", "Mira Tolan and Enno Falk came. Berg spoke."),
        ("Jane Berg came. Berg's word.", "Mira Tolan came. Tolan's word."),
    ],
)
def test_a_bare_surname_changes_where_it_can_mean_one_person_only(before, after):
    assert rewrite(before, PEOPLE, PEOPLE) == after


WORDS = st.sampled_from(
    ["Delta", "DELTA", "Air", "Lines", "New", "York", "It", "it", "a", "of", "Delta Air Lines"]
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(WORDS, max_size=12))
def test_no_old_name_is_left_as_it_was_spelt(words):
    changed = rewrite(" ".join(words), NAMES)
    for old in NAMES:
        assert not re.search(rf"(?<!\w){re.escape(old)}(?!\w)", changed)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=60))
def test_a_text_without_names_stays_as_it_is(text):
    assert rewrite(text, {"Zzyzx Qqq": "Nobody"}) == text
