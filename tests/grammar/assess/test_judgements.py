"""Tests that answers decided by a rule are not sent to a judge."""

import asyncio

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin
from tasks.grammar.assess.answers import AssessedAnswer
from tasks.grammar.assess.evaluation import count_rows
from tasks.grammar.assess.judgements import Judgement, Judgements, judgements
from tasks.grammar.corpus.answer_columns import AnswerColumn
from tasks.reports.own_evaluation import compute_figure
from tests.grammar.assess_world import Model, make_world


def judge(responses: list[str | None], columns=(), **params):
    """Judge one response per question; the questions are about different villages."""
    questions = make_world(len(responses)).questions[::3]
    answers = [
        AssessedAnswer(
            f"a{number}", question.id, question.group, "short", text, None, None, "", (Origin("file", "x"),)
        )
        for number, (question, text) in enumerate(zip(questions, responses, strict=True))
    ]
    model = Model()
    drafts = asyncio.run(judgements(answers, questions, list(columns), Judgements(**params), model))
    rows = sorted(drafts.rows, key=lambda row: row.id)
    return rows, model


def test_an_empty_response_is_incorrect_by_its_rule_and_an_equal_one_correct(tmp_path):
    rows, model = judge(["", " \n", "1002", "It lies at 1003 metres", None])
    assert [(row.judgement, row.rule) for row in rows] == [
        ("Incorrect", "empty"),
        ("Incorrect", "empty"),
        ("Correct", "exact"),
        ("Correct", ""),
        (None, ""),
    ]
    assert model.count("judge") == 1
    write_rows(tmp_path / "judgements.parquet", Judgement, rows)
    counts = count_rows({"judgements": rows})
    assert [compute_figure(counts[name], tmp_path) for name in ("by_rule", "unanswered")] == [3, 2]


def test_without_rules_the_judge_is_shown_the_empty_response_too():
    rows, model = judge(["", "1001"], rules=False)
    assert [row.rule for row in rows] == ["", ""]
    assert model.count("judge") == 2


def test_another_value_of_the_answers_column_is_incorrect_by_rule_and_named():
    template = make_world(1).questions[0].sql_template
    column = AnswerColumn(template, "villages.height", "height", "number", (), (Origin("file", "x"),))
    rows, model = judge(["It lies at 2000", "1001"], [column])
    assert [(row.judgement, row.rule, row.found) for row in rows] == [
        ("Incorrect", "other value", "2000"),
        ("Correct", "exact", "1001"),
    ]
    assert not model.count("judge")
    # The judge decides responses that are neither the answer nor another value.
    rows, model = judge(["It lies at 1,500 feet"], [column])
    assert (rows[0].rule, model.count("judge")) == ("", 1)
