"""Stage: hold a question set's artifacts to their contracts; every claim's query is run again."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tasks.artifacts.contracts import Expectation, Record, RowRule, expect_match
from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts
from tasks.databases.execution import SafeDatabase
from tasks.databases.scratch import write_database
from tasks.errors import BenchloomError
from tasks.longform.build.statement import state_figures
from tasks.longform.rows import (
    KINDS,
    Conclusion,
    CondensedQuestion,
    ConfirmedQuestion,
    Conjecture,
    ControlledQuestion,
    LongformItem,
    QuestionKind,
    SyntheticDatabase,
)
from tasks.models.ask import Unparsed
from tasks.reports.contract_stage import Rules, check_artifacts, expect_hash, require_contracts

ROWS: Mapping[str, type] = {
    "control": ControlledQuestion,
    "condense": CondensedQuestion,
    "confirm": ConfirmedQuestion,
    "conjecture": Conjecture,
    "construct": SyntheticDatabase,
    "conclude": Conclusion,
    "classify": QuestionKind,
    "items": LongformItem,
}


WORD = r"\w"


def contracts(
    control: Path,
    condense: Path,
    confirm: Path,
    conjecture: Path,
    construct: Path,
    conclude: Path,
    classify: Path,
    items: Path,
    sources: Path,
    out: Path,
) -> Counts:
    """Check the artifacts with their dropped rows and calls, and write the findings.

    sources: the folder with the artifacts of each database. Raises ContractBroken after writing, with one
    line that names artifact, contract, count and ids.
    """
    made = (control, condense, confirm, conjecture, construct, conclude, classify, items)
    paths = {path.stem: path for path in made}
    with draft_folder(out) as folder:
        findings = check_artifacts(
            f"Contracts of the question set {out.parent.name}",
            {path: ROWS[stem] for stem, path in paths.items()},
            lambda origins: declare(paths, origins),
            folder,
            sources=sorted(sources.glob("*/foci.parquet")),
        )
    return require_contracts(findings, out)


def declare(paths: Mapping[str, Path], origins: RowRule) -> Rules:
    """Declare the rules of each artifact."""
    written_questions = {row.id: row for row in read_rows(paths["control"], ControlledQuestion)}
    known = written_questions.keys()
    written = RowRule(
        "question_exists",
        "Its question is one that was written.",
        ("id",),
        lambda record: "" if record["id"] in known else "no question of that id was written",
    )
    rules: dict[str, list[Expectation | RowRule]] = {stem: [expect_hash(), origins] for stem in paths}
    for stem in paths:
        if stem != "control":
            rules[stem].append(written)
    kind = "^(" + "|".join(KINDS) + ")$"
    rules["items"] += [
        expect_match("question_asked", "Its question has words.", "question", WORD),
        expect_match("reference_given", "Its reference answer has words.", "reference", WORD),
        expect_match("kind", "It is conclusive or interpretive.", "kind", kind),
        RowRule(
            "claims_hold",
            "Its database opens, all its keys hold, and the query of every claim gives the claim's rows.",
            ("script", "claims"),
            find_false_claim,
        ),
        RowRule(
            "answer_borne_out",
            "Every claim says in words what its query finds, and the reference answer says no other number, "
            "group, order or conclusion.",
            ("id", "script", "claims", "reference"),
            lambda record: find_unborne(record, written_questions.get(record["id"])),
        ),
    ]
    return {path: rules[stem] for stem, path in paths.items()}


def find_false_claim(record: Record) -> str:
    """Say which claim of an item its database does not bear out, or what is wrong with the database."""
    if not record["claims"]:
        return "it has no claim"
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
                        return f"{claim['text'][:80]}: the database says {now}"
        except (BenchloomError, ValueError) as error:
            return " ".join(str(error).split())
    return ""


def find_unborne(record: Record, question: ControlledQuestion | None) -> str | None:
    """Say which claim, or what in the reference answer, is not what the item's database says.

    None without the question, which is another rule's, or where the database does not even open.
    """
    if question is None:
        return None
    try:
        stated = state_figures(record["script"], question)
    except BenchloomError:
        return None
    there = [claim["text"] for claim in record["claims"]]
    if there != (due := [claim.text for claim in stated.claims]):
        wrong = next((text for text in there if text not in due), "")
        return (
            f"{wrong[:80]}: the rows do not say so" if wrong else f"it has {len(there)} claims of {len(due)}"
        )
    try:
        stated.check(record["reference"])
    except Unparsed as problem:
        return f"its reference is not borne out: {problem}"
    return ""


def _find_broken_key(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute("PRAGMA foreign_key_check").fetchone()
    finally:
        connection.close()
    return f"a row of {found[0]} refers to no row of {found[2]}" if found else ""
