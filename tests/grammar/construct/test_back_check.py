import asyncio

from tasks.grammar.construct.back_check import BackCheck, back_check, find_distractors
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tests.grammar.scripted import SCHEMA, ScriptedAsk

WORKS_AT = (("clinics.clinic_id", "doctors.clinic_id"),)
QUERIES = [
    Query(("clinics.town",), (), ("clinics.name",)),
    Query(("clinics.town",), WORKS_AT, ("doctors.name",)),
    Query(("clinics.name",), WORKS_AT, ("doctors.name",)),
    Query(("doctors.specialty",), (), ("doctors.name",)),
    Query(("visits.reason",), (), ("visits.day", "visits.order")),
]
TEMPLATES = [
    SqlTemplate(q.id, write_template(q), q.tables, q.projection, q.placeholders, 0, ()) for q in QUERIES
]
TEXT = TextTemplate("t1", QUERIES[1].id, "short", "town of the clinic of doctor [doctors.name]", ())


def run(reply, templates=TEMPLATES, own=(), **params):
    ask = ScriptedAsk(reply)
    return asyncio.run(back_check([TEXT], templates, own, SCHEMA, BackCheck(**params), ask)), ask


def letter_of(asked, query):
    return next(letter for letter, sql in asked.fields["choices"] if sql == write_template(query))


def test_a_text_that_is_read_right_is_kept_with_its_call():
    drafts, ask = run(lambda asked: letter_of(asked, QUERIES[1]))
    assert [row.text for row in drafts.rows] == [TEXT.text]
    assert [origin.kind for origin in drafts.rows[0].origin] == ["row", "row", "call"]
    assert ask.asked[0].role == "reader"
    assert ask.asked[0].grammar == "root ::= [ABCD]"


def test_a_text_that_is_read_as_another_template_is_dropped_and_says_as_which():
    drafts, _ = run(lambda asked: letter_of(asked, QUERIES[2]))
    assert [row.reason for row in drafts.dropped] == ["misread"]
    assert write_template(QUERIES[2]) in drafts.dropped[0].detail


def test_what_is_no_letter_is_no_verdict():
    for reply in ("E", "A or B", ""):
        drafts, _ = run(lambda _, reply=reply: reply)
        assert [row.reason for row in drafts.dropped] == ["no_verdict"]


def test_the_likest_templates_are_the_rivals():
    distractors = find_distractors(QUERIES[1].id, {template.id: template for template in QUERIES}, 3)
    # The same placeholder: clinics.name shares 5 of 7 features, specialty 2 of 7. Then clinics.town, 2 of 7.
    assert distractors == [QUERIES[2].id, QUERIES[3].id, QUERIES[0].id]


def test_two_orders_show_the_choices_both_ways_and_both_must_be_right():
    drafts, ask = run(lambda asked: letter_of(asked, QUERIES[1]), orders=2)
    one, two = ([sql for _, sql in asked.fields["choices"]] for asked in ask.asked)
    assert one == two[::-1]
    assert len(drafts.rows) == 1
    stubborn, _ = run(lambda _: letter_of(ask.asked[0], QUERIES[1]), orders=2)
    assert [row.reason for row in stubborn.dropped] == ["misread"]


def test_fewer_templates_are_fewer_choices_and_one_cannot_be_checked():
    drafts, ask = run(lambda asked: letter_of(asked, QUERIES[1]), TEMPLATES[:2])
    assert ask.asked[0].grammar == "root ::= [AB]"
    assert len(drafts.rows) == 1
    alone, ask = run(lambda _: "A", TEMPLATES[1:2])
    assert [row.reason for row in alone.dropped] == ["unchecked"]
    assert not ask.asked
