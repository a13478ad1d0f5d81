import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from tasks.grammar.construct.queries import (
    FilledSql,
    Query,
    write_filled,
    write_literal,
    write_rows,
    write_template,
)
from tasks.grammar.construct.sql_rules import read_template
from tests.grammar.scripted import SCHEMA

LEADING = ("doctors.doctor_id", "visits.leading_doctor")
ASSISTING = ("doctors.doctor_id", "visits.assisting_doctor")
TEXTS = [column.id for column in SCHEMA if column.descriptive and column.type != "real"]


def test_a_template_is_written_with_its_placeholders_and_reserved_names_quoted():
    query = Query(("doctors.name",), (LEADING,), ("visits.day", "visits.order"))
    assert write_template(query) == (
        "SELECT DISTINCT doctors.name FROM doctors JOIN visits ON doctors.doctor_id = visits.leading_doctor "
        "WHERE visits.day = '[visits.day]' AND visits.\"order\" = '[visits.order]'"
    )


def test_values_are_escaped_and_numbers_stay_numbers():
    query = Query(("visits.reason",), (), ("visits.day", "visits.order"))
    sql = write_filled(query, {"visits.day": "it's; DROP TABLE x --", "visits.order": -7})
    assert sql.endswith("WHERE visits.day = 'it''s; DROP TABLE x --' AND visits.\"order\" = -7")
    assert len(sqlglot.parse(sql, dialect="sqlite")) == 1


def test_combinations_are_one_query_ordered_by_the_values():
    sql = write_rows(Query(("doctors.name",), (), ("doctors.specialty",)), ("doctors.name",))
    assert sql == (
        "SELECT DISTINCT doctors.specialty, doctors.name FROM doctors WHERE NOT doctors.specialty IS NULL "
        "ORDER BY doctors.specialty, doctors.name"
    )


@given(st.sampled_from(TEXTS), st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True))
def test_what_is_written_reads_back_as_the_same_query(asked, placeholders):
    columns = {asked, *placeholders}
    tables = {column.partition(".")[0] for column in columns}
    joins = [LEADING] if len(tables) > 1 else []
    if "clinics" in tables and len(tables) > 1:
        joins.append(("clinics.clinic_id", "doctors.clinic_id"))
    if asked in placeholders or (tables == {"clinics", "doctors"}):
        return
    query = Query((asked,), tuple(sorted(joins)), tuple(sorted(placeholders)))
    again = read_template(write_template(query), SCHEMA)
    assert (again, again.id) == (query, query.id)


def test_clothes_do_not_change_the_id_and_everything_else_does():
    plain = read_template(
        "SELECT doctors.name FROM doctors JOIN visits ON doctors.doctor_id = visits.leading_doctor "
        "WHERE visits.day = '[visits.day]' AND visits.reason = '[visits.reason]'",
        SCHEMA,
    )
    dressed = read_template(
        "select distinct d.NAME AS who FROM visits AS v INNER JOIN doctors d ON (v.leading_doctor = d.doctor_id) "  # noqa: E501
        "where '[visits.reason]' = reason and v.day = [visits.day];",
        SCHEMA,
    )
    assert dressed == plain
    other_join = Query(plain.projection, (ASSISTING,), plain.placeholders)
    other_projection = Query(("doctors.specialty",), plain.joins, plain.placeholders)
    other_predicate = Query(plain.projection, plain.joins, ("visits.day",))
    ids = {plain.id, other_join.id, other_projection.id, other_predicate.id}
    assert len(ids) == 4


@given(
    st.one_of(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
)
def test_the_fast_way_to_fill_a_query_writes_what_the_tree_writes(first, second):
    query = Query(("a.x",), (("a.id", "b.id"),), ("a.order", "b.y"))
    filled = FilledSql(query)
    sql = filled.write((first, second))
    assert sql == write_filled(query, {"a.order": first, "b.y": second})
    assert filled.read(sql) == {"a.order": write_literal(first), "b.y": write_literal(second)}
    assert filled.read(f"{sql} ") is None
