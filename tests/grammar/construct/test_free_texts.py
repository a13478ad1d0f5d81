"""Tests of the texts of free-form SQL: the prompts, and the rules for every text."""

import asyncio
import json

import pytest

from tasks.grammar.construct.fill_in import Filling, Group
from tasks.grammar.construct.free_reading import read_free
from tasks.grammar.construct.free_texts import find_leak, list_answers, list_free_requests, parse_free_text
from tasks.grammar.construct.sql_templates import CONSTRAIN, SHAPE, SqlTemplate
from tasks.grammar.construct.text_requests import Criterion, TextTemplates
from tasks.grammar.construct.text_templates import text_templates
from tasks.models.ask import Unparsed
from tests.grammar.scripted import SCHEMA, ScriptedAsk

SQL = (
    "SELECT specialty, COUNT(*) FROM doctors WHERE hourly_rate > '[doctors.hourly_rate]' GROUP BY specialty "
    "HAVING COUNT(*) > 2"
)
GOOD = "in which fields do more than 2 doctors take over [doctors.hourly_rate] an hour, and how many do"
SHORT = Criterion(prompt="texts/short", minimum_words=4, maximum_words=24, samples=2)
LONG = Criterion(
    prompt="texts/long",
    minimum_words=10,
    maximum_words=60,
    samples=1,
    sentences=True,
    circumstances=("I am planning for 2031", "I write a leaflet", "I keep a list"),
    openings=("", "Could you tell me"),
)


def make_template(sql=SQL):
    query = read_free(sql, SCHEMA)
    return SqlTemplate(query.id, query.sql, query.tables, query.projection, query.placeholders, 0, ())


def parse(text, criterion=SHORT, answers=()):
    template = make_template()
    return parse_free_text(text, read_free(SQL, SCHEMA), template.sql, SCHEMA, criterion, answers)


def run(reply, templates, own=(), criteria=None):
    ask = ScriptedAsk(reply)
    groups = [
        Group(f"g{n}", template.id, "", (Filling("doctors.hourly_rate", "80"),), "", json.dumps(rows), ())
        for template in templates
        for n, rows in enumerate(([["kvetchology", 2]], [["ozonotomy", 1]]))
    ]
    params = TextTemplates(criteria=criteria or {"short": SHORT, "long": LONG})
    settings = {CONSTRAIN: "none", SHAPE: "any"}
    return asyncio.run(text_templates(templates, list(own), groups, SCHEMA, settings, params, ask)), ask


def test_words_are_the_models_own_and_a_value_may_be_said_twice():
    for text in (
        GOOD,
        "doctors above [doctors.hourly_rate]: fields of which more than 2 beat [doctors.hourly_rate]",
        "what do you know of the fields whose doctors, or most, beat [doctors.hourly_rate]?",
    ):
        assert parse(f'"{text}"') == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("in which fields do doctors take over 80 an hour", "wrong_placeholders"),
        (GOOD.replace("hourly_rate", "name"), "wrong_placeholders"),
        (f"{GOOD} [sic]", "wrong_placeholders"),
        ("over [doctors.hourly_rate]", "too_short"),
        (f"{GOOD} {'please ' * 30}", "too_long"),
        ("SELECT fields FROM doctors over [doctors.hourly_rate] an hour", "code_words"),
        ("the fields with hourly_rate over [doctors.hourly_rate] please", "code_words"),
        ("fields in doctors.specialty over [doctors.hourly_rate] please", "code_words"),
        ("write the query for doctors above [doctors.hourly_rate] now", "code_words"),
        ("see https://x.test for fields of doctors over [doctors.hourly_rate]", "code_words"),
        (GOOD.replace("than 2", "than 17"), "invented_value"),
        (GOOD.replace("doctors take", 'doctors of "Xanadu House" take'), "invented_value"),
        (GOOD.replace("fields", "fields, such as kvetchology,"), "leaks_answer"),
    ],
)
def test_what_no_text_may_have_has_its_word(text, reason):
    with pytest.raises(Unparsed, match=f"^{reason}: "):
        parse(text, answers={"kvetchology", "ozonotomy"})


def test_a_number_of_the_circumstance_is_no_invented_one():
    text = f"I am planning for 2031, and there is one gap. {GOOD.capitalize()}?"
    assert parse(text, LONG) == text


def test_an_answer_that_is_a_word_of_the_schema_leaks_nothing():
    assert find_leak("the kvetchology of doctors", {"doctors", "kvetchology"}, {"doctors"}) == "kvetchology"
    assert not find_leak("the number of doctors", {"doctors"}, {"doctors"})
    assert find_leak("is it Xanadu  House or so", {"xanadu house"}, ()) == "xanadu house"
    groups = [Group("g", "t", "", (), "", '[["Xanadu House", 3, null], ["Vex", 4, "x"]]', ())]
    assert list_answers(groups) == {"t": {"xanadu house"}}


def test_a_free_model_words_sql_of_any_shape_under_each_criterion():
    def reply(asked):
        if not asked.fields["sentences"]:
            return f"{GOOD} {'so' if asked.sample else 'then'}"
        return f"{asked.fields['circumstance']}. {asked.fields['opening']} {GOOD}?"

    drafts, ask = run(reply, [make_template()])
    assert [row.criterion for row in drafts.rows] == ["short", "short", "long"]
    assert {asked.prompt.name for asked in ask.asked} == {"from_sql"}
    first = ask.asked[0].text
    assert make_template().sql in first
    assert "doctors.specialty: specialty of a doctor" in first
    assert "kvetchology" not in first
    assert not drafts.dropped


def test_a_template_without_groups_is_not_worded_and_a_bad_text_is_dropped():
    template, other = make_template(), make_template(SQL.replace("> 2", "> 3"))
    drafts, _ = run(lambda _: "kvetchology above [doctors.hourly_rate] it is", [template])
    assert [drop.reason for drop in drafts.dropped] == ["leaks_answer", "leaks_answer", "too_short"]
    ask = ScriptedAsk(lambda _: GOOD)
    settings = {CONSTRAIN: "none", SHAPE: "any"}
    params = TextTemplates(criteria={"short": SHORT})
    drafts = asyncio.run(text_templates([other], [], [], SCHEMA, settings, params, ask))
    assert [drop.reason for drop in drafts.dropped] == ["no_groups"]
    assert not ask.asked


def test_a_request_hangs_on_its_template_alone():
    templates = [make_template(SQL.replace("> 2", f"> {n}")) for n in range(8)]
    every = list_free_requests("long", LONG, templates)
    assert list_free_requests("long", LONG, templates[3:5]) == every[3:5]
    assert {request.circumstance for request in every} == set(LONG.circumstances)
