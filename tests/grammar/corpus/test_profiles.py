from dataclasses import replace
from pathlib import Path

import pytest

from tasks.artifacts.rows import Dropped
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import SafeDatabase
from tasks.errors import BadInput
from tasks.grammar.construct.fill_in import FillIn, fill_in
from tasks.grammar.construct.pairs import Question
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_templates import SqlTemplate
from tasks.grammar.corpus.entity_tables import list_attributes
from tasks.grammar.corpus.profiles import Profiles, choose_keys, profiles
from tasks.grammar.corpus.true_documents import TrueDocuments, true_documents
from tests.grammar.scripted import ROWS, SCHEMA, make_database

WORKS_AT = (("clinics.clinic_id", "doctors.clinic_id"),)
TOWN = Query(("clinics.town",), WORKS_AT, ("doctors.name",))
SPECIALTY = Query(("doctors.specialty",), (), ("doctors.name",))
REASON = Query(("visits.reason",), (), ("visits.order",))


@pytest.fixture
def entry(tmp_path: Path) -> DatabaseEntry:
    return DatabaseEntry(name="hospital", file=make_database(tmp_path / "hospital.sqlite"))


def template(query: Query) -> SqlTemplate:
    return SqlTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders, 0, ()
    )


TEMPLATES = [template(query) for query in (TOWN, SPECIALTY, REASON)]


def fill(entry):
    return list(fill_in(TEMPLATES, SCHEMA, entry, FillIn()).rows)


def ask_of(groups):
    return [
        Question(f"q{n}", group.id, "short", "?", group.answer, group.sql, group.sql_template, "t", "[]", ())
        for n, group in enumerate(groups)
    ]


def collect(entry, questions, **params):
    return profiles(
        questions, TEMPLATES, SCHEMA, entry, {}, Profiles(entities={"hospital": ("doctors",)}, **params)
    )


def test_a_row_is_told_with_its_own_columns_and_those_it_refers_to(entry):
    ada = next(profile for profile in collect(entry, []).rows if profile.name == "Ada Zwick")
    assert (ada.kind, ada.table, ada.key) == ("doctor", "doctors", ("1",))
    assert {fact.attribute: fact.values for fact in ada.facts} == {
        "specialty": ("ozonotomy",),
        "hourly rate": ("81.5",),
        "clinic": ("Xanadu House",),
        "town of the clinic": ("Quillport",),
    }
    assert [origin.reference for origin in ada.origin] == ["hospital.doctors#1"]


def test_what_is_null_or_empty_is_no_fact_and_a_row_without_a_name_goes_by_its_key(entry):
    rows = {profile.name: profile for profile in collect(entry, []).rows}
    assert [fact.attribute for fact in rows["Cy [Wu]"].facts] == ["specialty", "clinic", "town of the clinic"]
    # The fifth doctor's name is empty; her clinic has no name, only a town.
    assert [fact.attribute for fact in rows["doctor 5"].facts] == [
        "specialty", "hourly rate", "town of the clinic",
    ]  # fmt: skip


def test_the_rows_that_most_groups_ask_about_come_first(entry):
    groups = [group for group in fill(entry) if "Bo Ypsilon" in group.sql]
    assert len(groups) == 2
    assert [profile.name for profile in collect(entry, ask_of(groups), count=1).rows] == ["Bo Ypsilon"]


def test_a_fact_with_many_values_is_left_out_and_named(entry):
    # Visits refer to a doctor, but rows that refer to an entity are not facts of the entity.
    assert not any("visit" in attribute.words for attribute in list_attributes("doctors", SCHEMA))
    drafts = profiles(
        [], TEMPLATES, SCHEMA, entry, {}, Profiles(entities={"hospital": ("visits",)}, values=1)
    )
    first = next(profile for profile in drafts.rows if profile.key == ("1",))
    assert {fact.attribute for fact in first.facts} >= {"day", "order", "reason", "leading doctor"}
    assert not drafts.dropped


def test_a_database_without_entities_has_no_corpus(entry):
    alone = profiles([], TEMPLATES, SCHEMA, entry, {}, Profiles())
    assert (alone.rows, [drop.reason for drop in alone.dropped]) == ([], ["not_assessed"])
    assert "`benchloom add system NAME --database hospital`" in alone.dropped[0].detail


ASSESSED = {"assessments.a.database": "hospital", "assessments.a.system": "good"}


def test_an_assessed_database_has_the_tables_that_questions_ask_about(entry):
    asked = ask_of(fill(entry))
    drafts = profiles(asked, TEMPLATES, SCHEMA, entry, ASSESSED, Profiles())
    assert {profile.table for profile in drafts.rows} == {"clinics", "doctors", "visits"}
    of_towns = [question for question in asked if question.sql_template == TOWN.id]
    drafts = profiles(of_towns, TEMPLATES, SCHEMA, entry, ASSESSED, Profiles())
    assert {profile.table for profile in drafts.rows} == {"clinics"}


@pytest.mark.parametrize(
    ("settings", "entities"),
    [
        (ASSESSED, {"hospital": ()}),
        ({"assessments.hospital.database": "other", "assessments.hospital.system": "hospital"}, {}),
        ({"assessments": {}}, {}),
    ],
)
def test_no_table_is_chosen_where_none_is_wanted_or_no_assessment_asks(entry, settings, entities):
    asked = ask_of(fill(entry))
    assert not profiles(asked, TEMPLATES, SCHEMA, entry, settings, Profiles(entities=entities)).rows


def test_a_table_without_a_primary_key_is_dropped_with_its_reason(entry):
    schema = [
        replace(column, primary_key=column.primary_key and column.table != "visits") for column in SCHEMA
    ]
    drafts = profiles(ask_of(fill(entry)), TEMPLATES, schema, entry, ASSESSED, Profiles())
    assert {profile.table for profile in drafts.rows} == {"clinics", "doctors"}
    (row,) = [row for row in drafts.dropped if row.reason == "no_primary_key"]
    assert row.detail == "visits: no key distinguishes its rows"
    assert row.origin[0].reference == f"sql_templates#{REASON.id}"


def test_an_unknown_table_is_named_with_those_there_are(entry):
    with pytest.raises(BadInput, match=r"entities\.hospital.*no table 'nurses' \(known: clinics, doctors"):
        profiles([], TEMPLATES, SCHEMA, entry, {}, Profiles(entities={"hospital": ("nurses",)}))


def test_groups_find_their_documents_by_the_keys_of_their_source_rows(entry):
    told, groups = list(collect(entry, []).rows), fill(entry)
    found = {row.id: row.documents for row in map_documents(told, groups, entry)}
    names = {profile.id: profile.name for profile in told}
    by_group = {group.sql: [names[document] for document in found.get(group.id, ())] for group in groups}
    of_ada = [documents for sql, documents in by_group.items() if "'Ada Zwick'" in sql]
    assert of_ada == [["Ada Zwick"], ["Ada Zwick"]]
    # A question about a visit's reason depends on no doctor, so its documents are unknown.
    assert not any(documents for sql, documents in by_group.items() if "visits" in sql)


def test_a_group_whose_source_row_has_no_profile_is_not_mapped(entry):
    told, groups = (
        [profile for profile in collect(entry, []).rows if profile.name != "Ada Zwick"],
        fill(entry),
    )
    mapped = {row.id for row in map_documents(told, groups, entry)}
    assert not any(group.id in mapped for group in groups if "'Ada Zwick'" in group.sql)


@pytest.mark.parametrize("reason", ["fact_untold", "fact_unread"])
def test_a_group_whose_fact_a_document_leaves_out_says_so(entry, reason):
    told, groups = list(collect(entry, []).rows), fill(entry)
    ada = next(profile for profile in told if profile.name == "Ada Zwick")
    town = next(fact for fact in ada.facts if fact.attribute == "town of the clinic")
    assert {row.untold for row in map_documents(told, groups, entry)} == {()}
    lost = Dropped(town.id, reason, "", ())
    untold = {row.id: row.untold for row in map_documents(told, groups, entry, lost) if row.untold}
    asked = [group for group in groups if "'Ada Zwick'" in group.sql and "town" in group.sql]
    assert untold == {group.id: ("clinics.town",) for group in asked}
    assert len(untold) == 1
    # A dropped sentence is not a fact.
    other = Dropped(town.id, "claim", "", ())
    assert not any(row.untold for row in map_documents(told, groups, entry, other))


def map_documents(told, groups, entry, *dropped):
    return list(true_documents(told, list(dropped), groups, TEMPLATES, SCHEMA, entry, TrueDocuments()).rows)


def test_all_rows_of_a_group_are_taken_or_none_and_what_is_passed_over_is_on_record():
    needs = {"a": {"t": {(1,), (2,), (3,)}}, "b": {"t": {(4,)}}, "c": {"t": {(n,) for n in range(9)}}}
    asked = [Question(g, g, "short", "?", "", "", f"t{g}", "t", "[]", ()) for g in needs]
    for seed in range(5):
        chosen, dropped = choose_keys(needs, asked, Profiles(count=4, documents_per_group=3, seed=seed))
        assert chosen == {"t": {(1,), (2,), (3,), (4,)}}
        assert [(row.reason, row.detail) for row in dropped] == [
            ("many_documents", "SQL template tc: 1 of 1 groups")
        ]
        small, dropped = choose_keys(needs, asked, Profiles(count=2, documents_per_group=3, seed=seed))
        assert small == {"t": {(4,)}}
        assert {row.reason for row in dropped} == {"many_documents", "no_room"}


def test_every_fact_holds_the_query_that_gives_its_values(entry):
    told = collect(entry, [])
    with SafeDatabase(entry) as safe:
        for profile in told.rows:
            for fact in profile.facts:
                cells = {str(row[0]) for batch in safe.stream(fact.sql) for row in batch}
                assert {cell.removesuffix(".0") for cell in cells} == set(fact.values)


def test_numbers_of_the_whole_are_told_only_where_no_group_could_ask_for_them(tmp_path):
    more = "".join(f"INSERT INTO doctors VALUES ({n}, 1, 'D{n}', 'ozonotomy', 1.5);" for n in range(20, 34))
    database = DatabaseEntry(name="hospital", file=make_database(tmp_path / "more.sqlite", ROWS + more))
    ada = next(profile for profile in collect(database, []).rows if profile.name == "Ada Zwick")
    counts = {fact.attribute: fact.values for fact in ada.facts if fact.subject == "the database"}
    assert counts == {
        "number of doctors with the specialty ozonotomy": ("16",),
        "number of doctors with the clinic Xanadu House": ("16",),
        "number of doctors with the town of the clinic Quillport": ("18",),
    }
    few = collect(database, [], documents_per_group=16)
    ada = next(profile for profile in few.rows if profile.name == "Ada Zwick")
    assert [fact.values for fact in ada.facts if fact.subject == "the database"] == [("18",)]
