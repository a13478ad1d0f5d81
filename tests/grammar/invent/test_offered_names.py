"""Tests of fictitious names offered to a model, and of the form of its reply."""

import re

import pytest

from tasks.grammar.invent.invented_names import shape_place
from tasks.grammar.invent.offered_names import choose_shape, offer_names
from tasks.models.ask import Unparsed
from tests.grammar.gbnf import accepts

KINDS = ["person", "town", "city", "company", "airline", "airport", "manufacturer"]


def invent(sample):
    return shape_place("ABC"[sample])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_key_offers_the_same_names_and_another_attempt_others(kind):
    names = offer_names(kind, 6, 0, "client", 3)
    assert names == offer_names(kind, 6, 0, "client", 3)
    assert len(set(names)) == 6
    assert not set(names) & set(offer_names(kind, 6, 0, "client", 4))


@pytest.mark.parametrize("kind", KINDS)
def test_every_offered_name_is_read_and_no_other(kind):
    shape = choose_shape(invent, kind, 6, 0, "client", 3)(0)
    for name in shape.offered:
        assert accepts(shape.grammar, name)
        assert shape.parse(f' "{name}". ') == name
    assert shape.hint == f"one of these: {'; '.join(shape.offered)}"
    with pytest.raises(Unparsed, match="is not one of the names offered"):
        shape.parse("Thetitle Texas")


def test_names_are_those_of_their_kind():
    assert all(re.search(r" (Airport|Field)$", name) for name in offer_names("airport", 20, 0))
    assert all(re.search(r" (Airlines|Airways|Air)$", name) for name in offer_names("airline", 20, 0))
    assert all(len(name.split()) == 1 for name in offer_names("manufacturer", 20, 0, coined=True))


def test_without_an_offer_the_model_invents_the_name():
    assert choose_shape(invent, "town", 0, 0, "client", 3) is invent
