"""Tests of the second reading: a model's or person's reading of a text, compared with groups' answers."""

import asyncio

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import reflect
from tasks.errors import BadInput
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.second_reading import SecondReading, second_reading
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.text_templates import TextTemplate
from tests.databases.servers import PASSWORD, PASSWORD_ENV, copy_tables, open_place
from tests.grammar.scripted import SCHEMA, ScriptedAsk, make_database

WORKS_AT = (("clinics.clinic_id", "doctors.clinic_id"),)
LED = (("doctors.doctor_id", "visits.leading_doctor"),)
QUERIES = {
    "town": Query(("clinics.town",), WORKS_AT, ("doctors.name",)),
    "doctors": Query(("doctors.doctor_id",), WORKS_AT, ("clinics.name",), "count"),
    "dear": Query(("doctors.name",), (), ("doctors.hourly_rate:over",), "list"),
    "days": Query(("visits.day",), LED, ("doctors.name",), "list"),
    "best": Query(("doctors.name",), WORKS_AT, ("clinics.name",), "most", "doctors.hourly_rate"),
    "both": Query(("doctors.hourly_rate", "doctors.specialty"), (), ("doctors.name",)),
}
TEXTS = {
    "town": "town of the clinic of doctor [doctors.name]",
    "doctors": "how many doctors work at [clinics.name]",
    "dear": "doctors who take more than [doctors.hourly_rate:over] an hour",
    "days": "days of the visits that [doctors.name] led",
    "best": "doctor with the highest rate at [clinics.name]",
    "both": "specialty and hourly rate of [doctors.name]",
}
READINGS = {
    "town": "list clinics.town; 1 equals doctors.name",
    "doctors": "count doctors; 1 equals clinics.name",
    "dear": "list doctors.name; 1 over doctors.hourly_rate",
    "best": "most doctors.name by doctors.hourly_rate; 1 equals clinics.name",
    "both": "list doctors.specialty, doctors.hourly_rate; 1 equals doctors.name",
}
TEMPLATES = {
    name: SqlTemplate(q.id, write_template(q), q.tables, q.projection, q.placeholders, 0, ())
    for name, q in QUERIES.items()
}


@pytest.fixture
def clinic(tmp_path):
    return DatabaseEntry(name="clinic", file=make_database(tmp_path / "clinic.sqlite"))


def fill(database, schema=SCHEMA):
    return list(fill_in(list(TEMPLATES.values()), schema, database, FillIn(every_value_matters=False)).rows)


def run(database, names, reply=None, by="model", groups=None, schema=SCHEMA, folder=None):
    ask = ScriptedAsk(reply or (lambda _: "?"))
    texts = [TextTemplate(name, TEMPLATES[name].id, "short", TEXTS[name], ()) for name in names]
    groups = fill(database, schema) if groups is None else groups
    drafts = asyncio.run(
        second_reading(
            texts, list(TEMPLATES.values()), [], groups, schema, database, folder, SecondReading(by=by), ask
        )
    )
    return drafts, ask


def run_file(database, tmp_path, lines, names=("town",), suffix="jsonl"):
    raw = lines if isinstance(lines, bytes) else lines.encode()
    (tmp_path / f"clinic.readings.{suffix}").write_bytes(raw)
    return run(database, names, by="file", folder=tmp_path)[0]


@pytest.mark.parametrize("name", READINGS)
def test_a_text_that_is_read_to_the_same_answers_is_kept_with_its_call(clinic, name):
    drafts, ask = run(clinic, [name], lambda _: READINGS[name])
    assert [row.text for row in drafts.rows] == [TEXTS[name]]
    assert [origin.kind for origin in drafts.rows[0].origin] == ["row", "call"]
    assert [request.role for request in ask.asked] == ["reader"]


def test_the_reader_sees_neither_the_query_nor_how_a_value_is_compared(clinic):
    _, ask = run(clinic, ["dear"], lambda _: READINGS["dear"])
    assert "more than [1: doctors.hourly_rate] an hour" in ask.asked[0].text
    assert "SELECT" not in ask.asked[0].text
    assert "hourly_rate:over" not in ask.asked[0].text
    assert "Quillport" not in ask.asked[0].text
    assert '"count " counted' in ask.asked[0].grammar


@pytest.mark.parametrize(
    ("name", "reading"),
    [
        ("town", "list doctors.specialty; 1 equals doctors.name"),
        ("doctors", "average doctors.hourly_rate; 1 equals clinics.name"),
        ("dear", "list doctors.name; 1 under doctors.hourly_rate"),
        ("dear", "count doctors; 1 over doctors.hourly_rate"),
        ("best", "least doctors.name by doctors.hourly_rate; 1 equals clinics.name"),
        ("town", "list clinics.town; 1 equals clinics.name"),
    ],
)
def test_a_text_that_is_read_to_another_answer_is_dropped_and_says_as_what(clinic, name, reading):
    drafts, _ = run(clinic, [name], lambda _: reading)
    assert not drafts.rows
    (drop,) = drafts.dropped
    assert (drop.id, drop.reason) == (name, "read_otherwise")
    assert f"{TEXTS[name]} -- was read as: SELECT" in drop.detail
    assert "which gives" in drop.detail
    assert [origin.kind for origin in drop.origin] == ["row", "call", "row"]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "a town",
        "list clinics.colour; 1 equals doctors.name",
        "list clinics.town",
        "list clinics.town; 1 equals doctors.name; 2 equals doctors.specialty",
        "list clinics.town; 2 equals doctors.name",
        "list clinics.town; 1 like doctors.name",
        "most clinics.town; 1 equals doctors.name",
        "list clinics.town by doctors.hourly_rate; 1 equals doctors.name",
        "average clinics.town; 1 equals doctors.name",
        "list doctors.name; 1 equals doctors.name",
        "list clinics.town; 1 equals doctors.hourly_rate",
        "list clinics.town; 1 equals doctors.name; DROP TABLE doctors",
    ],
)
def test_a_reply_that_makes_no_query_leaves_the_text_unread(clinic, reply):
    drafts, _ = run(clinic, ["town"], lambda _: reply)
    assert [(drop.id, drop.reason) for drop in drafts.dropped] == [("town", "unread")]


def test_where_tables_join_in_several_ways_the_reader_says_which(clinic):
    def reply(asked, role):
        if asked.prompt.name == "second_reading":
            return "list visits.day; 1 equals doctors.name"
        return next(letter for letter, joins in asked.fields["ways"] if role in joins)

    kept, ask = run(clinic, ["days"], lambda asked: reply(asked, "leading"))
    assert [row.id for row in kept.rows] == ["days"]
    assert [origin.kind for origin in kept.rows[0].origin] == ["row", "call", "call"]
    assert ask.asked[1].grammar == "root ::= [AB]"
    other, _ = run(clinic, ["days"], lambda asked: reply(asked, "assisting"))
    assert [drop.reason for drop in other.dropped] == ["read_otherwise"]
    lost, _ = run(clinic, ["days"], lambda asked: "list visits.day; 1 equals doctors.name")
    assert [drop.reason for drop in lost.dropped] == ["unread"]


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_server_leads_to_the_same_outcomes(clinic, monkeypatch, kind):
    replies = {**READINGS, "best": "least doctors.name by doctors.hourly_rate; 1 equals clinics.name"}
    replies["both"] = "list doctors.specialty; 1 equals visits.order"  # a number, but the text gives a name

    def describe(database):
        schema = reflect(database)
        names = {text: name for name, text in TEXTS.items()}
        drafts, _ = run(database, READINGS, lambda asked: replies[asked.row], schema=schema)
        return [names[row.text] for row in drafts.rows], [(drop.id, drop.reason) for drop in drafts.dropped]

    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place(kind) as place:
        copy_tables(clinic.file, place)
        assert describe(place.entry) == describe(clinic)


def test_a_text_without_groups_is_compared_by_nothing(clinic):
    drafts, _ = run(clinic, ["town"], lambda _: READINGS["town"], groups=[])
    assert [drop.reason for drop in drafts.dropped] == ["unread"]


def test_where_nobody_reads_all_texts_pass_and_nothing_is_asked_or_opened(tmp_path):
    gone = DatabaseEntry(name="clinic", file=tmp_path / "gone.sqlite")
    drafts, ask = run(gone, TEXTS, by="none", groups=[])
    assert [row.id for row in drafts.rows] == list(TEXTS)
    assert drafts.rows[0].origin[0].reference == "back_check#town"
    assert not drafts.dropped
    assert not ask.asked


def test_a_persons_readings_are_slots_or_sql_by_id_or_text(clinic, tmp_path):
    lines = (
        '{"id": "town", "reading": "list clinics.town; 1 equals doctors.name"}\n\n'
        '{"text": "doctors who take  more than [doctors.hourly_rate:over] an hour", "note": "mine",'
        ' "sql": "SELECT name FROM doctors WHERE hourly_rate > \'[doctors.hourly_rate]\' ORDER BY name"}\n'
        '{"id": "days", "sql": "SELECT DISTINCT v.day FROM visits v JOIN doctors d ON v.assisting_doctor ='
        " d.doctor_id WHERE d.name = '[doctors.name]' ORDER BY v.day\"}\n"
        '{"id": "best", "reading": "", "sql": null}\n'
        '{"id": "yore", "reading": "list clinics.town; 1 equals doctors.name"}\n'
    )
    drafts = run_file(clinic, tmp_path, lines, TEXTS)
    assert [row.id for row in drafts.rows] == ["town", "dear"]
    assert drafts.rows[1].origin[1].reference == "data/labels/clinic.readings.jsonl, line 3"
    dropped = {drop.id: drop.reason for drop in drafts.dropped}
    assert dropped.pop("days") == "read_otherwise"
    unknown = [drop.detail for drop in drafts.dropped if drop.reason == "unknown_text"]
    assert unknown == ["line 6: no text has the id yore"]
    assert {name for name, reason in dropped.items() if reason == "unread"} == {"doctors", "best", "both"}


def test_a_table_of_readings_does_as_well(clinic, tmp_path):
    lines = 'id,text,reading\ntown,,"list clinics.town; 1 equals doctors.name"\n'
    assert [row.id for row in run_file(clinic, tmp_path, lines, suffix="csv").rows] == ["town"]


GOOD = '{"id": "town", "reading": "list clinics.town; 1 equals doctors.name"}\n'


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "line 2"),
        ("[1]", "line 2"),
        ('{"reading": "count doctors"}', "line 2: has neither an id nor a text"),
        ('{"id": 7, "reading": "x"}', "line 2: id is"),
        ('{"id": "days", "reading": ["x"]}', "line 2: reading is a list"),
        ('{"id": "days", "answer": "x"}', "line 2: has the unknown field answer"),
        ('{"id": "days", "reading": "the days"}', "line 2: cannot be read"),
        (
            '{"id": "days", "reading": "list visits.day; 1 equals doctors.name"}',
            "line 2: .* joined in 2 ways",
        ),
        ('{"id": "days", "reading": "list visits.\\u0007"}', "line 2: reading contains characters"),
        ('{"id": "days", "reading": "%s"}' % ("x" * 5_000), "line 2: reading is too long"),
        ('{"id": "days", "sql": "DROP TABLE doctors"}', "line 2: not_select"),
        ('{"id": "days", "sql": "SELECT name FROM doctors"}', "line 2: no_placeholder"),
        ('{"id": "days", "sql": "%sx"}' % ("(" * 3_000), "line 2: unreadable"),
        (
            '{"id": "days", "sql": "SELECT town FROM clinics WHERE name = \'[clinics.name]\'"}',
            r"line 2: wrong_placeholder: the text has no \[clinics.name\]",
        ),
        (
            '{"id": "days", "reading": "count visits", "sql": "SELECT 1"}',
            "line 2: has both a reading and SQL",
        ),
        ('{"id": "days", "text": "other", "sql": "SELECT 1"}', "line 2: has a text that differs"),
        (GOOD.strip(), "line 2: has the same text as line 1"),
        ('{"id": "d\\u0000ays", "sql": "SELECT 1"}', "line 2: id contains characters"),
    ],
)
def test_a_bad_line_is_one_clear_error_that_names_file_and_line(clinic, tmp_path, line, what):
    with pytest.raises(BadInput, match=what) as raised:
        run_file(clinic, tmp_path, GOOD + line, TEXTS)
    message = str(raised.value)
    assert message.startswith("data/labels/clinic.readings.jsonl, line 2")
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize("raw", [b"\xff\xfe{", b"\0\0\0", b"\xc3\x28"])
def test_a_file_that_is_no_text_is_refused(clinic, tmp_path, raw):
    with pytest.raises(BadInput, match=r"clinic\.readings\.jsonl"):
        run_file(clinic, tmp_path, raw)


def test_a_missing_file_and_two_of_them_are_refused(clinic, tmp_path):
    with pytest.raises(BadInput, match=r"data/labels/clinic\.readings\.jsonl: does not exist"):
        run(clinic, ["town"], by="file", folder=tmp_path)
    (tmp_path / "clinic.readings.csv").write_text("id,reading\n")
    with pytest.raises(BadInput, match=r"exists as \.jsonl and as \.csv"):
        run_file(clinic, tmp_path, GOOD)
