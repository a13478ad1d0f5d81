"""Tests of unusual table and column names, from reflection to questions, on every engine."""

import json

import pytest

from tasks.databases.dialects import translate
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.databases.reflection import reflect
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.pairs import make_question
from tasks.grammar.construct.source_rows import find_sources
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.grammar.construct.verbalisation import verbalise_query
from tasks.grammar.publish.row_rules import expect_filled_sql, expect_filled_text, expect_placeholders
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place
from tests.grammar.construct.test_engines import make_templates
from tests.grammar.scripted import make_database

COLUMNS = (
    "phone ext.", "tariff [gbp]", "a.b.c", 'so "called"', "owner's", "select", "größe", "50% of it",
    "from:to", "CamelCase", "  wide   gap", "=1",
)  # fmt: skip
TABLES = ("order", "v1.contacts", "Ämter & Co", 'the "odd" one', "[all]")


def write_script(mark='"'):
    def quote(name):
        return mark + name.replace(mark, mark * 2) + mark

    for number, table in enumerate(TABLES):
        columns = ", ".join(f"{quote(name)} TEXT" for name in COLUMNS)
        parent = quote(TABLES[number - 1])
        points = f", FOREIGN KEY ({quote('up.id')}) REFERENCES {parent} ({quote('k.id')})" if number else ""
        yield (
            f"CREATE TABLE {quote(table)} ({quote('k.id')} INTEGER PRIMARY KEY, {quote('up.id')} INTEGER, "
            f"{columns}{points})"
        )
        for row in range(3):
            cells = ", ".join(f"'cell {number} {place} {row}'" for place in range(len(COLUMNS)))
            yield f"INSERT INTO {quote(table)} VALUES ({row}, {row}, {cells})"


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "odd.sqlite"
    make_database(path, ";\n".join(write_script()))
    with pytest.MonkeyPatch.context() as patch, open_place("postgresql") as one, open_place("mariadb") as two:
        patch.setenv(PASSWORD_ENV, PASSWORD)
        for place, mark in ((one, '"'), (two, "`")):
            connection = place.owner.raw_connection()
            for statement in write_script(mark):
                connection.cursor().execute(statement)
            connection.commit()
            connection.close()
            place.grant()
        yield [DatabaseEntry(name="odd", file=path), one.entry, two.entry]


def test_the_schema_has_the_tables_and_columns_of_the_database_and_no_others(places):
    for place in places:
        schema = reflect(place)
        assert {(column.table, column.name) for column in schema} == {
            (table, name) for table in TABLES for name in (*COLUMNS, "k.id", "up.id")
        }
        assert len({column.id for column in schema}) == len(schema)
        ids = {column.id for column in schema}
        assert {column.references for column in schema if column.references} < ids


@pytest.mark.drill
def test_every_group_has_its_answer_and_its_source_on_every_engine(places):
    schemas = [reflect(place) for place in places]
    assert schemas[0] == schemas[1] == schemas[2]
    schema = schemas[0]
    templates = make_templates(schema)[0].rows
    assert {table for template in templates for table in template.tables} == set(TABLES)
    asked = {column for template in templates for column in (*template.projection, *template.placeholders)}
    assert len(asked) > len(COLUMNS)
    found = []
    for place in places:
        drafts = fill_in(templates, schema, place, FillIn(cap=2, every_value_matters=False))
        assert drafts.dropped == [drop for drop in drafts.dropped if drop.reason == "over_cap"]
        groups = list(drafts.rows)
        assert {group.sql_template for group in groups} == {template.id for template in templates}
        found.append(groups)
        with SafeDatabase(place) as database:
            for group in groups:
                rows = database.query(translate(group.sql, database.dialect, schema)).rows
                assert [list(row) for row in rows] == json.loads(group.answer_rows), group.sql
                sources = find_sources(group.sql, schema, database)
                assert [list(row) for row in sources.answer] == json.loads(group.answer_rows)
    assert found[0] == found[1] == found[2]


@pytest.mark.drill
def test_texts_and_contracts_take_the_placeholders(places):
    schema = reflect(places[0])
    templates = make_templates(schema)[0].rows
    by_id = {template.id: vars(template) for template in templates}
    groups = list(fill_in(templates, schema, places[0], FillIn(cap=1, every_value_matters=False)).rows)
    texts = {}
    for template in templates:
        query = read_template(template.sql, schema)
        verbalisation = verbalise_query(query, schema)
        text = f"{verbalisation.wanted[0]} of {' and '.join(verbalisation.given)}"
        assert [f"[{name}]" in text for name in query.placeholders] == [True] * len(query.placeholders)
        texts[template.id] = TextTemplate(template.id, template.id, "short", text, ())
    records = {name: vars(text) for name, text in texts.items()}
    filled_sql, holds = expect_filled_sql(by_id, schema), expect_placeholders(by_id, own=())
    filled_text = expect_filled_text(records, {group.id: as_record(group) for group in groups})
    assert [holds.check(record) for record in records.values()] == [""] * len(records)
    for group in groups:
        assert filled_sql.check(as_record(group)) == ""
        question = make_question(texts[group.sql_template], group)
        assert filled_text.check(vars(question)) == ""
        assert not set(question.question) & set("[]")


def as_record(group):
    return {**vars(group), "fillings": [vars(filling) for filling in group.fillings]}
