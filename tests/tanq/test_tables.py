"""Tests of the stage `tables`: supported cells, removed rows, and dropped questions."""

from collections import Counter
from typing import Any

import pytest

from tasks.tanq.build.extend import ExtendedQuestion
from tasks.tanq.build.tables import Tables, tables
from tasks.tanq.build.verify import ProofVerdict
from tasks.tanq.build.wording import extend_text
from tasks.tanq.graph.seed_question import SeedQuestion
from tasks.tanq.labels import Support
from tests.tanq.evidence import AREA, BORDER, CAPITAL, RELATIONS, THINGS, make_fact

FACTS = [
    make_fact("varn", CAPITAL, "skarholm"),
    make_fact("varn", BORDER, "ostel"),
    make_fact("varn", BORDER, "ruvay"),
    make_fact("ostel", CAPITAL, "pell"),
    make_fact("ostel", AREA, "1200"),
    make_fact("ostel", BORDER, "varn"),
    make_fact("ruvay", CAPITAL, "brack"),
    make_fact("ruvay", BORDER, "varn"),
]
ALL = tuple(fact.id for fact in FACTS)
SEED = SeedQuestion("s", "simple", "", "Which countries are in Orland?", "", "", (), (), (), "graph", ())


def run(*supported: str, **params: Any) -> Any:
    relations = (CAPITAL, AREA, BORDER)
    question = ExtendedQuestion("q", "s", "As it was?", relations, ("varn", "ostel", "ruvay"), ALL, ())
    verdicts = [
        ProofVerdict(
            f"p-{fact}", fact, "", Support.SUPPORTED if fact in supported else Support.NOT_ENOUGH, "model", ()
        )
        for fact in ALL
    ]
    return tables([question], [SEED], verdicts, FACTS, THINGS, RELATIONS, Tables(**params))


def without(*facts: str) -> tuple[str, ...]:
    return tuple(fact for fact in ALL if fact not in facts)


def test_what_is_supported_stands_in_the_table() -> None:
    (table,) = run(*ALL).rows
    assert (table.text, table.unsupported, table.rows_left_out) == ("As it was?", 0, ())
    assert [(row.entity, [cell.values for cell in row.cells]) for row in table.rows] == [
        ("varn", [("Skarholm",), (), ("Ostel", "Ruvay")]),
        ("ostel", [("Pell",), ("1,200",), ("Varn",)]),
        ("ruvay", [("Brack",), (), ("Varn",)]),
    ]
    assert table.rows[0].cells[2].facts == ("varn-P47-ostel", "varn-P47-ruvay")


def test_a_column_without_a_value_leaves_table_and_question() -> None:
    (table,) = run(*without("ostel-P2046-1200")).rows
    assert (table.relations, table.relations_left_out, table.unsupported) == ((CAPITAL, BORDER), (AREA,), 1)
    assert (
        table.text == "Which countries are in Orland and what are their capitals and neighbouring countries?"
    )
    (table,) = run(*ALL, cells_filled=1).rows
    assert table.relations_left_out == (AREA,)


def test_a_row_without_a_value_leaves_and_may_drop_the_question() -> None:
    left = without("ruvay-P36-brack", "ruvay-P47-varn")
    (table,) = run(*left).rows
    assert ([row.entity for row in table.rows], table.rows_left_out) == (["varn", "ostel"], ("ruvay",))
    dropped = run(*left, rows_kept=1).dropped
    assert [(drop.id, drop.reason) for drop in dropped] == [("q", "rows_missing")]


def test_a_cell_keeps_what_is_supported_unless_it_must_be_whole() -> None:
    left = without("varn-P47-ruvay")
    assert run(*left).rows[0].rows[0].cells[2].values == ("Ostel",)
    assert run(*left, whole_cells=True).rows[0].rows[0].cells[2].values == ()


def test_of_several_amounts_of_one_thing_one_is_kept_in_a_whole_cell() -> None:
    facts = [make_fact("varn", AREA, amount) for amount in ("100", "102", "140")]
    facts += [make_fact("ostel", AREA, "1200")]
    question = ExtendedQuestion(
        "q", "s", "As it was?", (AREA,), ("varn", "ostel"), tuple(fact.id for fact in facts), ()
    )
    verdicts = [
        ProofVerdict(f"p-{fact.id}", fact.id, "", Support.SUPPORTED, "model", ()) for fact in facts[1:]
    ]
    given = ([question], [SEED], verdicts, facts, THINGS, RELATIONS)
    (table,) = tables(*given, Tables(whole_cells=True)).rows
    assert [row.cells[0].values for row in table.rows] == [("102",), ("1,200",)]
    (table,) = tables(*given, Tables()).rows
    assert table.rows[0].cells[0].values == ("102", "140")


@pytest.mark.parametrize(
    ("supported", "params", "reason"),
    [
        ((), {}, "no_values"),
        (("varn-P36-skarholm",), {}, "few_rows"),
        (ALL, {"most_values": 1}, "many_values"),
    ],
)
def test_a_question_of_no_use_is_dropped_and_counted(
    supported: tuple[str, ...], params: dict[str, int], reason: str
) -> None:
    found = run(*supported, **params)
    assert found.rows == []
    assert Counter(drop.reason for drop in found.dropped) == {reason: 1}


def test_the_question_names_the_unit() -> None:
    things = {thing.id: thing for thing in THINGS}
    assert extend_text("Which isles?", RELATIONS[1:2], things) == (
        "Which isles and what is their area in square kilometres?"
    )
    assert extend_text("Name isles.", RELATIONS, things) == (
        "Name isles and what are their capitals, area in square kilometres and neighbouring countries?"
    )
