"""Tests of the contract on items: databases can be opened, and every claim's query returns its rows."""

import json
import re
from pathlib import Path

import pytest

from tasks.artifacts.contracts import Expectation, RowRule
from tasks.artifacts.parquet import write_rows
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items_contracts import find_false_claim
from tasks.longform.publish.contracts import ROWS, declare

SCRIPT = """CREATE TABLE yards (yard_id INTEGER PRIMARY KEY) STRICT;
CREATE TABLE boats (
  boat_id INTEGER PRIMARY KEY, yard_id INTEGER REFERENCES yards (yard_id), feet REAL
) STRICT;
INSERT INTO yards VALUES (1);
INSERT INTO boats VALUES (1, 1, 30.5);
"""
CLAIM = {
    "text": "One boat of 30.5 feet.",
    "sql": "SELECT COUNT(*), AVG(feet) FROM boats",
    "rows": "[[1, 30.5]]",
}

LOST = SCRIPT + "INSERT INTO boats VALUES (2, 9, 1.0);\n"


def test_a_claim_that_its_database_bears_out_holds() -> None:
    assert find_false_claim({"script": SCRIPT, "claims": [CLAIM]}) == ""


@pytest.mark.parametrize(
    ("script", "claims", "problem"),
    [
        (SCRIPT, [], "the item has no claims"),
        (SCRIPT, [{**CLAIM, "rows": json.dumps([[2, 30.5]])}], "the claim's query returns [[1, 30.5]]"),
        (SCRIPT, [{**CLAIM, "sql": "SELECT yard FROM boats"}], "no such column"),
        (SCRIPT, [{**CLAIM, "sql": "DELETE FROM boats"}], "SELECT"),
        (SCRIPT, [{**CLAIM, "rows": "no JSON"}], "Expecting value"),
        (LOST, [CLAIM], "a row of boats refers to a missing row of yards"),
        ("CREATE TABL", [CLAIM], "syntax"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_said(script: str, claims: list[dict[str, str]], problem: str) -> None:
    assert problem in find_false_claim({"script": script, "claims": claims})


def test_an_item_is_held_to_a_question_and_a_reference_with_words(tmp_path: Path) -> None:
    paths = {stem: tmp_path / f"{stem}.parquet" for stem in ROWS}
    write_rows(paths["control"], ControlledQuestion, [])
    rules = declare(paths, RowRule("origins", "Its origins are there.", ("id",), lambda record: ""))
    patterns = {
        rule.options["column"]: rule.options["regex"]
        for rule in rules[paths["items"]]
        if isinstance(rule, Expectation) and "regex" in rule.options
    }
    for column in ("question", "reference"):
        assert re.search(patterns[column], "Which yard builds the longest boats?")
        assert not re.search(patterns[column], "")
        assert not re.search(patterns[column], " ?")
