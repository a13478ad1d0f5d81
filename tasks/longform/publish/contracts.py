"""Stage: check the artifacts of a question set against their contracts, and rerun every claim's query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tasks.artifacts.contracts import Expectation, Record, RowRule
from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts
from tasks.errors import BenchloomError
from tasks.longform.build.classify import QuestionKind
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.condense import CondensedQuestion
from tasks.longform.build.confirm import ConfirmedQuestion
from tasks.longform.build.conjecture import Conjecture
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.build.items_contracts import ITEM_CONTRACTS
from tasks.longform.build.statement import state_figures
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
    """Check the artifacts, their dropped rows and their calls, and write the findings.

    sources: the folder with the artifacts of each database. Raises ContractBroken after the findings are
    written, with a message that names the artifact, the contract, the number of rows and their ids.
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
    """Declare the contracts of each artifact. origins: the rule that checks the rows' origins."""
    written_questions = {row.id: row for row in read_rows(paths["control"], ControlledQuestion)}
    known = written_questions.keys()
    written = RowRule(
        "question_exists",
        "Each row has the id of a question in the artifact “control”.",
        ("id",),
        lambda record: "" if record["id"] in known else "control has no question with this id",
    )
    rules: dict[str, list[Expectation | RowRule]] = {stem: [expect_hash(), origins] for stem in paths}
    for stem in paths:
        if stem != "control":
            rules[stem].append(written)
    rules["items"] += [
        *ITEM_CONTRACTS,
        RowRule(
            "answer_borne_out",
            "Every claim states the result of its query. The reference answer contains no number, "
            "group, order or conclusion that these results do not support.",
            ("id", "script", "claims", "reference"),
            lambda record: find_unborne(record, written_questions.get(record["id"])),
        ),
    ]
    return {path: rules[stem] for stem, path in paths.items()}


def find_unborne(record: Record, question: ControlledQuestion | None) -> str | None:
    """Describe the first claim or part of the reference answer that the item's database contradicts.

    Returns an empty string if there is no contradiction. Returns None if the check is not possible, because
    the question is missing or the figures cannot be computed. Another contract reports a missing question.
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
            f"{wrong[:80]}: the rows do not support this claim"
            if wrong
            else f"the item has {len(there)} of {len(due)} claims"
        )
    try:
        stated.check(record["reference"])
    except Unparsed as problem:
        return f"the database does not support the reference answer: {problem}"
    return ""
