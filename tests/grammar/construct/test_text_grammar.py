import pytest

from tasks.grammar.construct.text_grammar import write_text_grammar
from tests.grammar.gbnf import accepts

SHORT = write_text_grammar([["clinic [clinics.name]", "clinic named [clinics.name]"]], 3, 10, sentences=False)
LONG = write_text_grammar([["[clinics.name]"], ["[doctors.name]"]], 12, 22, sentences=True)


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
    ("text", "accepted"),
    [
        ("What is the town of [doctors.name] at [clinics.name]? I need it for a letter.", True),
        ("Could you please tell the town of [clinics.name] for [doctors.name]? I ask for a friend.", True),
        ("What is the town of [doctors.name] at [clinics.name]? I ask.", False),
        ("What is the town of [doctors.name]? I need it for the clinic [clinics.name].", False),
        ("What is the town of [doctors.name] at [clinics.name]? I need it. Who are you?", False),
        ("Tell me the town of [doctors.name] at [clinics.name]? I need it for a letter.", False),
        ("What is the town of [doctors.name] at [clinics.name]? I" + " really" * 20 + " ask.", False),
    ],
)
def test_sentences_are_one_question_with_all_placeholders_and_a_reason(text, accepted):
    assert accepts(LONG, text) is accepted
