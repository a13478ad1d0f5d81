"""Stage: hold a closed variant to its contracts: its names, and the documents told under them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tasks.artifacts.contracts import Record, RowRule
from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import read_sound_rows
from tasks.artifacts.rows import Counts
from tasks.grammar.closed.closed_entry import Renaming
from tasks.grammar.closed.rewriting import make_finder, rewrite
from tasks.reports.contract_stage import Rules, check_artifacts, expect_hash, settle
from tasks.systems.contract import Document


def closed_contracts(closed_names: Path, documents: Path, out: Path) -> Counts:
    """Check the new names and the documents that are told under them; write what was found.

    Raises ContractBroken, when all is written, with a line that names artifact, contract, count and ids.
    """
    with draft_folder(out) as folder:
        findings = check_artifacts(
            f"Contracts of the closed variant {out.parent.name}",
            {closed_names: Renaming, documents: Document},
            lambda origins: declare(closed_names, documents, origins),
            folder,
        )
    return settle(findings, out)


def declare(closed_names: Path, documents: Path, origins: RowRule) -> Rules:
    """Declare that names are new, one for each, and that no document says an old one."""
    renamings = read_sound_rows(closed_names, Renaming)
    return {
        closed_names: [expect_hash(), expect_new(renamings), expect_one_each(renamings), origins],
        documents: [expect_closed(renamings), origins],
    }


def expect_new(renamings: Sequence[Renaming]) -> RowRule:
    """Expect a successor to be, and to hold, no name of the database."""
    find = make_finder(each.old for each in renamings)

    def check(record: Record) -> str:
        found = find(record["new"])
        return f"{record['new']} holds {found}, a name of the database" if found else ""

    return RowRule("new_name", "Its successor neither is nor holds a name of the database.", ("new",), check)


def expect_one_each(renamings: Sequence[Renaming]) -> RowRule:
    """Expect one successor for a name, and one name for a successor, in any case."""
    forth: defaultdict[str, set[str]] = defaultdict(set)
    back: defaultdict[str, set[str]] = defaultdict(set)
    for each in renamings:
        forth[each.old].add(each.new)
        back[each.new.casefold()].add(each.old)

    def check(record: Record) -> str:
        pairs = (record["old"], forth[record["old"]]), (record["new"], back[record["new"].casefold()])
        for told, others in pairs:
            if len(others) > 1:
                return f"{told} goes with {', '.join(sorted(others))}"
        return ""

    says = "A name has one successor wherever it stands, and no other has the same."
    return RowRule("one_successor", says, ("old", "new"), check)


def expect_closed(renamings: Sequence[Renaming]) -> RowRule:
    """Expect no old name in a document's title or text; a successor is none, whatever it holds."""
    find = make_finder(each.old for each in renamings)
    gone = {each.new: " " for each in renamings}

    def check(record: Record) -> str:
        found = find(rewrite(f"{record['title']}\n{record['text']}", gone))
        return f"still says {found}" if found else ""

    return RowRule("closed", "It says no name of the database.", ("title", "text"), check)
