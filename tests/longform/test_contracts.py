"""The contract on items: their databases open, and every claim's query gives its rows."""

import json

import pytest

from tasks.longform.publish.contracts import find_false_claim

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
        (SCRIPT, [], "it has no claim"),
        (SCRIPT, [{**CLAIM, "rows": json.dumps([[2, 30.5]])}], "the database says [[1, 30.5]]"),
        (SCRIPT, [{**CLAIM, "sql": "SELECT yard FROM boats"}], "no such column"),
        (SCRIPT, [{**CLAIM, "sql": "DELETE FROM boats"}], "SELECT"),
        (SCRIPT, [{**CLAIM, "rows": "no JSON"}], "Expecting value"),
        (LOST, [CLAIM], "a row of boats refers to no row of yards"),
        ("CREATE TABL", [CLAIM], "syntax"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_said(script: str, claims: list[dict[str, str]], problem: str) -> None:
    assert problem in find_false_claim({"script": script, "claims": claims})
