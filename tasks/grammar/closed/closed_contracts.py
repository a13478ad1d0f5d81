"""Stage: check a closed-domain variant's names and documents against their contracts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tasks.artifacts.contracts import Record, RowRule
from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import read_valid_rows
from tasks.artifacts.rows import Counts
from tasks.grammar.closed.closed_entry import Renaming
from tasks.grammar.closed.rewriting import make_finder, rewrite
from tasks.reports.contract_stage import Rules, check_artifacts, expect_hash, require_contracts
from tasks.systems.contract import Document


def closed_contracts(closed_names: Path, documents: Path, out: Path) -> Counts:
    """Check the new names and the rewritten documents, and write the results.

    Raises ContractBroken after writing, with a message that states the artifact, the contract, and the number
    and ids of the violations.
    """
    with draft_folder(out) as folder:
        findings = check_artifacts(
            f"Contracts of the closed variant {out.parent.name}",
            {closed_names: Renaming, documents: Document},
            lambda origins: declare(closed_names, documents, origins),
            folder,
        )
    return require_contracts(findings, out)


def declare(closed_names: Path, documents: Path, origins: RowRule) -> Rules:
    """Return the rules: new names are new and unique, and no document contains an old name."""
    renamings = read_valid_rows(closed_names, Renaming)
    return {
        closed_names: [expect_hash(), expect_new(renamings), expect_one_each(renamings), origins],
        documents: [expect_closed(renamings), origins],
    }


def expect_new(renamings: Sequence[Renaming]) -> RowRule:
    """Expect that a new name neither equals nor contains a name in the database."""
    find = make_finder(renaming.old for renaming in renamings)

    def check(record: Record) -> str:
        found = find(record["new"])
        return f"{record['new']} contains {found}, which is a name in the database" if found else ""

    return RowRule(
        "new_name",
        "The new name is not equal to a name in the database and does not contain one.",
        ("new",),
        check,
    )


def expect_one_each(renamings: Sequence[Renaming]) -> RowRule:
    """Expect one new name per old name and one old name per new name, ignoring case."""
    new_names: defaultdict[str, set[str]] = defaultdict(set)
    old_names: defaultdict[str, set[str]] = defaultdict(set)
    for renaming in renamings:
        new_names[renaming.old].add(renaming.new)
        old_names[renaming.new.casefold()].add(renaming.old)

    def check(record: Record) -> str:
        pairs = (
            (record["old"], new_names[record["old"]]),
            (record["new"], old_names[record["new"].casefold()]),
        )
        for name, others in pairs:
            if len(others) > 1:
                return f"{name} is paired with {', '.join(sorted(others))}"
        return ""

    says = "Every old name has exactly one new name, and no two old names share a new name."
    return RowRule("one_successor", says, ("old", "new"), check)


def expect_closed(renamings: Sequence[Renaming]) -> RowRule:
    """Expect no old name in a document's title or text, except inside a new name."""
    find = make_finder(renaming.old for renaming in renamings)
    blanked = {renaming.new: " " for renaming in renamings}

    def check(record: Record) -> str:
        found = find(rewrite(f"{record['title']}\n{record['text']}", blanked))
        return f"still contains {found}" if found else ""

    return RowRule(
        "closed", "The title and the text do not contain a name from the database.", ("title", "text"), check
    )
