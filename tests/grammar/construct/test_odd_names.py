"""Tests of names in legacy databases: prefixes, abbreviations, leading years, keys called `code`."""

import asyncio
from dataclasses import replace

import pytest

from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.profiling import profile_columns
from tasks.errors import BadInput
from tasks.grammar.construct.glossary import Glossary, glossary
from tasks.grammar.construct.measured_words import describe_event, find_kind
from tasks.grammar.construct.names import name_column, name_relation, name_table, split_words, tells_year
from tasks.grammar.construct.phrasing import Phrasing
from tasks.grammar.construct.queries import Query
from tasks.grammar.construct.schema import schema
from tasks.grammar.construct.sql_rules import has_mean
from tasks.grammar.construct.template_requests import list_identifying_columns
from tests.grammar.scripted import ScriptedAsk, column
from tests.newcomer.boatyard import make_boatyard


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tbl_Vessel", "vessel"),
        ("tblWrkr", "wrkr"),
        ("lkpShed", "shed"),
        ("Yr_Built", "year built"),
        ("dt_in", "date in"),
        ("Qty-2", "quantity 2"),
        ("Hull Mat.", "hull mat"),
        ("tbl", "tbl"),
        ("release_year", "release year"),
    ],
)
def test_an_identifier_is_read_as_people_read_it(name, words):
    assert " ".join(split_words(name)) == words


def test_a_tables_prefix_is_no_part_of_what_a_row_is():
    assert name_table("tbl_Vessels") == "vessel"
    assert name_column("tbl_Vessel.Vessel Name") == "name"
    key = column("tbl_Vessel.OwnerRef", "integer", references="Owners.own_id")
    assert name_relation([key]) == []


@pytest.mark.parametrize("words", ["", "year of building"])
def test_a_year_is_a_year_wherever_its_name_says_so(words):
    built = replace(column("tbl_Vessel.Yr_Built", "integer"), words=words)
    assert tells_year(built)
    assert not has_mean(built)
    assert find_kind(built.id, [built]) == "time"
    query = Query(("tbl_Vessel.Yr_Built",), (), ("tbl_Vessel.Vessel Name",))
    names = [built, column("tbl_Vessel.Vessel Name")]
    asked = Phrasing(query, names).list_questions("")
    assert any("year" in question for question in asked)
    if not words:
        assert describe_event(built.id, [built]) == "built"
        assert "In which year was the vessel [tbl_Vessel.Vessel Name] built?" in asked


def test_a_length_in_a_glossarys_metres_is_long_or_short():
    length = replace(column("boats.LOA_m", "real"), words="length in metres")
    assert find_kind(length.id, [length]) == "length"


def test_people_say_a_name_and_not_the_code_beside_it():
    code, name = column("lkpShed.code", key=True), column("lkpShed.Shed Name")
    assert list_identifying_columns("lkpShed", [code, name]) == ["lkpShed.Shed Name"]
    assert list_identifying_columns("lkpShed", [code]) == ["lkpShed.code"]
    tail = [column("planes.tail_number", key=True), column("planes.name")]
    assert list_identifying_columns("planes", tail) == ["planes.tail_number", "planes.name"]


@pytest.fixture
def yard(tmp_path):
    return DatabaseEntry(name="yard", file=make_boatyard(tmp_path / "yard.sqlite"))


def draft(entry):
    return asyncio.run(
        glossary(profile_columns(entry, ColumnRules()), entry, Glossary(), ScriptedAsk(lambda _: ""))
    )


def test_names_that_say_nothing_are_listed_until_there_are_words_for_them(yard):
    unclear = {drop.detail.partition(":")[0] for drop in draft(yard).dropped}
    assert {"tbl_Vessel.LOA_m", "Job Orders.dt_in", "JobParts.Qty-2", "Parts.stk"} <= unclear
    assert "Owners.Town" not in unclear
    said = yard.model_copy(update={"glossary": {"LOA_m": "length in metres"}, "leave_out": ("Qty-2",)})
    rest = {drop.detail.partition(":")[0] for drop in draft(said).dropped}
    assert unclear - rest == {"tbl_Vessel.LOA_m", "JobParts.Qty-2"}


def test_what_is_left_out_is_asked_of_nobody_and_joins_still(yard):
    entry = yard.model_copy(update={"leave_out": ("Owners.tel", "zz_import_2019", "JobParts.Qty-2")})
    columns = {row.id: row for row in schema([], [], entry).rows}
    assert not columns["Owners.tel"].descriptive
    assert columns["Owners.full_name"].descriptive
    assert not any(
        listed_column.descriptive
        for listed_column in columns.values()
        if listed_column.table == "zz_import_2019"
    )
    assert not any(
        listed_column.descriptive for listed_column in columns.values() if listed_column.table == "JobParts"
    )
    assert columns["JobParts.JobNo"].references == "Job Orders.JobNo"


def test_what_is_left_out_must_be_there(yard):
    with pytest.raises(BadInput, match=r"databases.yard.leave_out: there is no column or table 'Owner.tel'"):
        schema([], [], yard.model_copy(update={"leave_out": ("Owner.tel",)}))
