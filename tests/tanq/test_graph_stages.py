"""Tests of a graph's facts, relations and entities: ranks, units and labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tasks.errors import BadInput, StageFailed
from tasks.sources.wikidata.rows import ClaimRow, ValueRow
from tasks.tanq.entries import GraphSource, RelationWords
from tasks.tanq.graph.amounts import convert_amount
from tasks.tanq.graph.facts import MOST_NAMED, facts
from tasks.tanq.graph.relations import relations
from tasks.tanq.graph.showing import show_value
from tasks.tanq.graph.things import things
from tests.tanq.made_graph import KM2, item, make_claim, write_graph


def show_time(year: int, precision: int, month: int | None = None, day: int | None = None) -> str:
    value = ValueRow("time", year=year, month=month, day=day, precision=precision, calendar="gregorian")
    return show_value(value, {})


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (show_time(1879, 11, 3, 14), "14 March 1879"),
        (show_time(1879, 10, 3), "March 1879"),
        (show_time(1879, 9), "1879"),
        (show_time(1879, 8), "1870s"),
        (show_time(1879, 7), "19th century"),
        (show_time(1900, 7), "19th century"),  # the last year of the century
        (show_time(1901, 7), "20th century"),
        (show_time(-44, 9), "44 BCE"),
        (show_time(-44, 11, 3, 15), "15 March 44 BCE"),
        (show_time(-50, 7), "1st century BCE"),
        (show_time(1001, 6), "2nd millennium"),
        (show_time(2000, 6), "2nd millennium"),  # the last year of the millennium
        (show_time(-2500, 6), "3rd millennium BCE"),
        (show_time(-250_000, 5), ""),  # ten thousand years
    ],
)
def test_a_date_is_shown_down_to_its_precision(shown: str, expected: str) -> None:
    assert shown == expected


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        ("+1500.50", "1500.5"),
        ("385207", "385207"),
        ("-0", "0"),
        ("1E+3", "1000"),
        ("-2.10", "-2.1"),
        ("100", "100"),
    ],
)
def test_an_amount_is_a_plain_number(amount: str, expected: str) -> None:
    assert show_value(ValueRow("quantity", amount=amount), {}) == expected


def test_a_value_cannot_break_a_table() -> None:
    assert show_value(ValueRow("text", text="a | b\nc", language="en"), {}) == "a b c"
    assert show_value(ValueRow("item", item="Q1"), {}) == ""


def test_only_the_best_rank_stands(tmp_path: Path) -> None:
    entry = write_graph(
        tmp_path,
        item("Varn", "P36", "Old Town", rank="deprecated"),
        item("Pell", "P36", "New Town", rank="preferred"),
    )
    drafts = facts(entry)
    capitals = {(fact.entity, fact.shown) for fact in drafts.rows if fact.relation == "P36"}
    assert {("Varn", "Varn City"), ("Pell", "New Town")} <= capitals
    assert not {shown for _, shown in capitals} & {"Old Town", "Pell City"}
    assert Counter(row.reason for row in drafts.dropped) == {"deprecated": 1, "outranked": 1}


def test_a_thing_is_no_value_of_its_own(tmp_path: Path) -> None:
    drafts = facts(write_graph(tmp_path, item("Varn", "P30", "Varn")))
    assert [(row.id, row.reason) for row in drafts.dropped] == [("Varn/P30/Varn/normal", "of_itself")]
    assert {fact.shown for fact in drafts.rows if (fact.entity, fact.relation) == ("Varn", "P30")} == {
        "North"
    }


def test_what_has_no_name_is_dropped_and_counted_past_the_named_ones(tmp_path: Path) -> None:
    nameless = [f"Nameless {place}" for place in range(MOST_NAMED + 3)]
    claims = [item(name, "P36", "Varn City") for name in nameless]
    drafts = facts(write_graph(tmp_path, *claims, without=tuple(nameless)))
    left = [row for row in drafts.dropped if row.reason == "not_shown"]
    assert len(left) == MOST_NAMED + 1
    assert left[-1].detail == "3 more"


def area(name: str, amount: str, unit: str | None) -> ClaimRow:
    return make_claim(name, "P2046", ValueRow("quantity", amount=amount, number=float(amount), unit=unit))


def test_amounts_of_a_relation_have_one_unit(tmp_path: Path) -> None:
    hectares = area("Tolo City", "7", "Q35852")
    drafts = facts(
        write_graph(tmp_path, hectares, area("Mirr City", "7", "Q11574"), area("Pell City", "7", None))
    )
    areas = [fact for fact in drafts.rows if fact.relation == "P2046"]
    assert {fact.value.unit for fact in areas} == {KM2}
    # 1 hectare is 0.01 square kilometres; seconds and plain numbers have no area.
    assert [fact.shown for fact in areas if fact.entity == "Tolo City"] == ["0.07"]
    assert [(row.reason, row.detail) for row in drafts.dropped] == [
        ("other_unit", "P2046 of Mirr City"),
        ("other_unit", "P2046 of Pell City"),
    ]


def test_an_amount_in_two_units_is_one_fact(tmp_path: Path) -> None:
    drafts = facts(write_graph(tmp_path, area("Varn", "150050", "Q35852"), area("Varn", "150051", "Q35852")))
    shown = [fact.shown for fact in drafts.rows if (fact.entity, fact.relation) == ("Varn", "P2046")]
    assert sorted(shown) == ["1500.5", "1500.51"]
    assert [row.reason for row in drafts.dropped] == ["same_amount"]


@pytest.mark.parametrize(
    ("amount", "unit", "other", "expected"),
    [
        ("6", "Q3710", "Q11573", "1.8288"),  # 1 foot is 0.3048 metres
        ("1.8", "Q11573", "Q3710", None),  # 5.9055…: not a finite decimal
        ("1.5", "Q828224", "Q11573", "1500"),
        ("90", "Q7727", "Q25235", "1.5"),
        ("100", "Q7727", "Q25235", None),
        ("20", "Q25267", "Q11579", "293.15"),
        ("3", "Q41803", "Q11570", "0.003"),
        ("2", "Q577", "Q573", None),  # years have different lengths
        ("2", "Q4917", "Q4916", None),
        ("2", "Q11573", "Q11570", None),
        ("2", "Q999999", "Q11573", None),
    ],
)
def test_amounts_are_converted_where_that_is_exact(
    amount: str, unit: str, other: str, expected: str | None
) -> None:
    value = ValueRow("quantity", amount=amount, number=float(amount), unit=unit, lower=amount, upper=amount)
    found = convert_amount(value, other, {"Q11579": "kelvin", "Q999999": "cubit of Farland"})
    assert (found and found.amount) == expected
    if found is not None:
        assert (found.unit, found.lower, found.upper, found.number) == (
            other,
            expected,
            expected,
            float(found.amount or 0),
        )


def test_a_relation_has_words_kind_and_unit(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    rows = {row.id: row for row in relations(facts(entry).rows, entry).rows}
    assert (rows["P36"].one, rows["P36"].words, rows["P36"].kind) == ("capital", "capitals", "item")
    assert (rows["P2046"].unit, rows["P2046"].kind, rows["P2046"].entities) == (KM2, "quantity", 5)
    assert rows["P36"].rank < rows["P2046"].rank  # a place before a size


def test_given_words_come_before_the_usual_ones(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    entry = entry.model_copy(update={"relations": {"P36": RelationWords(one="seat of government")}})
    row = relations(facts(entry).rows, entry).rows[0]
    assert row.one == "seat of government"
    assert row.words != "capitals"


def test_birth_is_asked_before_death_and_date_beside_place(tmp_path: Path) -> None:
    day = ValueRow("time", year=1900, precision=9, calendar="gregorian")
    claims = [make_claim("Varn", "P569", day), make_claim("Varn", "P570", day)]
    claims += [item("Varn", "P19", "Pell"), item("Varn", "P20", "Pell")]
    entry = write_graph(tmp_path, *claims).model_copy(update={"relations": {}})
    ranks = {row.id: row.rank for row in relations(facts(entry).rows, entry).rows}
    own = ("P569", "P19", "P570", "P20")
    assert sorted(own, key=lambda name: ranks[name]) == list(own)


def test_relations_that_cannot_be_asked_are_dropped_with_the_reason(tmp_path: Path) -> None:
    claims = [
        make_claim("Varn", "P1", ValueRow("quantity", amount="3", number=3.0, unit="Q999")),
        item("Varn", "P2", "Pell"),
        make_claim("Pell", "P2", ValueRow("text", text="x", language="en")),
    ]
    given: dict[str, RelationWords | None] = dict.fromkeys(("P36", "P1", "P2", "P3"))
    entry = write_graph(tmp_path, *claims).model_copy(update={"relations": given})
    named = {row.id: row.reason for row in relations(facts(entry).rows, entry).dropped}
    assert named == {"P1": "no_label", "P2": "no_label", "P3": "no_facts"}


def test_a_unit_without_a_name_leaves_its_relation_out(tmp_path: Path) -> None:
    strange = [
        make_claim(name, "P2046", ValueRow("quantity", amount="3", number=3.0, unit="Q999999"), "preferred")
        for name in ("Varn", "Ostel", "Pell", "Mirr", "Tolo")
    ]
    entry = write_graph(tmp_path, *strange)
    drafts = relations(facts(entry).rows, entry)
    assert {row.id: row.reason for row in drafts.dropped} == {"P2046": "no_unit", "P571": "no_facts"}


def test_things_have_their_classes_articles_and_common_units(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    rows = {row.id: row for row in things(facts(entry).rows, entry).rows}
    assert (rows["Varn"].classes, rows["Varn"].article) == (("Land",), "Varn")
    assert rows[KM2].label == "square kilometre"  # which the graph does not contain
    assert "P36" not in rows


def test_a_graph_without_usable_facts_fails_in_a_line(tmp_path: Path) -> None:
    entry = write_graph(tmp_path)
    bare = entry.model_copy(update={"relations": {"P999": None}})
    with pytest.raises(StageFailed, match="none of the 1 relations"):
        relations(facts(bare).rows, bare)


def test_a_folder_that_is_no_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        facts(GraphSource(graph=tmp_path / "none", articles=tmp_path, seeds=tmp_path))
