from tasks.ragcheck.conversations import Conversation, ConversationTurn
from tasks.ragcheck.grading import Grade
from tasks.ragcheck.guards import check_conversation
from tests.ragcheck.scripted import make_question

QUESTION = make_question(
    question="What does UNION do?", reference="UNION eliminates duplicates and needs a temporary table."
)


def make_turn(query=QUESTION.question, said="It joins results.", tentative="", feedback="", final=None):
    return ConversationTurn(query, said, tentative, Grade(3, feedback, ""), final, None)


def check(*turns, question=QUESTION):
    conversation = Conversation("c", question.id, "s", "1", turns, "", "", (), None, None, None, (), ())
    return {
        (row.turn, row.task): (row.words, row.flagged) for row in check_conversation(conversation, question)
    }


def test_a_word_that_the_reference_alone_has_leaks_into_an_answer():
    rows = check(make_turn(tentative="UNION eliminates duplicates.", final="It joins results."))
    assert rows == {
        (1, "T2"): (("duplicates", "eliminates"), ()),
        (1, "T6"): ((), ()),
    }


def test_what_the_system_said_or_the_question_names_may_be_said_again_in_any_form():
    said = "The operator UNION is eliminating each duplicate."
    assert check(make_turn(said=said, tentative="UNION eliminates duplicates."))[1, "T2"] == ((), ())


def test_what_a_system_says_later_excuses_nothing_earlier():
    first = make_turn(tentative="It needs a temporary table.")
    second = make_turn("How?", "By a temporary table.", "It needs a temporary table.")
    rows = check(first, second)
    assert rows[1, "T2"][0] == ("needs", "table", "temporary")
    assert rows[2, "T2"][0] == ("needs",)


def test_a_question_probes_and_is_flagged_unless_the_review_named_it():
    first = make_turn(feedback="It does not say that duplicates go.")
    rows = check(first, make_turn("Are duplicates kept in a temporary table?"))
    assert rows[2, "T5"] == (("duplicates", "table", "temporary"), ("table", "temporary"))


def test_the_first_question_is_the_target_and_is_not_guarded():
    assert set(check(make_turn(tentative="x"))) == {(1, "T2")}


def test_words_of_japanese_are_told_apart():
    question = make_question(language="ja", question="梅雨とは何か。", reference="雨季の一種である。")
    rows = check(make_turn(said="梅雨は雨が多い。", tentative="梅雨は雨季です。"), question=question)
    assert rows[1, "T2"] == (("雨季",), ())
