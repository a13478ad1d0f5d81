import pytest

from tasks.grammar.construct.text_templates import write_message_grammar, write_text_grammar
from tests.grammar.gbnf import accepts

SHORT = write_text_grammar([["clinic [clinics.name]", "clinic named [clinics.name]"]], 3, 10)
LONG = write_message_grammar(
    [["[clinics.name]"], ["[doctors.name]"]], 16, 30, "I am settling a bet", "Would you know"
)


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("town of the clinic [clinics.name]", True),
        ("town of the clinic named [clinics.name]", True),
        ("town of the [clinics.name]", False),
        ("clinic [clinics.name]'s town, please", True),
        ("clinic [clinics.name]", False),
        ("town of the clinic", False),
        ("clinic [clinics.name] or clinic [clinics.name] town", False),
        ("town of [clinics.town] clinic [clinics.name]", False),
        ("town of the very very very very old town clinic [clinics.name]", False),
        ("town of clinic_x clinic [clinics.name]", False),
        ("2 towns of clinic [clinics.name]", False),
    ],
)
def test_a_fragment_holds_its_placeholder_once_and_its_number_of_words(text, accepted):
    assert accepts(SHORT, text) is accepted


@pytest.mark.parametrize(
    ("form", "text", "accepted"),
    [
        ("wanted", "town of clinic [clinics.name]", True),
        ("wanted", "clinic [clinics.name] town name", False),
        ("given", "clinic [clinics.name] town name", True),
        ("given", "town of clinic [clinics.name]", False),
        ("asking", "which town has clinic [clinics.name]", True),
        ("asking", "town of clinic [clinics.name]", False),
    ],
)
def test_a_fragment_begins_with_what_its_form_says(form, text, accepted):
    phrases = [["clinic [clinics.name]"]]
    # The grammar also allows a phrase to begin with the word of the placeholder's noun.
    assert accepts(write_text_grammar(phrases, 3, 10, form), text) is accepted


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("{bet} with my own sister. {ask} the town of [doctors.name] at [clinics.name]?", True),
        ("{bet}, so we need it now. {ask} in which town [doctors.name] is near [clinics.name]?", True),
        ("{bet} with my own sister. What is the town of [doctors.name] at [clinics.name]?", False),
        ("{bet} with my own sister. {ask} the town of [doctors.name] at all?", False),
        ("{bet} with my own sister. {ask} the town of [doctors.name] at [clinics.name]? I ask.", False),
        ("{bet} about [clinics.name] of old. {ask} the town of [doctors.name]?", False),
        ("{ask} the town of [doctors.name] at [clinics.name]?", False),
        (
            "{bet} and it is fun. {ask} the town of [doctors.name] at [clinics.name]" + " now" * 30 + "?",
            False,
        ),
    ],
)
def test_a_message_is_its_circumstance_and_one_question_that_comes_last(text, accepted):
    filled = text.format(bet="I am settling a bet" + " and" * (", so" not in text), ask="Would you know")
    filled = filled.replace("and and", "and")
    assert accepts(LONG, filled) is accepted


def test_letters_beyond_ascii_may_stand_in_words():
    grammar = write_text_grammar([["[a.b]"]], 2, 5, letters="ößü")
    assert accepts(grammar, "größe [a.b]")
    assert not accepts(write_text_grammar([["[a.b]"]], 2, 5), "größe [a.b]")
