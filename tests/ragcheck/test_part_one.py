import asyncio

from tasks.judging.canaries import measure_health, read_canaries
from tasks.ragcheck.answers import answer_all
from tasks.ragcheck.canaries import canaries
from tasks.ragcheck.contexts import gather_contexts
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.questions import Exchange
from tasks.ragcheck.scores import scores
from tasks.systems.contract import Turn
from tests.ragcheck.scripted import ScriptedAsk, ScriptedSystem, make_question

QUESTIONS = [make_question(1, history=(Exchange("Before?", "Yes."),)), make_question(2)]
CORPUS = {"d1"}
SETTINGS = {"ragcheck.judging.context_tokens": 300}


def assess(system, reply, judges=("one",)):
    answers = asyncio.run(answer_all([system], QUESTIONS, CORPUS))
    contexts = asyncio.run(gather_contexts([system], QUESTIONS, answers, CORPUS))
    entry = Assessment(systems=(system.name,), judges=judges, ratings="x.csv")
    ask = ScriptedAsk(reply)
    drafts = asyncio.run(scores(QUESTIONS, answers, list(contexts.rows), entry, SETTINGS, ask))
    return answers, contexts, drafts.rows, ask


def test_contexts_are_the_answers_own_passages_and_those_by_question_and_reference():
    system = ScriptedSystem(["x"])
    answers, contexts, _, _ = assess(system, lambda asked: "fine\nScore: 4")
    assert system.queries == [f"{question.question} {question.reference}" for question in QUESTIONS]
    by_rule = {rule: [row for row in contexts.rows if row.rule == rule] for rule in ("E2", "E3")}
    assert [row.passages for row in by_rule["E2"]] == [system.shows] * 2
    assert [row.origin[0].reference for row in by_rule["E2"]] == [f"answers#{row.id}" for row in answers]
    assert all("found by:" in row.passages[0].text for row in by_rule["E3"])


def test_every_judge_grades_every_answer_by_both_contexts():
    _, _, rows, ask = assess(ScriptedSystem(["x"]), lambda asked: "fine\nScore: 4", ("one", "two"))
    assert len(rows) == 2 * 2 * 2
    assert {(row.rule, row.judge) for row in rows} == {(r, j) for r in ("E2", "E3") for j in ("one", "two")}
    assert {request.role for request in ask.asked} == {"one", "two"}
    assert all({origin.kind for origin in row.origin} == {"row", "call"} for row in rows)


def test_the_conversation_before_a_question_is_handed_to_the_system():
    system = ScriptedSystem(["x"])
    assess(system, lambda asked: "fine\nScore: 4")
    assert [history for _, history in system.asked] == [(Turn("Before?", "Yes."),), ()]


def test_a_system_that_gives_no_answer_is_a_row_and_no_judge_is_asked():
    answers, _, rows, ask = assess(ScriptedSystem([None]), lambda asked: "fine\nScore: 4")
    assert [(answer.text, answer.problem) for answer in answers] == [(None, "it is down")] * 2
    assert not rows
    assert not ask.asked


def test_a_system_that_cannot_retrieve_is_judged_by_what_its_replies_show():
    _, contexts, rows, _ = assess(ScriptedSystem(["x"], retrieves=False), lambda asked: "fine\nScore: 4")
    assert [row.reason for row in contexts.dropped] == ["no_retrieval"] * 2
    assert [row.rule for row in rows] == ["E2"] * 2


def test_what_a_reply_does_not_show_is_counted_and_judged_by_nobody():
    system = ScriptedSystem(["x"], retrieves=False, shows=None)
    _, contexts, rows, _ = assess(system, lambda asked: "fine\nScore: 4")
    assert sorted(row.reason for row in contexts.dropped) == ["no_retrieval"] * 2 + ["not_shown"] * 2
    assert not rows


def test_a_reply_that_found_nothing_is_judged_without_contexts():
    _, contexts, rows, _ = assess(ScriptedSystem(["x"], shows=()), lambda asked: "fine\nScore: 4")
    assert not contexts.dropped
    assert len(rows) == 4


def test_an_unreadable_grade_is_a_row_without_a_score():
    _, _, rows, _ = assess(ScriptedSystem(["x"]), lambda asked: "I cannot say.")
    assert all(row.score is None and row.problem and row.feedback == "I cannot say." for row in rows)


def test_every_judge_is_tried_on_all_canaries():
    entry = Assessment(systems=("s",), judges=("one", "two"), ratings="x.csv")

    def reply(asked):
        return "right\nScore: 5" if asked.role == "one" else "no grade"

    rows = asyncio.run(canaries(entry, SETTINGS, ScriptedAsk(reply))).rows
    known = read_canaries("score")
    assert len(rows) == 2 * len(known)
    one = measure_health(row for row in rows if row.id.startswith("one/"))
    two = measure_health(row for row in rows if row.id.startswith("two/"))
    assert len(one.wrong) == sum("5" not in canary.accepted for canary in known)
    assert (two.n_scored, two.n_failed) == (0, len(known))
