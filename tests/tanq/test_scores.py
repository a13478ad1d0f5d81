"""Tests of scores by both rules, and of exact counts of planted failures and faults."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tasks.judging.answered import Scored
from tasks.scoring.rms import Rms, TablePair
from tasks.scoring.tables import get_table
from tasks.tanq.build.tanq_item import ItemThing
from tasks.tanq.labels import FailureKind
from tasks.tanq.score.same_values import count_values, is_same_name, read_amount
from tasks.tanq.score.scores import list_scored, score_prediction, scores
from tasks.tanq.score.table_match import match_table
from tests.tanq.scored_items import ANSWERS, HEAD, PERFECT, make_item, make_prediction, make_step

Rows = tuple[tuple[str, ...], ...]
_, RUVAY, SKARHOLM, OVERMERE = PERFECT
TARN = ("Tarn", "Tarnby", "90", "Skarsk", "1901")


def put(row: tuple[str, ...], column: int, text: str) -> tuple[str, ...]:
    return (*row[:column], text, *row[column + 1 :])


def cut(table: Rows, column: int) -> Rows:
    return tuple(row[:column] + row[column + 1 :] for row in table)


PLANTED: list[tuple[str, Rows | None, set[str]]] = [
    ("all is right", PERFECT, set()),
    ("another order", tuple((r[0], *reversed(r[1:])) for r in (HEAD, *PERFECT[:0:-1])), set()),
    ("turned", tuple(zip(*PERFECT, strict=True)), set()),
    ("a column is missing", cut(PERFECT, 2), {"missing_relation"}),
    ("no header", PERFECT[1:], {"no_header"}),
    ("a row that fails the filter", (*PERFECT, TARN), {"filter_ignored"}),
    ("a column too many", tuple((*r, x) for r, x in zip(PERFECT, ("Anthem", "La", "Li", "Lo"), strict=True)),
     {"unrequested_relation"}),
    ("a row is missing", PERFECT[:3], {"missing_entity"}),
    ("no table", None, {"not_a_table"}),
    ("one of two values", (HEAD, put(RUVAY, 3, "Ruvish"), SKARHOLM, OVERMERE), {"partial_cell"}),
    ("an empty cell", (HEAD, RUVAY, put(SKARHOLM, 1, "N/A"), OVERMERE), {"partial_cell"}),
    ("another value", (HEAD, put(RUVAY, 1, "Skar"), SKARHOLM, OVERMERE), {"wrong_cell"}),
    ("a value too many", (HEAD, put(RUVAY, 3, "Ruvish, Old Norse, Danish"), *PERFECT[2:]), {"wrong_cell"}),
    ("a day off", (HEAD, put(RUVAY, 4, "15 March 1879"), SKARHOLM, OVERMERE), {"wrong_cell"}),
    ("an amount off by a tenth", (HEAD, put(RUVAY, 2, "30800"), SKARHOLM, OVERMERE), {"wrong_cell"}),
    ("what the answer does not know", (*PERFECT[:3], put(OVERMERE, 3, "Merish")), set()),
    ("two at once", (cut(PERFECT, 2)[0], *cut(PERFECT[:3], 2)[1:]), {"missing_relation", "missing_entity"}),
]  # fmt: skip


@pytest.mark.parametrize(("table", "failures"), [p[1:] for p in PLANTED], ids=[p[0] for p in PLANTED])
def test_planted_failures_are_found_and_no_other(table: Rows | None, failures: set[str]) -> None:
    item = make_item(filtered=True)
    score = score_prediction(item, make_prediction(table=table), "predictions")
    assert set(score.failures) == failures
    assert score.faults is None


def test_every_kind_that_a_rule_can_tell_is_planted() -> None:
    planted = set().union(*(failures for _, _, failures in PLANTED))
    assert planted == set(FailureKind) - {"other_hallucination"}


def open_table(table: Rows | None, **item: Any) -> set[str]:
    steps = (make_step("WikiSearch", "islands", "Ruvay and Skarholm are islands. Overmere is one too."),)
    prediction = make_prediction(table=table, setting="open", steps=steps)
    score = score_prediction(make_item(filtered=True, **item), prediction, "predictions")
    assert score.faults is not None
    return set(score.faults)


def test_a_good_chain_has_no_fault() -> None:
    assert open_table(PERFECT) == set()


def test_a_search_that_ended_early_never_saw_what_is_missing() -> None:
    steps = (
        make_step("WikiSearch", "islands", "Ruvay and Skarholm are islands."),
        make_step("SubTask", "find islands", "Overmere, I think."),
    )
    prediction = make_prediction(table=PERFECT[:3], setting="open", steps=steps)
    assert score_prediction(make_item(), prediction, "predictions").faults == ("search_ended",)
    seen = replace(prediction, steps=(*steps, make_step("GetIntro", "Mere", "(Overmere) is an island.")))
    assert score_prediction(make_item(), seen, "predictions").faults == ()


@pytest.mark.parametrize(
    "table",
    [
        None,
        PERFECT[1:],
        (*PERFECT[:3], OVERMERE[:3]),
        (*PERFECT, HEAD),
        (*PERFECT, ("Capital", "", "", "", "")),
    ],
)
def test_a_malformed_table_is_found(table: Rows | None) -> None:
    assert "malformed_table" in open_table(table)


def test_rows_without_an_attribute_are_found() -> None:
    assert open_table((HEAD, RUVAY, put(SKARHOLM, 2, "unknown"), OVERMERE)) == {"attributes_missing"}


def test_a_thing_of_one_condition_is_found_in_an_intersection() -> None:
    near = (ItemThing("island/ness", "Ness", "Ness"),)
    ness = ("Ness", "Nessby", "77", "Skarsk", "1900")
    assert open_table((*PERFECT, ness), kind="intersection", near=near) == {"one_condition"}
    assert open_table(PERFECT, kind="intersection", near=near) == set()
    assert open_table((*PERFECT, ness), kind="simple", near=near) == set()


def test_an_intermediate_is_found_in_a_composition() -> None:
    through = (ItemThing("sea/mirk", "The Mirk", "Mirk"),)
    mirk = ("Mirk", "", "", "", "")
    assert open_table((*PERFECT, mirk), kind="composition", intermediates=through) == {"intermediates_listed"}
    assert open_table((*PERFECT, mirk), kind="simple", intermediates=through) == set()


def test_an_ignored_filter_is_a_fault_too() -> None:
    assert open_table((*PERFECT, TARN)) == {"filter_ignored"}


@pytest.mark.parametrize("table", [PERFECT, PERFECT[:2], cut(PERFECT, 3), tuple(zip(*PERFECT, strict=True))])
def test_scores_are_those_of_the_metric(table: Rows) -> None:
    """The released rule uses the answer's text; the paper's rule uses lists of values."""
    item = make_item()
    score = score_prediction(item, make_prediction(table=table), "predictions")
    said = get_table({"t": [list(row) for row in table]}, "t")
    listed = [["entity", "capital", "population", "official languages", "date of founding"]]
    listed += [[name, *map(list, cells)] for name, cells in ANSWERS.items()]  # type: ignore[list-item]
    for rule, gold in (("released", get_table({"t": item.answer_table}, "t")),
                       ("paper", get_table({"t": listed}, "t"))):  # fmt: skip
        want = Rms().score_item(TablePair(gold, said), rule).values
        assert [getattr(score, f"{rule}_{name}") for name in want] == list(want.values()), rule


def test_a_reply_without_a_table_is_empty_and_no_reply_is_unscored() -> None:
    item = make_item()
    empty = score_prediction(item, make_prediction(table=None), "predictions")
    assert (empty.released_precision, empty.released_recall, empty.released_f1) == (1.0, 0.0, 0.0)
    failed = make_prediction(table=None, reply="", failed="not asked: no room", setting="open")
    (row,) = scores([item], [failed]).rows
    assert (row.released_f1, row.paper_precision, row.failures, row.faults) == (None, None, (), None)
    assert list_scored([empty, row]) == [Scored("p-i1", "i1", 0.0), Scored("p-i1", "i1", None)]


def test_rows_that_fail_a_filter_are_no_part_of_the_answer() -> None:
    score = score_prediction(make_item(filtered=True), make_prediction(table=(*PERFECT, TARN)), "predictions")
    assert score.paper_recall is not None
    assert score.paper_precision is not None
    assert score.paper_precision < score.paper_recall


def test_a_header_title_is_a_header() -> None:
    match = match_table(make_item(), (("title", "capital"), ("Ruvay", "Port Ruvay")))
    assert (match.head, match.columns) == (True, (1, None, None, None))


def test_a_column_is_known_by_its_cells_where_its_header_is_another_word() -> None:
    match = match_table(make_item(), (("entity", "seat"), ("Ruvay", "Port Ruvay"), ("Skarholm", "Skar")))
    assert match.columns == (1, None, None, None)
    other = match_table(make_item(), (("entity", "seat"), ("Ruvay", "Hull"), ("Skarholm", "Skar")))
    assert other.columns == (None, None, None, None)


def test_a_row_a_value_is_one_answer() -> None:
    table = (HEAD, put(RUVAY, 3, "Ruvish"), put(RUVAY, 3, "Old Norse"), SKARHOLM, OVERMERE)
    assert score_prediction(make_item(), make_prediction(table=table), "predictions").failures == ()


@pytest.mark.parametrize(
    ("gold", "said", "kind", "counts"),
    [
        (("Austria",), "Australia", "item", (0, 1)),
        (("Georgia",), "Georgia (country)", "item", (1, 0)),
        (("Côte d'Ivoire",), "Cote d\u2019Ivoire", "item", (1, 0)),
        (("Guinea", "Ghana"), "Equatorial Guinea, Ghana", "item", (1, 1)),
        (("Bosnia and Herzegovina", "Serbia"), "Serbia and Bosnia and Herzegovina", "item", (2, 0)),
        (("385207",), "385,207 km\u00b2", "quantity", (1, 0)),
        (("385207",), "about 385 thousand", "quantity", (1, 0)),
        (("28",), "2 and 8", "quantity", (0, 2)),
        (("1985",), "1986", "time", (0, 1)),
        (("14 March 1879",), "1879-03-14", "time", (1, 0)),
        (("14 March 1879", "1901"), "14 March 1879; 1901", "time", (2, 0)),
        (("Oslo",), " \u2013 ", "item", (0, 0)),
        (("\u6771\u4eac",), "\u6771\u4eac", "item", (1, 0)),
        (("Oslo",), "|" * 999, "item", (0, 0)),
        (("Oslo",), "(" * 999, "item", (0, 0)),
    ],
)  # fmt: skip
def test_values_of_a_cell(gold: tuple[str, ...], said: str, kind: str, counts: tuple[int, int]) -> None:
    assert count_values(gold, said, kind) == counts


def test_names_with_other_digits_are_others() -> None:
    assert not is_same_name("Apollo 11 mission", "Apollo 12 mission")
    assert is_same_name("The Mirk", "mirk")


@pytest.mark.parametrize(
    ("text", "amount"), [("-5", -5.0), ("5.6 million", 5.6e6), ("3 to 4", None), ("x", None)]
)
def test_amounts_are_read(text: str, amount: float | None) -> None:
    assert read_amount(text) == amount


@pytest.mark.parametrize("table", [((),), (("",),), ((), ("a",)), (("a",),), (("a", "b"),) * 400])
def test_hostile_tables_do_not_break(table: Sequence[Sequence[str]]) -> None:
    score = score_prediction(
        make_item(filtered=True), make_prediction(table=table, setting="open"), "predictions"
    )
    assert "missing_entity" in score.failures
