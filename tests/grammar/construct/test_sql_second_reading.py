"""Tests of the second reading of free-form SQL: the reader writes SQL, and the rows are compared."""

import asyncio

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.free_reading import read_free
from tasks.grammar.construct.second_reading import SecondReading, second_reading
from tasks.grammar.construct.sql_templates import OwnTemplate, OwnText, SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tests.grammar.scripted import SCHEMA, ScriptedAsk, make_database

QUERY = read_free(
    "SELECT town, COUNT(*) FROM clinics JOIN doctors ON clinics.clinic_id = doctors.clinic_id "
    "WHERE hourly_rate >= '[doctors.hourly_rate:from]' AND specialty = '[doctors.specialty]' GROUP BY town",
    SCHEMA,
)
TEMPLATE = SqlTemplate(QUERY.id, QUERY.sql, QUERY.tables, QUERY.projection, QUERY.placeholders, 0, ())
TEXT = (
    "for doctors of [doctors.specialty] who take at least [doctors.hourly_rate:from]: how many "
    "are there in each town"
)
RIGHT = (
    "SELECT COUNT(d.doctor_id), c.town FROM doctors d, clinics c WHERE c.clinic_id = d.clinic_id "
    "AND d.specialty = '[1]' AND '[2]' <= d.hourly_rate GROUP BY c.town"
)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    return DatabaseEntry(name="clinic", file=make_database(tmp_path_factory.mktemp("c") / "clinic.sqlite"))


def run(database, reply, own=False, by="model"):
    ask = ScriptedAsk(lambda _: reply)
    text = TextTemplate("text", QUERY.id, "short", TEXT, ())
    groups = fill_in([TEMPLATE], SCHEMA, database, FillIn()).rows
    persons = [
        OwnTemplate(
            QUERY.id,
            QUERY.sql,
            QUERY.tables,
            (),
            QUERY.placeholders,
            (OwnText("short", TEXT),),
            "",
            False,
            (),
        )
    ]
    drafts = asyncio.run(
        second_reading(
            [text],
            [TEMPLATE],
            persons if own else [],
            groups,
            SCHEMA,
            database,
            None,
            SecondReading(by=by),
            ask,
        )
    )
    return drafts, ask


def test_a_text_that_is_read_to_the_same_rows_is_kept_whatever_the_sql(clinic):
    drafts, ask = run(clinic, f"```sql\n{RIGHT};\n```")
    assert [(row.id, row.reading) for row in drafts.rows] == [("text", "same")]
    assert [origin.kind for origin in drafts.rows[0].origin] == ["row", "call"]
    (asked,) = ask.asked
    assert asked.role == "reader"
    assert "[1: doctors.specialty] who take at least [2: doctors.hourly_rate]:" in asked.text
    assert "clinic_id integer -> clinics.clinic_id" in asked.text
    assert ":from" not in asked.text  # the prompt does not reveal how a value is compared
    assert "Quillport" not in asked.text


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (RIGHT.replace("<=", "<"), "read_otherwise"),
        (RIGHT.replace("d.specialty =", "d.specialty <>"), "read_otherwise"),
        (RIGHT.replace("AND '[2]' <= d.hourly_rate ", ""), "read_otherwise"),
        (RIGHT.replace("COUNT(d.doctor_id)", "AVG(d.hourly_rate)"), "read_otherwise"),
        (RIGHT.replace("COUNT(d.doctor_id), ", ""), "read_otherwise"),
        (RIGHT.replace("c.town", "c.name"), "read_otherwise"),
        ("", "unread"),
        ("I would rather not say.", "unread"),
        (RIGHT.replace("[2]", "[3]"), "unread"),
        (RIGHT.replace("'[2]'", "'[visits.day]'"), "unread"),
        (RIGHT.replace("c.town", "c.colour"), "unread"),
        ("DELETE FROM doctors", "unread"),
        ("SELECT 1 FROM doctors a, doctors b, doctors c WHERE a.name = '[1]'", "unread"),
        (f"{RIGHT} ORDER BY RANDOM()", "unread"),
        ("SELECT " + "(" * 4_000, "unread"),
    ],
)
def test_a_text_that_is_read_to_other_rows_or_to_nothing_is_dropped(clinic, wrong, reason):
    drafts, _ = run(clinic, wrong)
    assert not drafts.rows
    (drop,) = drafts.dropped
    assert (drop.id, drop.reason) == ("text", reason)
    assert drop.detail.startswith(TEXT)


@pytest.mark.parametrize(
    ("reply", "reading"),
    [(RIGHT, "same"), (RIGHT.replace("<=", "<"), "read_otherwise: was read as: SELECT"), ("?", "unread: ?")],
)
def test_what_a_person_wrote_is_kept_with_what_it_was_read_as(clinic, reply, reading):
    drafts, _ = run(clinic, reply, own=True)
    assert not drafts.dropped
    (row,) = drafts.rows
    assert (row.text, row.criterion) == (TEXT, "short")
    assert row.reading.startswith(reading)
    assert "call" in [origin.kind for origin in row.origin]


def test_where_nobody_reads_nothing_is_said_of_a_reading(clinic):
    drafts, ask = run(clinic, RIGHT, by="none")
    assert [row.reading for row in drafts.rows] == [""]
    assert not ask.asked
