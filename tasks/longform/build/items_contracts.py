"""Define the contracts of items: valid texts and kinds, and claims whose queries return the recorded rows."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from pathlib import Path

from tasks.artifacts.contracts import Record, RowRule, expect_match
from tasks.databases.execution import SafeDatabase
from tasks.databases.scratch.scratch import write_database
from tasks.errors import BenchloomError
from tasks.longform.labels import KINDS

WORD = r"\w"


def find_false_claim(record: Record) -> str:
    """Describe why an item's claims are not valid; empty if they are valid.

    Claims are not valid if there are none, if the database has an error, or if a query does not return the
    rows of its claim.
    """
    if not record["claims"]:
        return "the item has no claims"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "synthetic.sqlite"
        try:
            write_database(record["script"], path)
            if broken := _find_broken_key(path):
                return broken
            with SafeDatabase(path) as database:
                for claim in record["claims"]:
                    now = [list(row) for row in database.query(claim["sql"]).rows]
                    if now != json.loads(claim["rows"]):
                        return f"{claim['text'][:80]}: the claim's query returns {now}"
        except (BenchloomError, ValueError) as error:
            return " ".join(str(error).split())
    return ""


def _find_broken_key(path: Path) -> str:
    # `write_database` does not check foreign keys, and `SafeDatabase` runs no PRAGMA.
    connection = sqlite3.connect(path)
    try:
        found = connection.execute("PRAGMA foreign_key_check").fetchone()
    finally:
        connection.close()
    return f"a row of {found[0]} refers to a missing row of {found[2]}" if found else ""


ITEM_CONTRACTS = (
    expect_match("question_asked", "The question contains at least one word.", "question", WORD),
    expect_match("reference_given", "The reference answer contains at least one word.", "reference", WORD),
    expect_match("kind", "The kind is conclusive or interpretive.", "kind", f"^({'|'.join(KINDS)})$"),
    RowRule(
        "claims_hold",
        "The database can be opened, its foreign keys are valid, and the query of every claim returns the "
        "claim's rows.",
        ("script", "claims"),
        find_false_claim,
    ),
)
