"""Tests of readable names for columns like `dob`: by people, from the catalogue's comments, by a model."""

import asyncio
import sqlite3

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.profiling import profile_columns
from tasks.databases.reflection import read_comment, reflect
from tasks.errors import BadInput
from tasks.grammar.construct.glossary import Glossary, glossary, is_clear, read_glossary
from tasks.grammar.construct.queries import Query
from tasks.grammar.construct.schema import schema
from tasks.grammar.construct.text_rules import parse_text
from tasks.grammar.construct.verbalisation import verbalise_query
from tasks.models.ask import Unparsed
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place
from tests.grammar.scripted import ScriptedAsk

TABLES = """
CREATE TABLE employees (nr INTEGER PRIMARY KEY, name TEXT, dob DATE, dept TEXT, start_date DATE);
CREATE TABLE trf (nr INTEGER PRIMARY KEY, name TEXT, tariff_gbp REAL, dept TEXT);
INSERT INTO employees VALUES (1, 'Ann', '1990-02-03', 'Sales', '2010-04-05');
INSERT INTO trf VALUES (1, 'Day', 12.5, 'Sales');
"""
WORDS = {"employees.dob": "date of birth", "tariff_gbp": "tariff in British pounds", "trf": "rate plan"}


@pytest.fixture
def path(tmp_path):
    with sqlite3.connect(tmp_path / "firm.sqlite") as connection:
        connection.executescript(TABLES)
    connection.close()
    return tmp_path / "firm.sqlite"


def make_schema(path, words=WORDS, reply=lambda _: "", **params):
    entry = DatabaseEntry(name="firm", file=path, glossary=words)
    ask = ScriptedAsk(reply)
    drafts = asyncio.run(glossary(profile_columns(entry, ColumnRules()), entry, Glossary(**params), ask))
    return schema(drafts.rows, [], entry).rows, drafts, ask


def test_a_persons_words_stand_in_the_schema(path):
    columns, drafts, ask = make_schema(path)
    assert ask.asked == []
    words = {column.id: column.words for column in columns if column.words}
    assert words == {"employees.dob": "date of birth", "trf.tariff_gbp": "tariff in British pounds"}
    assert {column.table_words for column in columns if column.table == "trf"} == {"rate plan"}
    assert {(term.id, term.source) for term in drafts.rows} == {
        ("employees.dob", "params"), ("trf.tariff_gbp", "params"), ("trf", "params")
    }  # fmt: skip


def test_texts_speak_in_the_glossarys_words_and_need_no_identifier(path):
    columns, _, _ = make_schema(path)
    query = Query(("employees.dob",), (), ("employees.name",))
    verbalisation = verbalise_query(query, columns)
    assert verbalisation.wanted == ("date of birth of the employee",)
    text = "date of birth of the employee [employees.name]"
    assert parse_text(text, query, verbalisation, columns, 2, 20) == text
    with pytest.raises(Unparsed, match="wanted_missing: birth"):
        parse_text("dob of the employee [employees.name]", query, verbalisation, columns, 2, 20)
    tariff = Query(("trf.tariff_gbp",), (), ("trf.name",))
    assert verbalise_query(tariff, columns).wanted == ("tariff in British pounds of the rate plan",)
    assert verbalise_query(tariff, columns).given == ("the rate plan [trf.name]",)
    given = Query(("employees.name",), (), ("employees.dob",))
    assert verbalise_query(given, columns).phrases[0][0] == "employee date of birth [employees.dob]"
    other = Query(("employees.dept",), (), ("employees.name",))
    with pytest.raises(Unparsed, match="names_other: date of birth"):
        parse_text(
            "dept and date of birth of the employee [employees.name]",
            other, verbalise_query(other, columns), columns, 2, 20,
        )  # fmt: skip


def test_a_column_named_with_its_table_goes_before_its_name_alone(path):
    found = read_glossary({"employees.dept": "department", "dept": "division"}, reflect(path), "here")
    assert {term.id: term.words for term in found} == {
        "employees.dept": "department", "trf.dept": "division"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            {"employees.dobb": "date of birth"},
            "no column or table 'employees.dobb'.*did you mean employees.dob",
        ),
        ({"wage": "pay"}, "no column or table 'wage'"),
        (
            {"employees.dob": "date (of birth)"},
            r"employees.dob: 'date \(of birth\)' must be one to six words",
        ),
        ({"employees.dob": ""}, "employees.dob: '' must be one to six words of letters, hyphens"),
    ],
)
def test_a_bad_key_is_one_clear_line(path, words, line):
    with pytest.raises(BadInput, match=r"databases.firm.glossary.*" + line) as broken:
        make_schema(path, words)
    assert "\n" not in str(broken.value)


def test_a_model_proposes_words_for_what_is_no_english(path):
    replies = {"employees.dept": "department", "trf.dept": "dprtmnt"}
    asked = {}

    def reply(request):
        name = f"{request.fields['table']}.{request.fields['column']}"
        asked[name] = request
        return replies.get(name, "tariff in pounds")

    columns, drafts, _ = make_schema(path, {"dob": "date of birth"}, reply, propose=True)
    assert sorted(asked) == ["employees.dept", "trf.dept", "trf.tariff_gbp"]
    assert {term.id: term.source for term in drafts.rows} == {
        "employees.dob": "params", "employees.dept": "proposed", "trf.tariff_gbp": "proposed"
    }  # fmt: skip
    assert [(drop.reason, drop.detail) for drop in drafts.dropped] == [("unknown_words", "trf.dept: dprtmnt")]
    assert {column.id: column.words for column in columns}["employees.dept"] == "department"
    assert asked["trf.dept"].role == "generator"


def test_no_model_is_asked_unless_params_say_so(path):
    columns, drafts, ask = make_schema(path, {})
    assert ask.asked == []
    assert list(drafts.rows) == []
    assert {column.words for column in columns} == {""}
    assert [(drop.reason, drop.detail.partition(" what")[0]) for drop in drafts.dropped] == [
        ("unclear_name", f"{column}: say in databases.firm.glossary")
        for column in ("employees.dept", "employees.dob", "trf.dept", "trf.tariff_gbp")
    ]


@pytest.mark.parametrize(
    ("name", "clear"),
    [("birth_date", True), ("runtime_usd", True), ("Address2", True), ("dob", False), ("tariff_gbp", False)],
)
def test_which_names_say_what_they_are(name, clear):
    assert is_clear(name) is clear


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("Date of birth.", "date of birth"),
        ("GDP per head", "GDP per head"),
        ("  tariff\n in pounds ", "tariff in pounds"),
        ("see wiki: https://x/y", ""),
        ("the date on which this person was born", ""),
        ("TODO(bob) 4711", ""),
        (None, ""),
    ],
)
def test_a_comment_is_taken_if_it_is_a_few_words(comment, words):
    assert read_comment(comment) == words


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_comments_in_the_catalogue_are_words(kind, monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    with open_place(kind) as place:
        if kind == "postgresql":
            place.run(
                "CREATE TABLE employees (nr INTEGER PRIMARY KEY, dob DATE, dept TEXT)",
                "COMMENT ON TABLE employees IS 'Member of staff'",
                "COMMENT ON COLUMN employees.dob IS 'Date of birth.'",
                "COMMENT ON COLUMN employees.dept IS 'one of four (see the wiki)'",
            )
        else:
            place.run(
                "CREATE TABLE employees (nr INTEGER PRIMARY KEY, dob DATE COMMENT 'Date of birth.', "
                "dept TEXT COMMENT 'one of four (see the wiki)') COMMENT 'Member of staff'"
            )
        place.run("INSERT INTO employees (nr) VALUES (1)")
        place.grant()
        entry = place.entry.model_copy(update={"glossary": {"dept": "department"}})
        profiles = profile_columns(entry, ColumnRules())
        drafts = asyncio.run(glossary(profiles, entry, Glossary(), ScriptedAsk(lambda _: "")))
        columns = schema(drafts.rows, [], entry).rows
    assert {term.id: (term.words, term.source) for term in drafts.rows} == {
        "employees": ("member of staff", "comment"),
        "employees.dob": ("date of birth", "comment"),
        "employees.dept": ("department", "params"),
    }
    assert {column.id: column.words for column in columns if column.words} == {
        "employees.dob": "date of birth", "employees.dept": "department"
    }  # fmt: skip
    assert {column.table_words for column in columns} == {"member of staff"}
