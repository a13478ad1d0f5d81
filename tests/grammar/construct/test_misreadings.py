"""Tests of likely misreadings of a query, and of groups whose answers distinguish them from the query."""

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.free_reading import read_free
from tasks.grammar.construct.misreadings import MOST, list_misreadings
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.construct.telling_groups import Reruns, TellingGroups, is_same
from tests.grammar.scripted import SCHEMA, make_database

RATES = (
    "SELECT specialty, AVG(hourly_rate) FROM doctors WHERE clinic_id < 9 AND name <> '[doctors.name]' "
    "GROUP BY specialty HAVING COUNT(*) > 1"
)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    return DatabaseEntry(name="clinic", file=make_database(tmp_path_factory.mktemp("c") / "clinic.sqlite"))


def list_sql(sql):
    return [query.sql for query in list_misreadings(sql, SCHEMA)]


@pytest.mark.parametrize(
    ("sql", "misread"),
    [
        (RATES, RATES.replace("clinic_id < 9 AND ", "")),
        (RATES, RATES.replace(" AND name <> '[doctors.name]'", "")),
        (RATES, RATES.replace("AVG", "SUM")),
        (RATES, RATES.replace("> 1", ">= 1")),
        (RATES, RATES.replace(" HAVING COUNT(*) > 1", "")),
        (RATES, RATES.replace("<>", "=")),
        (
            "SELECT DISTINCT town FROM clinics WHERE name = '[clinics.name]'",
            "SELECT town FROM clinics WHERE name = '[clinics.name]'",
        ),
        (
            "SELECT COUNT(DISTINCT town) FROM clinics WHERE name <> '[clinics.name]'",
            "SELECT COUNT(town) FROM clinics WHERE name <> '[clinics.name]'",
        ),
        (
            "SELECT d.name FROM doctors AS d JOIN clinics AS c ON d.clinic_id = c.clinic_id "
            "WHERE d.specialty = '[doctors.specialty]'",
            "SELECT d.name FROM doctors AS d WHERE d.specialty = '[doctors.specialty]'",
        ),
        (
            "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' "
            "ORDER BY hourly_rate DESC LIMIT 1",
            "SELECT name FROM doctors WHERE specialty = '[doctors.specialty]' ORDER BY hourly_rate LIMIT 1",
        ),
        (
            "SELECT town FROM clinics WHERE name = '[clinics.name]' EXCEPT SELECT town FROM clinics",
            "SELECT town FROM clinics WHERE name = '[clinics.name]' INTERSECT SELECT town FROM clinics",
        ),
        (
            "SELECT name FROM doctors WHERE NOT clinic_id IN (SELECT clinic_id FROM clinics "
            "WHERE town = '[clinics.town]')",
            "SELECT name FROM doctors WHERE clinic_id IN (SELECT clinic_id FROM clinics "
            "WHERE town = '[clinics.town]')",
        ),
    ],
)
def test_a_misreading_is_the_query_with_one_change(sql, misread):
    found = list_sql(sql)
    assert read_free(misread, SCHEMA).sql in found
    assert read_free(sql, SCHEMA).sql not in found
    assert len(found) == len(set(found)) <= MOST


def test_another_column_of_the_same_type_is_a_misreading_wherever_it_stands():
    found = list_sql(RATES)
    assert any("SELECT name, AVG" in sql and "GROUP BY name" in sql for sql in found)
    assert not any("SELECT hourly_rate, AVG" in sql for sql in found)


def test_groups_are_chosen_that_tell_the_query_from_its_misreadings(clinic):
    sql = read_free("SELECT name FROM doctors WHERE hourly_rate > '[doctors.hourly_rate]'", SCHEMA).sql
    template = SqlTemplate("t", sql, ("doctors",), ("doctors.name",), ("doctors.hourly_rate",), 0, ())
    groups = list(fill_in([template], SCHEMA, clinic, FillIn(look_alikes="keep")).rows)
    with SafeDatabase(clinic) as safe:
        telling = TellingGroups({"t": template}, {"t": groups}, SCHEMA, safe, 4).find("t")
        assert 1 <= len(telling) <= 4
        reruns = Reruns(SCHEMA, safe)
        for wrong in ("hourly_rate >= '[doctors.hourly_rate]'", "hourly_rate < '[doctors.hourly_rate]'", "1"):
            query = read_free(f"SELECT name FROM doctors WHERE {wrong}", SCHEMA)
            assert any(reruns.differs(query, filled) for filled in telling), wrong
        same = read_free("SELECT d.name FROM doctors d WHERE '[doctors.hourly_rate]' < d.hourly_rate", SCHEMA)
        assert not any(reruns.differs(same, filled) for filled in telling)
        assert len(TellingGroups({"t": template}, {"t": groups}, SCHEMA, safe, 1).find("t")) == 1
        assert not TellingGroups({"t": template}, {}, SCHEMA, safe, 1).find("t")


@pytest.mark.parametrize(
    ("found", "due", "same"),
    [
        ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], True),
        ([(1, "a"), (2, "b")], [("a", 1), ("b", 2)], True),
        ([(1, "b"), (2, "a")], [("a", 1), ("b", 2)], False),
        ([("a",)], [("a",), ("a",)], False),
        ([("a",), ("b",)], [("a",), ("a",)], False),
        ([("a", "x")], [("a",)], False),
        ([(2.0,)], [(2,)], True),
        ([], [], True),
    ],
)
def test_answers_are_the_same_whatever_the_order_of_rows_and_columns(found, due, same):
    assert is_same(found, due) is same
