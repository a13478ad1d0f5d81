"""Tests of a model's free-form SQL: accepted SQL, and drop reasons."""

import asyncio
from dataclasses import replace

import pytest

from tasks.grammar.construct.any_templates import fits_kind, parse_any, read_any
from tasks.grammar.construct.coverage import Coverage, PlannedRequest, Subject
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_templates import CONSTRAIN, sql_templates
from tasks.models.ask import Unparsed
from tests.grammar.construct.test_sql_templates import make_params
from tests.grammar.scripted import ENTRY, SCHEMA, ScriptedAsk
from tests.grammar.strong_model import find_reply

EXAMPLE = "SELECT city FROM publishers WHERE name = '[publishers.name]'"
KEPT = {
    "group": "SELECT specialty, COUNT(*) FROM doctors WHERE name <> '[doctors.name]' GROUP BY specialty",
    "having": "SELECT specialty FROM doctors WHERE hourly_rate > '[doctors.hourly_rate]' "
    "GROUP BY specialty HAVING COUNT(*) > 1",
    "nested": "SELECT name FROM doctors WHERE clinic_id IN "
    "(SELECT clinic_id FROM clinics WHERE town = '[clinics.town]')",
    "set_operation": "SELECT town FROM clinics WHERE name = '[clinics.name]' EXCEPT "
    "SELECT town FROM clinics WHERE name = '[clinics.name#2]'",
    "ranking": "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' "
    "ORDER BY hourly_rate DESC LIMIT 3",
    "comparison": "SELECT SUM(CASE WHEN hourly_rate > '[doctors.hourly_rate]' THEN 1 END) FROM doctors",
    "date": "SELECT reason FROM visits WHERE strftime('%Y', day) = strftime('%Y', '[visits.day]')",
    "list": "SELECT DISTINCT name FROM doctors WHERE specialty LIKE '%[doctors.specialty]%' ORDER BY name",
    "count": "SELECT COUNT(*) FROM doctors a JOIN doctors b ON a.clinic_id = b.clinic_id "
    "WHERE a.name = '[doctors.name]'",
    "lookup": "SELECT d.specialty, c.town FROM doctors d LEFT JOIN clinics c ON c.clinic_id = d.clinic_id "
    "WHERE d.name = '[doctors.name]'",
}
REFUSED = [
    ("SELECT * FROM clinics WHERE name = '[clinics.name]'", "star"),
    ("SELECT RANK() OVER (ORDER BY hourly_rate) FROM doctors WHERE name <> '[doctors.name]'", ""),
    ("SELECT town FROM clinics", "no_placeholder"),
    ("SELECT town FROM clinics WHERE name LIKE 'X%' AND town <> '[clinics.town]'", "constant"),
    ("SELECT clinic_id FROM doctors WHERE name = '[doctors.name]'", "not_descriptive"),
    ("SELECT name, name FROM doctors WHERE name = '[doctors.name]'", ""),
    ("SELECT name FROM doctors WHERE name = '[doctors.name]' LIMIT 1", "answer_given"),
    ("SELECT d.name FROM doctors d, clinics c WHERE c.name = '[clinics.name]'", "unconnected"),
    ("SELECT d.name FROM doctors d JOIN clinics c ON 1 WHERE c.name = '[clinics.name]'", "unconnected"),
    (
        "SELECT d.name FROM doctors d, clinics c WHERE c.clinic_id = d.clinic_id AND town = '[clinics.town]'",
        "",
    ),
    ("SELECT name FROM doctors WHERE zeroblob(9) <> '[doctors.name]'", "other_operator"),
    ("SELECT town FROM clinics WHERE name = '[clinics.name]'; DROP TABLE clinics", "unreadable"),
    ("DELETE FROM clinics WHERE name = '[clinics.name]'", "not_select"),
    ("SELECT city FROM publishers  WHERE name = '[publishers.name]'", "copied_example"),
    (
        "SELECT COUNT(*) FROM doctors, (SELECT AVG(hourly_rate) AS m FROM doctors) AS all_of_them "
        "WHERE hourly_rate > m AND specialty = '[doctors.specialty]'",
        "",
    ),
]


def make_request(subject="doctors", tables=("doctors",), column="", kind="group"):
    return PlannedRequest("id", Subject(subject, tables, column), kind, tuple(SCHEMA))


@pytest.mark.parametrize("kind", KEPT)
def test_a_query_of_each_kind_is_kept(kind):
    query = read_any(KEPT[kind], SCHEMA, EXAMPLE)
    assert fits_kind(query, kind, SCHEMA)
    assert query.placeholders


@pytest.mark.parametrize(("sql", "reason"), REFUSED)
def test_what_a_model_may_not_write_has_its_word(sql, reason):
    if not reason:
        read_any(sql, SCHEMA, EXAMPLE)
        return
    with pytest.raises(BrokenRule) as broken:
        read_any(sql, SCHEMA, EXAMPLE)
    assert broken.value.reason == reason


def test_a_reply_must_be_about_its_subject_and_of_its_kind():
    good = f"```sql\n{KEPT['group']};\n```"
    assert parse_any(good, SCHEMA, make_request(), EXAMPLE).tables == ("doctors",)
    for request, reason in (
        (make_request("visits", ("visits",)), "other_subject"),
        (make_request("doctors.hourly_rate", column="doctors.hourly_rate"), "other_subject"),
        (make_request(kind="set_operation"), "other_kind"),
    ):
        with pytest.raises(Unparsed, match=f"^{reason}: "):
            parse_any(good, SCHEMA, request, EXAMPLE)


def test_a_free_model_is_asked_by_plan_and_what_nobody_asks_about_is_named():
    params = make_params().model_copy(update={"dialect": "any", "coverage": Coverage(rounds=1)})
    due = {}

    def reply(asked):
        text, reason = find_reply(asked)
        about = asked.fields["subject"]
        if "visits" in about.tables:  # the model fails on this table
            text, reason = "SELECT x FROM y", "unknown_name"
        due[asked.row] = reason
        return text

    ask = ScriptedAsk(reply)
    drafts = asyncio.run(sql_templates(SCHEMA, [], ENTRY, {CONSTRAIN: "none"}, params, ask))
    assert {asked.prompt.name for asked in ask.asked} == {"sql_template_any"}
    named = {drop.detail.partition(":")[0] for drop in drafts.dropped if drop.reason == "uncovered"}
    assert {"table visits", "column visits.day", "column visits.reason"} <= named
    asked_about = {table for row in drafts.rows for table in row.tables}
    assert asked_about == {"clinics", "doctors"}
    assert all(row.choices == 0 for row in drafts.rows)
    (visits,) = [drop for drop in drafts.dropped if drop.detail.startswith("table visits:")]
    assert "unknown_name" in visits.detail


def test_a_further_round_asks_only_about_what_is_not_covered():
    params = make_params().model_copy(update={"dialect": "any", "coverage": Coverage(rounds=3, link=0)})
    seen = []

    def reply(asked):
        seen.append((asked.fields["subject"].id, asked.fields["kind"]))
        return "" if asked.fields["subject"].id == "clinics.town" else find_good(asked)

    def find_good(asked):
        row, text, reason = asked.row, "", "?"
        while reason:  # try other requests until the script writes a good reply
            text, reason = find_reply(replace(asked, row=row))
            row += "x"
        return text

    asyncio.run(sql_templates(SCHEMA, [], ENTRY, {CONSTRAIN: "none"}, params, ScriptedAsk(reply)))
    assert len(set(seen)) == len(seen)
    counts = {subject: sum(other == subject for other, _ in seen) for subject, _ in seen}
    assert counts["doctors.name"] == 2
    assert counts["clinics"] == 1
