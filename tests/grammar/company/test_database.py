"""Tests of one schema on three engines: the same content, and the same rejected inserts."""

import asyncio
import sqlite3

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tasks.databases.content import read_content
from tasks.databases.entry import DatabaseEntry
from tasks.databases.reflection import reflect
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.sql_templates import SqlTemplates, sql_templates
from tests.databases.servers import PASSWORD, PASSWORD_ENV, open_place
from tests.grammar.company.scenes import make_scene
from tests.grammar.construct.test_sql_templates import EXAMPLE, make_kind
from tests.grammar.scripted import ENTRY, ScriptedAsk
from tests.grammar.test_privacy import pick

SERVERS = ("postgresql", "mariadb")
EMPLOYEE = "INSERT INTO employees VALUES ({id}, {name}, 'Welder', {hired}, {phone}, {department}, {boss})"
PROJECT = (
    "INSERT INTO projects VALUES ({id}, {name}, 'Oslet', {start}, {end}, {budget}, 1, {client}, 1, {manager})"
)
SOUND_EMPLOYEE = {
    "id": 90,
    "name": "'Zara Zet'",
    "hired": "'2020-01-02'",
    "phone": 99,
    "department": 1,
    "boss": 1,
}
SOUND_PROJECT = {
    "id": 90, "name": "'Zig Zag'", "start": "'2024-01-02'", "end": "'2024-05-02'", "budget": 1000,
    "client": 1, "manager": 2,
}  # fmt: skip
PHONE = {"column": "phone_extension", "table": "employees", "key": "employee_id"}
TAKEN = "(SELECT taken FROM (SELECT {column} AS taken FROM {table} WHERE {key} = 1) AS t)"
VIOLATIONS = {
    "a null in a column that must hold something": (EMPLOYEE, {**SOUND_EMPLOYEE, "name": "NULL"}),
    "an empty name": (EMPLOYEE, {**SOUND_EMPLOYEE, "name": "''"}),
    "a name that is too long": (EMPLOYEE, {**SOUND_EMPLOYEE, "name": f"'{'x' * 61}'"}),
    "a name that is taken": (
        EMPLOYEE,
        {**SOUND_EMPLOYEE, "name": TAKEN.format(column="full_name", table="employees", key="employee_id")},
    ),
    "a key that is taken": (EMPLOYEE, {**SOUND_EMPLOYEE, "id": 1}),
    "an extension that is taken": (
        EMPLOYEE,
        {**SOUND_EMPLOYEE, "phone": TAKEN.format(**PHONE)},
    ),
    "a text for a number": (EMPLOYEE, {**SOUND_EMPLOYEE, "phone": "'ninety'"}),
    "no date": (EMPLOYEE, {**SOUND_EMPLOYEE, "hired": "'2020-02-31'"}),
    "a department that is not there": (EMPLOYEE, {**SOUND_EMPLOYEE, "department": 77}),
    "a supervisor who is not there": (EMPLOYEE, {**SOUND_EMPLOYEE, "boss": 77}),
    "somebody who leads themselves": (EMPLOYEE, {**SOUND_EMPLOYEE, "boss": 90}),
    "a project that ends before it starts": (PROJECT, {**SOUND_PROJECT, "end": "'2023-05-02'"}),
    "a budget below nothing": (PROJECT, {**SOUND_PROJECT, "budget": -1}),
    "a client who is not there": (PROJECT, {**SOUND_PROJECT, "client": 77}),
    "a director who is the manager": (PROJECT, {**SOUND_PROJECT, "manager": 1}),
    "a member who is not there": ("INSERT INTO project_members VALUES (1, {id})", {"id": 77}),
    "a second head": (
        "INSERT INTO department_heads VALUES ({department}, {head})", {"department": 1, "head": 2}
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def scene():
    return make_scene()


@pytest.fixture(scope="module")
def engines(scene, tmp_path_factory):
    """Engine -> the company's entry, and a function that runs a statement as owner."""
    folder = tmp_path_factory.mktemp("company") / "database"
    path = scene.write(folder)
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("PRAGMA foreign_keys = ON")
    with pytest.MonkeyPatch.context() as patch, open_place("postgresql") as one, open_place("mariadb") as two:
        patch.setenv(PASSWORD_ENV, PASSWORD)
        found = {"sqlite": (DatabaseEntry(name="company", file=path), file.execute)}
        for name, place in zip(SERVERS, (one, two), strict=True):
            run_script(place, (folder / f"{name}.sql").read_text())
            place.grant()
            found[name] = (place.entry, lambda statement, place=place: place.run(statement))
        yield found
    file.close()


def run_script(place, script: str) -> None:
    with place.owner.begin() as connection:
        for statement in script.split(";\n\n"):
            if statement:
                connection.execute(text(statement.replace(":", "\\:")))


def test_every_engine_holds_the_same_tables_and_rows(engines):
    schemas = [reflect(entry) for entry, _ in engines.values()]
    contents = [read_content(entry) for entry, _ in engines.values()]
    assert schemas[0] == schemas[1] == schemas[2]
    assert contents[0] == contents[1] == contents[2]
    assert {name: table.rows for name, table in contents[0].tables.items()} | {"project_members": 0} == {
        "clients": 4, "company": 1, "department_heads": 3, "departments": 3, "employees": 7,
        "project_members": 0, "projects": 5, "services": 2,
    }  # fmt: skip
    assert contents[0].tables["project_members"].rows > 0


@pytest.mark.parametrize("engine", ["sqlite", *SERVERS])
@pytest.mark.parametrize("what", VIOLATIONS)
def test_every_engine_refuses(engines, engine, what):
    entry, run = engines[engine]
    statement, fields = VIOLATIONS[what]
    before = read_content(entry)
    with pytest.raises((DBAPIError, sqlite3.IntegrityError)):
        run(statement.format(**fields))
    assert read_content(entry) == before


@pytest.mark.parametrize("engine", ["sqlite", *SERVERS])
def test_what_breaks_no_rule_is_let_in(engines, engine):
    """Check that the inserts above fail only for the reason in their name."""
    _, run = engines[engine]
    run(EMPLOYEE.format(**SOUND_EMPLOYEE))
    run(PROJECT.format(**SOUND_PROJECT))
    run("DELETE FROM projects WHERE project_id = 90")
    run("DELETE FROM employees WHERE employee_id = 90")


@pytest.mark.parametrize("engine", ["sqlite", *SERVERS])
def test_what_others_point_at_cannot_go(engines, engine):
    _, run = engines[engine]
    for table, key in (
        ("departments", "department_id"),
        ("clients", "client_id"),
        ("employees", "employee_id"),
    ):
        with pytest.raises((DBAPIError, sqlite3.IntegrityError)):
            run(f"DELETE FROM {table} WHERE {key} = 1")


def test_questions_can_be_asked_of_it(engines):
    """Every template that the requests allow can be filled in, and links connect all tables."""
    entry, _ = engines["sqlite"]
    schema = reflect(entry)
    kinds = {
        "one": make_kind(templates=60, requests=90),
        "two": make_kind(templates=40, requests=60, placeholders=2),
    }
    params = SqlTemplates(kinds=kinds, criteria={"one_placeholder": "One."}, example=EXAMPLE)
    templates = asyncio.run(sql_templates(schema, [], ENTRY, {}, params, ScriptedAsk(pick))).rows
    groups = fill_in(templates, schema, entry, FillIn(cap=5)).rows
    tables = {table for template in templates for table in template.tables}
    assert {"employees", "departments", "clients", "projects", "services"} <= tables
    assert len(groups) > 100
    assert len({group.sql_template for group in groups}) > 20


def test_the_same_company_gives_the_same_bytes(scene, tmp_path):
    first, second = tmp_path / "one", tmp_path / "two"
    scene.write(first)
    scene.write(second)
    names = sorted(path.name for path in first.iterdir())
    assert names == ["company.sqlite", "mariadb.sql", "postgresql.sql"]
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes()
