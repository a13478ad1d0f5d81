import pytest

from tasks.grammar.construct.style_rules import check_style, list_long_sentences, split_sentences
from tasks.models.ask import Unparsed
from tests.grammar.scripted import SCHEMA


def read_reason(text, sentences=False):
    try:
        check_style(text, SCHEMA, sentences=sentences)
    except Unparsed as error:
        return str(error).partition(":")[0]
    return ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("town of the clinic [clinics.name]", ""),
        ("the clinic clinic [clinics.name] town", "doubled_word"),
        ("the clinic the clinic [clinics.name] town", "doubled_word"),
        ("clinic [clinics.name] clinic town", ""),
        ("an town of a hour", "wrong_article"),
        ("an hour at a university with a one and a European", ""),
        ("an honest uncle of an unimportant heir", ""),
        ("a uncle", "wrong_article"),
        ("twn of the clinic [clinics.name]", "unknown_word"),
        ("the clinic's specialty and hourly_rate", ""),
    ],
)
def test_a_fragment_is_english(text, reason):
    assert read_reason(text) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I am lost. Would you know the town of [clinics.name]?", ""),
        ("I am lost. The town of the clinic [clinics.name].", "no_question"),
        ("Lost in town. Would you know the town of [clinics.name]?", "no_verb"),
        ("I am lost. The town of the clinic [clinics.name]?", "no_verb"),
    ],
)
def test_whole_sentences_end_in_a_question_and_have_verbs(text, reason):
    assert read_reason(text, sentences=True) == reason


def test_sentences_are_told_apart_by_their_words_alone():
    text = "I am, well, lost here today! Would you know the [clinics.name]?"
    assert split_sentences(text) == ["i am well lost here today", "would you know the []"]
    assert list_long_sentences(text) == ["i am well lost here today"]
