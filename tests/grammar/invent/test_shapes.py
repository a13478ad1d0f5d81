import random

import pytest

from tasks.grammar.invent.invented_names import (
    shape_coined,
    shape_firm,
    shape_person,
    shape_phrase,
    shape_place,
    shape_title,
)
from tasks.models.ask import Unparsed
from tests.grammar.writing import write_text

SHAPES = {
    "person": shape_person("K", "T"),
    "coined": shape_coined("V"),
    "firm": shape_firm("V"),
    "title": shape_title("B"),
    "place": shape_place("O"),
    "phrase": shape_phrase(),
    "short phrase": shape_phrase(2),
}


@pytest.mark.parametrize("name", SHAPES)
def test_whatever_the_grammar_lets_through_is_a_name_or_too_long(name):
    shape, rng, names = SHAPES[name], random.Random(0), []
    for _ in range(60):
        text = write_text(shape.grammar, rng)
        if len(text) <= 60:
            names.append(shape.parse(text))
            assert names[-1] == text
    assert len(set(names)) > 10


@pytest.mark.parametrize(
    ("name", "reply", "found"),
    [
        ("person", ' "Kira Tolan". ', "Kira Tolan"),
        ("person", "Kíra O'Tolan-Berg", "Kíra O'Tolan-Berg"),
        ("person", "**Kira Tolan**", "Kira Tolan"),
        ("firm", "Vostel Arms & Sons", None),  # four words; & is one
        ("firm", "Vostel & Sons", "Vostel & Sons"),
        ("phrase", "Water and Waste Management", "Water and Waste Management"),
        ("phrase", "water management", None),
        ("phrase", "I cannot say that", None),
        ("person", "Kira", None),
        ("person", "Sure: Kira Tolan", None),
        ("person", "Kira Tolan\nOtto Berg", None),
        ("person", "Kira T0lan", None),
        ("person", "Kira <b>Tolan</b>", None),
        ("person", "", None),
        ("coined", "V'; DROP TABLE employees", None),
        ("coined", "Example", None),
        ("coined", "V" + "a" * 60, None),
    ],
)
def test_a_reply_is_held_to_the_form_whether_it_was_constrained_or_not(name, reply, found):
    if found is not None:
        assert SHAPES[name].parse(reply) == found
        return
    with pytest.raises(Unparsed, match="no_name: "):
        SHAPES[name].parse(reply)


def test_two_firms_may_not_share_the_word_that_tells_them():
    assert shape_firm("V").list_keys("Vostel Arms") == ("vostel arms", "vostel")
    assert shape_person("K", "T").list_keys("Kira Tolan") == ("kira tolan",)
