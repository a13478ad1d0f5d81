from dataclasses import replace

from tasks.artifacts.rows import make_id
from tasks.databases.entry import DatabaseEntry
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.corpus.answer_columns import AnswerColumns, answer_columns
from tasks.grammar.corpus.questions import AskedQuestion
from tests.grammar.scripted import ROWS, SCHEMA, make_database

WORKS_AT = (("clinics.clinic_id", "doctors.clinic_id"),)
TOWN = Query(("clinics.town",), WORKS_AT, ("doctors.name",))
RATE = Query(("doctors.hourly_rate",), (), ("doctors.name",))
DAY = Query(("visits.day",), (), ("visits.order",))
REASON = Query(("visits.reason",), (), ("visits.order",))
MANY = Query(("doctors.doctor_id",), WORKS_AT, ("clinics.town",), "count")
BOTH = Query(("doctors.name", "doctors.specialty"), WORKS_AT, ("clinics.town",))
QUERIES = (TOWN, RATE, DAY, MANY, BOTH)


def look_up(tmp_path, *queries, schema=SCHEMA, script=ROWS, **params):
    templates = [
        SqlTemplate(
            query.id, write_template(query), query.tables, query.projection, query.placeholders, 0, ()
        )
        for query in (*QUERIES, REASON)
    ]
    asked = [
        AskedQuestion(make_id(query.id), "g", "short", "?", "!", query.id, "t", True, False, None, ())
        for query in queries
    ]
    entry = DatabaseEntry(name="hospital", file=make_database(tmp_path / "hospital.sqlite", script))
    rows = answer_columns(templates, schema, asked, entry, AnswerColumns(**params)).rows
    return {row.id: row for row in rows}


def test_the_kind_of_every_asked_templates_answers_is_known_and_the_values_of_a_text_column(tmp_path):
    rows = look_up(tmp_path, *QUERIES)
    assert {row.id: (row.column, row.kind, row.values) for row in rows.values()} == {
        TOWN.id: ("clinics.town", "text", ("Quillport", "Vex")),
        RATE.id: ("doctors.hourly_rate", "number", ()),
        DAY.id: ("visits.day", "date", ()),
        MANY.id: ("", "number", ()),
        BOTH.id: ("", "other", ()),
    }
    assert REASON.id not in rows


def test_a_column_with_more_values_than_listed_has_none(tmp_path):
    assert look_up(tmp_path, TOWN, most=2)[TOWN.id].values == ("Quillport", "Vex")
    (tmp_path / "hospital.sqlite").unlink()
    assert look_up(tmp_path, TOWN, most=1)[TOWN.id].values == ()


def test_text_that_is_all_dates_times_or_numbers_is_of_that_kind(tmp_path):
    for number, (values, kind) in enumerate(
        [(("08:59", "19:00"), "time"), (("2031-01-02", "2031-01-03"), "date"), (("7", "1,200"), "number")]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        one, other = values
        script = f"{ROWS} UPDATE clinics SET town = CASE clinic_id WHEN 1 THEN '{one}' ELSE '{other}' END;"
        assert look_up(folder, TOWN, script=script)[TOWN.id].kind == kind


def test_a_column_goes_by_the_words_that_people_use(tmp_path):
    schema = [replace(column, words="place") if column.id == "clinics.town" else column for column in SCHEMA]
    assert look_up(tmp_path, TOWN, schema=schema)[TOWN.id].words == "place"
