"""Tests of hand-written free-form SQL: every answer equals SQLite's result of the filled query."""

import asyncio
import json
import sqlite3
from collections import Counter, defaultdict

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.databases.reflection import reflect
from tasks.grammar.construct.balanced import Balanced, balanced
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.free_reading import read_free, read_stored
from tasks.grammar.construct.own_templates import own_templates
from tasks.grammar.construct.queries import FreeQuery
from tasks.grammar.construct.source_keys import read_keys
from tasks.grammar.construct.source_rows import find_sources
from tasks.grammar.construct.sql_templates import CONSTRAIN, sql_templates
from tasks.grammar.construct.text_templates import TextTemplates, text_templates
from tests.grammar.construct.test_own_templates import CRITERIA, PEOPLE, SETTINGS
from tests.grammar.construct.test_sql_templates import make_params
from tests.grammar.scripted import SCHEMA, make_database
from tests.shared_data import SHARED, needs

CAP = FillIn(cap=30, rows={"list": (2, 6), "count": (2, None)})


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    file = make_database(tmp_path_factory.mktemp("clinic") / "clinic.sqlite")
    return DatabaseEntry(name="clinic", file=file, templates="instead")


def construct(folder, entry, schema, lines, settings=SETTINGS, params=CAP):
    """Import lines and run the stages; return templates, groups, drops and questions."""
    (folder / f"{entry.name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    own = list(own_templates(folder, schema, entry, settings).rows)
    templates = list(asyncio.run(sql_templates(schema, own, entry, {}, make_params(), None)).rows)
    filled = fill_in(templates, schema, entry, params)
    groups = list(filled.rows)
    criteria = TextTemplates(criteria=CRITERIA)
    texts = list(
        asyncio.run(text_templates(templates, own, groups, schema, {CONSTRAIN: "none"}, criteria, None)).rows
    )
    questions = list(balanced(texts, groups, own, Balanced(criteria=("short", "long"))).rows)
    return own, groups, filled.dropped, questions


def check_answers(file, groups):
    """Compare every group's answer with SQLite's result."""
    connection = sqlite3.connect(file)
    for group in groups:
        found = [tuple(row) for row in json.loads(group.answer_rows)]
        assert Counter(found) == Counter(connection.execute(group.sql)), group.sql
    connection.close()


def test_every_shape_is_filled_and_answers_as_sqlite_does(tmp_path, entry):
    lines = [{"sql": sql, "texts": {"short": text, "long": text}} for sql, text in PEOPLE]
    own, groups, dropped, questions = construct(tmp_path, entry, SCHEMA, lines)
    assert len(own) == len(PEOPLE)
    check_answers(entry.file, groups)
    by_template = Counter(group.sql_template for group in groups)
    # Quillport has two clinics and Vex has one; LIKE finds no name that contains a specialty.
    empty = [template for template in own if template.id not in by_template]
    assert ["LIKE" in template.sql for template in empty] == [True]
    assert {drop.reason for drop in dropped} >= {"no_rows"}
    assert [group.answer for group in groups if "ORDER BY" in group.sql] == ["Quillport"]
    assert len(questions) == 2 * len(groups)
    assert not any("[doctors." in question.question or "#2" in question.question for question in questions)


def test_a_tied_first_row_and_an_empty_cell_are_no_answers(tmp_path, entry):
    sql = "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' ORDER BY clinic_id LIMIT 1"
    lines = [{"sql": sql, "texts": {"short": "[doctors.specialty]", "long": "[doctors.specialty]"}}]
    _, groups, dropped, _ = construct(tmp_path, entry, SCHEMA, lines)
    # Ada Zwick is the first in ozonotomy; Bo Ypsilon, of clinic 1, is the first in kvetchology.
    assert {group.answer for group in groups} == {"Ada Zwick", "Bo Ypsilon"}
    tied = [{**lines[0], "sql": sql.replace("clinic_id LIMIT", "specialty LIMIT")}]
    _, groups, dropped, _ = construct(tmp_path, entry, SCHEMA, tied)
    assert not groups
    assert {drop.reason for drop in dropped} == {"tied"}


def test_more_combinations_than_are_tried_are_drawn_by_seed_and_counted(tmp_path, entry):
    rate = "hourly_rate > '[doctors.hourly_rate]'"
    sql = f"SELECT COUNT(*) FROM doctors WHERE {rate} AND name <> '[clinics.town]'"
    lines = [{"sql": sql, "texts": {"short": "[doctors.hourly_rate] [clinics.town]",
                                    "long": "[doctors.hourly_rate] [clinics.town]"}}]  # fmt: skip
    _, every, _, _ = construct(tmp_path, entry, SCHEMA, lines)
    assert len(every) == 4 * 2
    few = [construct(tmp_path, entry, SCHEMA, lines, params=FillIn(tries=3, seed=n)) for n in (0, 0, 1)]
    assert [len(groups) for _, groups, _, _ in few] == [3, 3, 3]
    first, again, other = ({group.sql for group in groups} for _, groups, _, _ in few)
    assert first == again != other
    assert {drop.reason for drop in few[0][2]} == {"not_tried"}


def test_rules_for_a_models_templates_hold_for_a_persons_only_where_it_is_asked_for(tmp_path, entry):
    # The clinic determines the town of both; two rows answer the list; the second value has no effect.
    sql = ("SELECT clinics.town FROM clinics JOIN doctors ON doctors.clinic_id = clinics.clinic_id "
           "WHERE clinics.name = '[clinics.name]' AND doctors.name = '[doctors.name]'")  # fmt: skip
    short = "town of the clinic [clinics.name] of the doctor [doctors.name]"
    long = f"{short}, " + " ".join(["please"] * 24) + "?"
    lines = [{"sql": sql, "texts": {"short": short, "long": long}}]
    own, groups, _, _ = construct(tmp_path, entry, SCHEMA, lines)
    assert not isinstance(read_stored(own[0].sql, SCHEMA), FreeQuery)
    assert len(groups) == 3  # Cy [Wu] has brackets
    strict = entry.model_copy(update={"strict_templates": True})
    _, groups, dropped, _ = construct(tmp_path, strict, SCHEMA, lines)
    assert not groups
    assert "idle_value" in {drop.reason for drop in dropped}


def test_source_rows_and_keys_of_a_free_query_are_those_that_its_select_reads(entry):
    sql = "SELECT town FROM clinics WHERE name = 'Xanadu House' GROUP BY town ORDER BY COUNT(*) DESC LIMIT 1"
    with SafeDatabase(entry) as safe:
        sources = find_sources(sql, SCHEMA, safe)
        assert [(row.table, row.key) for row in sources.rows] == [("clinics", (("clinic_id", 1),))]
        assert sources.answer == (("Quillport",),)
        both = find_sources(f"{sql[:52]} UNION SELECT town FROM clinics WHERE name IS NULL", SCHEMA, safe)
        assert [row.key for row in both.rows] == [(("clinic_id", 1),), (("clinic_id", 3),)]
        query = read_free(sql.replace("Xanadu House", "[clinics.name]"), SCHEMA)
        assert list(read_keys(query, "clinics", {sql: "g"}, SCHEMA, safe)) == [("g", [(1,)])]
        nested = read_free(
            "SELECT name FROM clinics WHERE clinic_id IN (SELECT clinic_id FROM doctors)", SCHEMA
        )
        assert not list(read_keys(nested, "clinics", {nested.sql: "g"}, SCHEMA, safe))


RELEASED = {
    "SELECT doctors.specialty FROM doctors WHERE doctors.name = [doctors.name]": (
        "specialty",
        "doctors.name",
    ),
    "SELECT clinics.town FROM clinics WHERE clinics.name = [clinics.name]": ("town", "clinics.name"),
    "SELECT doctors.name FROM doctors JOIN clinics ON doctors.clinic_id = clinics.clinic_id "
    "WHERE clinics.name = [clinics.name]": ("doctors", "clinics.name"),
    "SELECT visits.reason FROM visits WHERE visits.day = [visits.day]": ("reason", "visits.day"),
    "SELECT doctors.hourly_rate FROM doctors WHERE doctors.name = [doctors.name]": ("rate", "doctors.name"),
}
SHORT = ("{} [{}]", "{} for [{}]", "[{1}] {0}", "{}: [{}]", "need {} [{}]", "[{1}]'s {0}", "{} of [{}] pls",
         "what {} [{}]", "tell {} [{}]", "[{1}] - {0}?")  # fmt: skip
LONG = (
    "Can you tell what is the {} of [{}]", "I'd want the {} that [{}] have, if any there is.",
    "could somebody tells me {} regarding [{}] thanks a lot in advance for it",
    "So, [{1}]. The {0}, which one it is?", "Give {} where it is [{}] or say that there is no such thing.",
    "Please to provide with details on {} about the one named [{}], as complete as can be had today",
    "For [{1}], what be {0}? And is it known?", "In regard of [{1}] I am searching {0}. Do you know?",
    "hello, {}, [{}], many thanks", "Among all of them, for the one of [{1}] would you look {0} up for me",
)  # fmt: skip


def test_a_set_in_the_released_style_comes_in_whole(tmp_path, entry):
    lines = []
    for sql, (asked, given) in RELEASED.items():
        for short, long in zip(SHORT, LONG, strict=True):
            # One line per pair of texts, as in the released files.
            lines.append({"sql": sql, "texts": {"short": short.format(asked, given),
                                                "long": long.format(asked, given)}})  # fmt: skip
    own, groups, dropped, questions = construct(tmp_path, entry, SCHEMA, lines, params=FillIn())
    assert (len(own), sum(len(template.texts) for template in own)) == (5, 100)
    check_answers(entry.file, groups)
    counts = Counter(group.sql_template for group in groups)
    assert len(counts) == 5
    # There is a question for every text of every group.
    assert len(questions) == 20 * len(groups)
    assert Counter(question.group for question in questions) == dict.fromkeys([g.id for g in groups], 20)
    assert {drop.reason for drop in dropped} <= {"empty_answer", "unfit_value"}


@needs("../cases/people/templates.jsonl")
@pytest.mark.drill
def test_nine_in_ten_of_what_people_wrote_is_taken_as_it_is(tmp_path):
    path = SHARED.parent / "cases/people/templates.jsonl"
    by_database = defaultdict(list)
    for line in path.read_text().splitlines():
        by_database[json.loads(line)["database"]].append(json.loads(line))
    filled = pairs = 0
    for name, lines in by_database.items():
        file = next((SHARED / "spider").rglob(f"{name}.sqlite"))
        entry = DatabaseEntry(name=name, file=file, templates="instead")
        own, groups, _, questions = construct(tmp_path, entry, reflect(entry), lines)
        check_answers(file, groups)
        answered = {group.sql_template for group in groups}
        assert {question.group for question in questions} == {group.id for group in groups}
        pairs += len(lines)
        for template in own:
            read = [origin for origin in template.origin if origin.kind == "evidence"]
            filled += len(read) * (template.id in answered)
    assert pairs == 205
    assert filled >= 0.9 * pairs
