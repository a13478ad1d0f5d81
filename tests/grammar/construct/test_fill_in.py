import json
import sqlite3
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.artifacts.rows import make_id
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import BadInput, StageFailed
from tasks.grammar.construct.fill_in import (
    FillIn,
    Group,
    fill_in,
    find_other_answers,
    fits_text,
    read_combinations,
)
from tasks.grammar.construct.queries import Query, write_filled, write_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tests.grammar.scripted import SCHEMA, make_database

NAMED = Query(("visits.reason",), (), ("visits.order",))
JOINED = Query(
    ("doctors.name",), (("doctors.doctor_id", "visits.leading_doctor"),), ("visits.day", "visits.reason")
)


def make_template(query: Query) -> SqlTemplate:
    return SqlTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders, 0, ()
    )


def fill(path, query, **params):
    return fill_in([make_template(query)], SCHEMA, DatabaseEntry(name="clinic", file=path), FillIn(**params))


def test_every_combination_with_one_answer_becomes_a_group(tmp_path):
    drafts = fill(make_database(tmp_path / "clinic.sqlite"), JOINED, every_value_matters=False)
    found = {tuple(f.value for f in group.fillings): group.answer for group in drafts.rows}
    assert found == {
        ("2031-07-09", "hiccupitis"): "Ada Zwick",
        ("2031-07-09", "yawning"): "Bo Ypsilon",
        ("2031-08-10", "hiccupitis"): "Ada Zwick",
        ("2031-08-11", "snorex"): "Di Ulm",
    }
    assert not drafts.dropped


def test_running_a_groups_sql_gives_its_answer_rows(tmp_path):
    path = make_database(tmp_path / "clinic.sqlite")
    groups = fill(path, JOINED).rows
    with sqlite3.connect(path) as connection:
        for group in groups:
            assert [list(row) for row in connection.execute(group.sql)] == json.loads(group.answer_rows)


def test_several_answers_are_left_out_and_counted(tmp_path):
    path = make_database(tmp_path / "clinic.sqlite")
    drafts = fill(path, NAMED)
    assert {group.fillings[0].value for group in drafts.rows} == {"7342", "7343"}
    assert [(row.reason, row.detail.partition(":")[0]) for row in drafts.dropped] == [
        ("several_answers", "1 of 3 combinations")
    ]
    both = fill(path, NAMED, single_answer=False)
    assert "hiccupitis; snorex" in {group.answer for group in both.rows}


def test_empty_answers_and_values_that_break_a_sentence_are_left_out_and_counted(tmp_path):
    drafts = fill(
        make_database(tmp_path / "clinic.sqlite"), Query(("doctors.specialty",), (), ("doctors.name",))
    )
    assert {group.answer for group in drafts.rows} == {"ozonotomy", "kvetchology"}
    assert {(row.reason, row.detail[:1]) for row in drafts.dropped} == {
        ("empty_answer", "1"),
        ("unfit_value", "2"),
    }


def test_values_with_quotes_run(tmp_path):
    path = make_database(tmp_path / "clinic.sqlite")
    query = Query(("clinics.town",), (), ("clinics.name",))
    sql = {group.fillings[0].value: group.sql for group in fill(path, query).rows}["O'Brien Hall"]
    assert sqlite3.connect(path).execute(sql).fetchall() == [("Quillport",)]


def test_a_template_without_rows_says_so(tmp_path):
    path = make_database(tmp_path / "clinic.sqlite")
    sqlite3.connect(path).executescript("DELETE FROM visits")
    assert [row.reason for row in fill(path, JOINED).dropped] == ["no_rows"]


def test_a_query_that_passes_its_limit_is_dropped_with_the_engines_word(tmp_path):
    path = make_database(tmp_path / "clinic.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE visits SET reason = hex(zeroblob(100000))")
    connection.commit()
    connection.close()
    drafts = fill(path, NAMED, limits={"bytes": 10_000})
    assert [row.reason for row in drafts.dropped] == ["sql_failed"]
    assert not drafts.rows


def test_a_query_that_passes_its_time_fails_the_stage_rather_than_change_its_bytes(tmp_path):
    path = make_database(tmp_path / "clinic.sqlite")
    with sqlite3.connect(path) as connection:
        connection.executemany(
            'INSERT INTO visits (leading_doctor, day, reason, "order") VALUES (1, ?, ?, ?)',
            ((f"day {n}", f"reason {n}", n) for n in range(200_000)),
        )
    with pytest.raises(StageFailed) as caught:
        fill(path, JOINED, limits={"timeout_s": 0.01})
    line = str(caught.value)
    assert JOINED.id in line
    assert "0.01 s" in line
    assert "grammar.fill_in.limits.timeout_s" in line
    assert make_template(JOINED).sql in line


def test_a_cap_draws_the_same_groups_whatever_order_the_rows_have(tmp_path):
    plain = "CREATE TABLE clinics (clinic_id INTEGER PRIMARY KEY, name TEXT, town TEXT);"
    rows = [f"INSERT INTO clinics (name, town) VALUES ('n{n}', 't{n}');" for n in range(50)]
    query = Query(("clinics.town",), (), ("clinics.name",))
    one = fill(make_database(tmp_path / "a.sqlite", plain + "".join(rows)), query, cap=7)
    other = fill(make_database(tmp_path / "b.sqlite", plain + "".join(reversed(rows))), query, cap=7)
    assert one == other
    assert len(one.rows) == 7
    assert one.dropped[0].reason == "over_cap"
    assert one.dropped[0].detail.startswith("43 of 50")
    reseeded = fill(tmp_path / "a.sqlite", query, cap=7, seed=1)
    assert {group.id for group in reseeded.rows} != {group.id for group in one.rows}


def test_fits_text():
    assert fits_text("Ada Zwick")
    assert fits_text(0)
    assert not any(fits_text(value) for value in (None, "", " ", "a[b]", "line\nbreak"))


words = st.one_of(st.none(), st.sampled_from(["", "a", "A", "b's", "1", "01", "é", '"x"', "a ", "%"]))
numbers = st.one_of(st.none(), st.integers(-2, 3))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(words, words), max_size=6),
    st.lists(st.tuples(st.integers(1, 6), words, numbers), max_size=8),
)
def test_the_one_query_finds_what_one_query_per_combination_finds(tmp_path, doctors, visits):
    path = tmp_path / "property.sqlite"
    path.unlink(missing_ok=True)
    make_database(path, "".join(line for line in schema_lines()))
    connection = sqlite3.connect(path)
    connection.executemany("INSERT INTO doctors (name, specialty) VALUES (?, ?)", doctors)
    connection.executemany('INSERT INTO visits (leading_doctor, reason, "order") VALUES (?, ?, ?)', visits)
    connection.commit()
    query = Query(("doctors.name",), JOINED.joins, ("visits.order", "visits.reason"))
    columns = [
        [value for (value,) in connection.execute(f"SELECT DISTINCT {name} FROM visits") if value is not None]
        for name in ('"order"', "reason")
    ]
    naive = {}
    for values in product(*columns):
        rows = connection.execute(
            write_filled(query, dict(zip(query.placeholders, values, strict=True)))
        ).fetchall()
        if rows:
            naive[values] = set(rows)
    connection.close()
    with SafeDatabase(path) as database:
        found = {
            combination.values: set(combination.rows)
            for combination in read_combinations(query, SCHEMA, database)
        }
    assert found == naive


def schema_lines():
    yield "CREATE TABLE doctors (doctor_id INTEGER PRIMARY KEY, name TEXT, specialty TEXT);"
    yield 'CREATE TABLE visits (leading_doctor INTEGER, reason TEXT, "order" INTEGER);'


def make_group(sql: str, rows: list[list[object]]) -> Group:
    return Group(make_id("group", sql), "template", sql, (), "answer", json.dumps(rows), ())


@pytest.fixture
def year(tmp_path: Path) -> DatabaseEntry:
    path = tmp_path / "year.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE visits (day TEXT, doctor TEXT, fee REAL)")
        connection.executemany(
            "INSERT INTO visits VALUES (?, ?, ?)",
            [("01-05", "Ada", 0.1), ("01-06", "Ada", 0.2), ("01-06", "Bo", 0.3), ("07-01", "Ada", 9.5)],
        )
    connection.close()
    return DatabaseEntry(file=path)


def test_an_answer_that_holds_in_the_world_is_not_found(year: DatabaseEntry) -> None:
    groups = [
        make_group("SELECT DISTINCT fee FROM visits WHERE day = '01-05'", [[0.1]]),
        make_group("SELECT DISTINCT doctor FROM visits WHERE day = '01-06'", [["Bo"], ["Ada"]]),  # any order
        make_group("SELECT SUM(fee) FROM visits WHERE day < '02'", [[0.6000000000000001]]),  # ten digits
        make_group("SELECT DISTINCT fee FROM visits WHERE doctor = 'Cy'", []),
    ]
    assert list(find_other_answers(groups, year, QueryLimits())) == []


def test_another_answer_is_found_with_its_rows(year: DatabaseEntry) -> None:
    fee = make_group("SELECT DISTINCT fee FROM visits WHERE doctor = 'Ada' ORDER BY fee", [[0.1]])
    count = make_group("SELECT COUNT(*) FROM visits WHERE doctor = 'Ada'", [[2]])
    gone = make_group("SELECT DISTINCT fee FROM visits WHERE doctor = 'Cy'", [[1.0]])
    typed = make_group("SELECT DISTINCT fee FROM visits WHERE day = '07-01'", [["9.5"]])
    assert list(find_other_answers([fee, count, gone, typed], year, QueryLimits())) == [
        (fee.id, [(0.1,), (0.2,)]),  # one row more than the answer, and not more
        (count.id, [(3,)]),
        (gone.id, []),
        (typed.id, [(9.5,)]),
    ]


def test_a_world_without_the_tables_is_named(year: DatabaseEntry) -> None:
    with pytest.raises(BadInput, match=r"year\.sqlite: cannot answer group .*no such table: clinics"):
        list(find_other_answers([make_group("SELECT town FROM clinics", [])], year, QueryLimits()))


def test_a_query_without_end_fails_the_stage(year: DatabaseEntry) -> None:
    joins = " JOIN ".join(f"visits AS v{n}" for n in range(20))
    slow = make_group(f"SELECT COUNT(*) FROM {joins}", [[1]])
    with pytest.raises(StageFailed, match="did not finish within"):
        list(find_other_answers([slow], year, QueryLimits(timeout_s=0.3)))
