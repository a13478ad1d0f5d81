"""Tests of the item viewers' content for answers and conversations; tests/browser tests the display."""

from pathlib import Path

from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.contexts import Context
from tasks.ragcheck.conversations import Conversation, ConversationTurn, End
from tasks.ragcheck.grading import Grade
from tasks.ragcheck.guards import Guard
from tasks.ragcheck.questions import Exchange
from tasks.ragcheck.scores import JudgeScore
from tasks.ragcheck.view import view_answers, view_conversations
from tasks.reports import blocks
from tasks.systems.contract import Passage
from tests.ragcheck.scripted import make_question

PASSAGE = Passage("d1", "Set operators", "UNION drops duplicates.", 1.5)


def make_answer(number, text="It drops them."):
    return SystemAnswer(f"a{number}", "q1", f"s{number}", "1", text, "" if text else "it is down", (), ())


def make_score(answer, score, rule="E3", judge="second"):
    return JudgeScore(f"{answer}-{rule}-{judge}", answer, "q1", "s1", rule, judge, score, "Right.", "", ())


def view(answers, scores, judges=("second", "first"), question=None):
    questions = [question or make_question(1)]
    context = Context("c1", "q1", "s1", "E3", (PASSAGE,), ())
    return view_answers(questions, answers, [context], scores, [], [], judges, Path("answers.parquet"))


def test_answers_are_filtered_by_the_first_judges_grade_with_contexts_by_the_reference():
    scores = [
        make_score("a1", 1, judge="first"), make_score("a1", 4), make_score("a1", 2, "E2"),
        make_score("a3", None), make_score("a4", 3, "E2", "first"),
    ]  # fmt: skip
    answers = [make_answer(1), make_answer(2, None), make_answer(3), make_answer(4), make_answer(5)]
    rows = view(answers, scores).rows
    assert [row.values[2] for row in rows] == ["4", "no answer", "no grade", "3", "no grade"]
    assert rows[0].tags == (
        ("s1", ""),
        ("first, E3: 1", "bad"),
        ("second, E2: 2", "bad"),
        ("second, E3: 4", "good"),
        ("db", "off"),
    )
    assert rows[1].tags[1] == ("no answer", "bad")
    assert view(answers, scores, ("second",)).rows[0].tags[-2] == ("E3: 4", "good")


def test_an_answer_stands_with_the_conversation_before_it_and_its_contexts_in_a_file():
    question = make_question(1, history=(Exchange("Before?", "Yes."),))
    viewer = view([make_answer(1)], [], question=question)
    (row,) = viewer.rows
    assert next(block for block in row.blocks if block[0] == "fold")[1] == "Earlier turns (1)"
    assert row.blocks[-1] == ("stored", "details", "a1")
    *_, passages, _, ids = viewer.files["details"]["a1"]
    assert ids[1] == [["answer", "a1"], ["question", "key-1"]]
    assert passages[1:3] == (
        "Contexts E3, from the question and the reference",
        [["Set operators", "score 1.5", [], "UNION drops duplicates."]],
    )


def make_talk(name, ended, turns=(), scores=(), problem=""):
    wscore = 4.0 if scores else None
    return Conversation(
        name, "q1", name, "1", turns, ended, problem, scores, wscore, wscore, wscore, (PASSAGE,), ()
    )


def test_a_conversation_marks_leaks_and_probes_and_says_which_grade_counts():
    turns = (
        ConversationTurn("What?", "Rows.", "It drops duplicates.", Grade(2, "Lacks.", ""), None, None),
        ConversationTurn("Duplicates?", "Yes.", "Drops.", Grade(3, "Near.", ""), "Yes.", Grade(5, "", "")),
    )
    talks = [
        make_talk("t1", End.STOPPED, turns, (2, 5)),
        make_talk("t2", End.FAILED, problem="T1: the system gave no answer"),
    ]
    guards = [
        Guard("g1", "t1", "q1", "s1", 1, "T2", ("duplicates",), (), ()),
        Guard("g2", "t1", "q1", "s1", 2, "T5", ("duplicates",), ("duplicates",), ()),
    ]
    viewer = view_conversations([make_question(1)], talks, guards, Path("conversations.parquet"))
    talked, failed = viewer.rows
    assert talked.tags == (("t1", ""), ("2", "bad"), ("5", "good"), ("no question", "off"), ("db", "off"))
    assert (failed.tags[1], failed.values[2]) == (("failed", "bad"), "failed")
    shown = str(talked.blocks)
    assert str(blocks.marked("It drops duplicates.", ["duplicates"])) in shown
    assert "Words that only the reference has: duplicates" in shown
    assert "unknown words: duplicates · flagged: duplicates" in shown
    assert shown.count("replaced by the final grade") == 1
    assert "#row=t2" in shown
    assert "failed: T1: the system gave no answer" in str(failed.blocks)
