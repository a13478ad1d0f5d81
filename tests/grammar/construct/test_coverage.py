"""Tests of the question plan: it covers a schema, and a schema change affects few requests."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.grammar.construct.coverage import (
    Coverage,
    list_pending,
    list_subjects,
    list_uncovered,
    plan_requests,
)
from tests.grammar.scripted import SCHEMA, column

WARDS = [
    column("wards.ward_id", "integer", key=True, ask=False),
    column("wards.clinic_id", "integer", references="clinics.clinic_id"),
    column("wards.name"),
    column("wards.beds", "integer"),
]


def plan(schema=SCHEMA, turn=0, seed=0, among=None, **settings):
    return plan_requests(schema, Coverage(**settings), seed, turn, among)


def rename(name, new):
    table, _, bare = new.partition(".")
    return [
        replace(listed_column, id=new, table=table, name=bare) if listed_column.id == name else listed_column
        for listed_column in SCHEMA
    ]


def mentions(request, name):
    return name in (
        request.subject.id,
        *request.subject.tables,
        *(listed_column.id for listed_column in request.columns),
    )


def test_every_table_column_and_link_is_a_subject_and_keys_are_none():
    assert [subject.id for subject in list_subjects(SCHEMA)] == [
        "clinics", "clinics.name", "clinics.town", "doctors", "doctors - clinics", "doctors.hourly_rate",
        "doctors.name", "doctors.specialty", "visits", "visits - doctors", "visits.day", "visits.order",
        "visits.reason",
    ]  # fmt: skip


def test_a_table_that_only_joins_others_is_asked_about_with_them():
    joining = [
        column("stays.clinic_id", "integer", references="clinics.clinic_id"),
        column("stays.doctor_id", "integer", references="doctors.doctor_id"),
    ]
    subjects = {subject.id: subject for subject in list_subjects([*SCHEMA, *joining])}
    assert subjects["stays"].tables == ("stays", "clinics", "doctors")
    assert subjects["stays"].what == "table"
    assert subjects["stays - clinics"].what == "link"
    assert subjects["clinics"].tables == ("clinics",)


def test_each_subject_gets_its_share_of_kinds_that_fit_its_type():
    requests = plan(column=20, table=20, link=20)
    kinds = {}
    for request in requests:
        kinds.setdefault(request.subject.id, set()).add(request.kind)
    assert kinds.keys() == {subject.id for subject in list_subjects(SCHEMA)}
    assert "comparison" in kinds["doctors.hourly_rate"]
    assert "comparison" not in kinds["doctors.name"]
    assert "date" in kinds["visits.day"]
    assert "date" not in kinds["clinics.town"]
    assert "ranking" not in kinds["clinics"]
    assert len(requests) == len({request.id for request in requests})
    assert len(plan(column=2, table=1, link=0)) == 2 * 8 + 3


def test_a_request_shows_its_tables_keys_names_and_a_share_of_the_others():
    wide = [column(f"clinics.note_{letter}") for letter in "abcdefghijkl"]
    for request in plan([*SCHEMA, *wide], shown=3):
        shown = {listed_column.id for listed_column in request.columns}
        assert {listed_column.table for listed_column in request.columns} == set(request.subject.tables)
        assert not request.subject.column or request.subject.column in shown
        if "clinics" in request.subject.tables:
            assert {"clinics.clinic_id", "clinics.name"} <= shown
            assert len(shown & {listed_column.id for listed_column in wide} - {request.subject.column}) <= 3
        if request.subject.id == "doctors - clinics":
            assert "doctors.clinic_id" in shown


def test_the_next_turn_has_other_kinds_of_what_is_pending():
    pending = list_pending(SCHEMA, {"clinics"}, {"clinics.name", "clinics.town", "visits.day"})
    assert pending == {
        "doctors", "doctors.hourly_rate", "doctors.name", "doctors.specialty", "visits", "visits.order",
        "visits.reason",
    }  # fmt: skip
    first, second = plan(), plan(turn=1, among=pending)
    assert {request.subject.id for request in second} == pending
    assert not {request.id for request in first} & {request.id for request in second}


def test_a_kind_without_weight_is_left_out_and_a_heavy_one_comes_first():
    kinds = [request.kind for request in plan(column=20, shares={"group": 1, "nested": 0})]
    assert set(kinds) == {"group"}
    heavy = [request.kind for request in plan(column=1, shares={"group": 1_000, "count": 1})]
    assert heavy.count("group") > heavy.count("count")


def test_a_new_table_leaves_every_request_that_does_not_mention_it_as_it_was():
    before, after = plan(), plan([*SCHEMA, *WARDS])
    assert [request for request in after if not mentions(request, "wards")] == before


@pytest.mark.parametrize("name", ["clinics.town", "doctors.hourly_rate", "visits.day", "doctors.name"])
def test_a_renamed_column_leaves_every_request_that_does_not_mention_it_as_it_was(name):
    new = f"{name}_of_old"
    before, after = plan(shown=1), plan(rename(name, new), shown=1)
    unchanged = [request for request in before if not mentions(request, name)]
    assert unchanged
    assert [request for request in after if request in before] == [
        request for request in before if request in after
    ]
    for request in unchanged:
        if request not in after:  # its table has one slot for another column, which the new name uses
            (now,) = [listed_request for listed_request in after if listed_request.id == request.id]
            assert mentions(now, new)


@given(st.integers(0, 50), st.permutations(SCHEMA))
def test_the_order_of_columns_changes_nothing(seed, schema):
    assert plan(schema, seed=seed) == plan(seed=seed)


def test_what_no_template_asks_about_is_named_with_what_became_of_its_requests():
    subjects = {subject.id: subject for subject in list_subjects(SCHEMA)}
    lost = [
        (subjects["visits"], "other_kind"),
        (subjects["visits - doctors"], "unknown_name"),
        (subjects["visits.day"], "star"),
        (subjects["visits.day"], "star"),
    ]
    columns = {listed_column.id for listed_column in SCHEMA if listed_column.table != "visits"} - {
        "doctors.specialty"
    }
    drops = list_uncovered(SCHEMA, {"clinics", "doctors"}, columns, "its requests: none fits its type", lost)
    assert [drop.reason for drop in drops] == ["uncovered"] * 5
    assert [drop.detail for drop in drops] == [
        "table visits: no template asks about it; its requests: 1 other_kind, 2 star, 1 unknown_name",
        "column doctors.specialty: no template asks about it; its requests: none fits its type",
        "column visits.day: no template asks about it; its requests: 2 star",
        "column visits.order: no template asks about it; its requests: none fits its type",
        "column visits.reason: no template asks about it; its requests: none fits its type",
    ]
    assert drops[2].origin[0].reference == "schema#visits.day"
    assert not list_uncovered(
        SCHEMA, {"clinics", "doctors", "visits"}, {listed_column.id for listed_column in SCHEMA}, "why"
    )
