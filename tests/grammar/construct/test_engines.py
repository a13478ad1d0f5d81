"""Tests that SQLite, PostgreSQL and MariaDB give identical prompts, questions, answers and ids."""

import asyncio
import json
import sqlite3
from itertools import pairwise

import pytest

from tasks.databases.dialects import translate
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.databases.reflection import reflect
from tasks.grammar.construct.fill_in import FillIn, fill_in, read_combinations
from tasks.grammar.construct.pairs import make_question
from tasks.grammar.construct.queries import Query
from tasks.grammar.construct.sql_templates import SqlTemplates, sql_templates
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.publish.rerun import Rerun
from tests.databases.servers import PASSWORD, PASSWORD_ENV, copy_tables, open_place
from tests.grammar.construct.test_sql_templates import EXAMPLE, make_kind
from tests.grammar.scripted import ENTRY, ROWS, ScriptedAsk, make_database
from tests.grammar.test_privacy import pick

TRICKY = """
CREATE TABLE wards (ward TEXT PRIMARY KEY, beds NUMERIC(8, 2), open BOOLEAN, since TIMESTAMP, rate REAL);
CREATE TABLE stays (stay_id INTEGER PRIMARY KEY, ward TEXT REFERENCES wards (ward), guest TEXT, remark TEXT);
CREATE TABLE beds (bed_id INTEGER PRIMARY KEY, floor INTEGER, label TEXT, maker TEXT);
INSERT INTO wards VALUES ('West', 10, 1, '2031-01-02 03:04:05', 1.5),
    ('Ost', 12.25, 0, '2031-01-02 00:00:00', 2), ('Süd', NULL, NULL, NULL, 0.1);
INSERT INTO stays VALUES (1, 'West', 'ann', 'a'), (2, 'West', 'Ann', 'b'), (3, 'Ost', 'Ann ', 'c'),
    (4, 'Süd', 'Ænn', 'z'), (5, 'Süd', 'Zoë', 'Z'), (6, 'Ost', 'zoe', 'É'), (7, 'Ost', '_x', 'a%b'),
    (8, 'West', '10', 'a\\b'), (9, 'West', '9', NULL), (10, NULL, 'Bea', 'o''clock'), (11, 'Ost', 'ann', 'Ä');
"""
TRICKY += "".join(f"INSERT INTO beds VALUES ({n}, {n % 3}, 'bed {n:02}', 'Maker {n}');" for n in range(30))


MEASURED = (
    ("count", "", 1),
    ("count", "over", 2),
    ("count", "between", 2),
    ("average", "", 1),
    ("average", "under", 1),
    ("most", "", 1),
    ("least", "pair", 2),
    ("list", "", 1),
    ("list", "from", 1),
)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The same rows on three engines."""
    path = make_database(tmp_path_factory.mktemp("engines") / "clinic.sqlite", ROWS + TRICKY)
    with pytest.MonkeyPatch.context() as patch, open_place("postgresql") as one, open_place("mariadb") as two:
        patch.setenv(PASSWORD_ENV, PASSWORD)
        for place in (one, two):
            copy_tables(path, place)
        yield [DatabaseEntry(name="shop", file=path), one.entry, two.entry]


def make_templates(schema):
    ask = ScriptedAsk(pick)
    kinds = {
        "one": make_kind(templates=40, requests=60),
        "two": make_kind(templates=40, requests=60, placeholders=2),
        **{
            f"{measure} {compared}": make_kind(
                templates=40, requests=30, placeholders=placeholders, measure=measure, compared=compared
            )
            for measure, compared, placeholders in MEASURED
        },
    }
    params = SqlTemplates(kinds=kinds, criteria={"one_placeholder": "One."}, example=EXAMPLE)
    return asyncio.run(sql_templates(schema, [], ENTRY, {}, params, ask)), [
        request.text + request.grammar for request in ask.asked
    ]


def test_schemas_prompts_groups_and_questions_are_the_same(places):
    found = []
    for place in places:
        schema = reflect(place)
        templates, prompts = make_templates(schema)
        groups = fill_in(templates.rows, schema, place, FillIn(cap=None))
        questions = [
            make_question(
                TextTemplate("t", group.sql_template, "short", f"[{group.fillings[0].placeholder}]?", ()),
                group,
            )
            for group in groups.rows
        ]
        found.append((schema, prompts, templates, groups, questions))
    assert not [drop for drop in found[0][3].dropped if drop.reason == "sql_failed"]
    assert len(found[0][3].rows) > 100
    for first, other in pairwise(found):
        assert first == other


def test_every_groups_sql_gives_its_answer_on_every_engine(places):
    schema = reflect(places[0])
    groups = fill_in(make_templates(schema)[0].rows, schema, places[0], FillIn(cap=4)).rows
    for place in places:
        with SafeDatabase(place) as database:
            for group in groups:
                rows = database.query(translate(group.sql, database.dialect, schema)).rows
                assert [list(row) for row in rows] == json.loads(group.answer_rows), group.sql
            reproduces = Rerun(database, schema).rule()
            assert {reproduces.check(vars(group)) for group in groups} == {""}


def test_a_number_and_a_text_together_lose_no_combination(places):
    """MariaDB lost combinations when ORDER BY repeated selected expressions."""
    query = Query(("beds.maker",), (), ("beds.floor", "beds.label"))
    schema = reflect(places[0])
    for place in places:
        with SafeDatabase(place) as database:
            found = {
                combination.values: combination.rows
                for combination in read_combinations(query, schema, database)
            }
        assert found == {(n % 3, f"bed {n:02}"): ((f"Maker {n}",),) for n in range(30)}


def test_the_sample_holds_what_engines_differ_in(places):
    """Without translation, MariaDB would treat these names as equal."""
    assert places[0].file is not None
    with sqlite3.connect(places[0].file) as connection:
        guests = {name for (name,) in connection.execute("SELECT DISTINCT guest FROM stays")}
    assert {"ann", "Ann", "Ann "} <= guests
    with SafeDatabase(places[2]) as database:
        assert len(database.query("SELECT DISTINCT guest FROM stays").rows) < len(guests)
