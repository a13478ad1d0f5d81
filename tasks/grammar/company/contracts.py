"""Stage: hold the company's parts and documents to their contracts, before a database is made of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.artifacts.contracts import (
    Expectation,
    Record,
    RowRule,
    read_ids,
    read_records,
)
from tasks.artifacts.export import draft_folder
from tasks.artifacts.parquet import count_rows, read_sound_rows
from tasks.artifacts.rows import Counts, Dropped
from tasks.artifacts.statistics import name_beside
from tasks.grammar.company.plans import Plan, plan_documents
from tasks.grammar.company.reports import MISSING, name_unread
from tasks.grammar.company.rows import Client, Employee, Position, Profile, Project
from tasks.grammar.company.settings import Company, Reports
from tasks.grammar.company.whole import Fault, Whole, assemble, find_faults
from tasks.grammar.corpus.document_rules import (
    expect_lengths,
    expect_no_bracket,
    expect_readable,
    expect_told,
)
from tasks.reports.contract_stage import Rules, check_artifacts, expect_hash, settle
from tasks.systems.contract import Document

PARTS = ("profile", "employees", "clients", "projects")
ROWS: Mapping[str, type] = {
    "profile": Profile,
    "organisation": Position,
    "employees": Employee,
    "clients": Client,
    "projects": Project,
    "documents": Document,
}


def contracts(
    profile: Path,
    organisation: Path,
    employees: Path,
    clients: Path,
    projects: Path,
    documents: Path,
    entry: Company,
    out: Path,
) -> Counts:
    """Check what the steps made and what they dropped; write what was found.

    Raises ContractBroken, when all is written, with a line that names artifact, contract, count and ids.
    """
    paths = {path.stem: path for path in (profile, organisation, employees, clients, projects, documents)}
    with draft_folder(out) as folder:
        findings = check_artifacts(
            f"Contracts of the company {out.parent.name}",
            {path: ROWS[stem] for stem, path in paths.items()},
            lambda origins: declare(paths, entry, origins),
            folder,
        )
    return settle(findings, out)


def declare(paths: Mapping[str, Path], entry: Company, origins: RowRule) -> Rules:
    """Declare what must hold of each part by itself, of all of them together, and of what tells of them.

    Where cells are missing, that alone is named; documents are held to a company that is sound.
    """
    whole = read_whole(paths)
    faults = find_faults(whole) if whole else []
    own: dict[str, list[Expectation | RowRule]] = {stem: [expect_hash(), origins] for stem in paths}
    for part in PARTS:
        own[part].append(expect_fit(part, faults))
    own["organisation"].append(expect_held(paths["employees"]))
    if whole and not faults:
        plans = plan_documents(whole, entry.reports)
        own["profile"].append(expect_written(plans, paths["documents"]))
        own["documents"] += declare_documents(plans, paths["documents"], entry.reports)
    return {path: own[stem] for stem, path in paths.items()}


def read_whole(paths: Mapping[str, Path]) -> Whole | None:
    """Put the parts together; None where a part has a row with a cell missing, or there is no company."""
    parts: dict[str, list[Any]] = {stem: read_sound_rows(paths[stem], ROWS[stem]) for stem in PARTS}
    if any(len(rows) != count_rows(paths[stem]) for stem, rows in parts.items()) or not parts["profile"]:
        return None
    return assemble(*parts.values())


def expect_fit(part: str, faults: Sequence[Fault]) -> RowRule:
    """Expect a row to contradict nothing in the rest of the company."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for each in faults:
        if each.part == part:
            found[each.row].append(each.says)
    says = "It contradicts nothing in the rest of the company."
    return RowRule("fits", says, ("id",), lambda record: "; ".join(found.get(record["id"], ())))


def expect_held(employees: Path) -> RowRule:
    """Expect somebody in every position, or a dropped row that says why there is nobody."""
    held = {each["number"] for each in read_records(employees, ["number"])}
    dropped = read_ids(name_beside(employees, "dropped"))

    def check(record: Record) -> str:
        return "" if record["number"] in held or record["id"] in dropped else f"nobody is {record['title']}"

    return RowRule("held", "Somebody holds it, or it was dropped.", ("id", "number", "title"), check)


def expect_written(plans: Sequence[Plan], documents: Path) -> RowRule:
    """Expect every planned document in the corpus, or among the dropped, which say why it is not."""
    there = read_ids(documents) | read_ids(name_beside(documents, "dropped"))
    gone = [each.title for each in plans if each.id not in there]
    problem = f"{len(gone)} of its documents are nowhere: {gone[0]}" if gone else ""
    says = "Every document that it should have is in the corpus, or was dropped."
    return RowRule("documents_exist", says, ("id",), lambda _: problem)


def expect_planned(planned: Collection[str]) -> RowRule:
    """Expect a document to be one that the company should have."""
    says = "It is one of the documents that this company should have."
    return RowRule(
        "planned",
        says,
        ("id",),
        lambda record: "" if record["id"] in planned else "is none of this company's",
    )


def declare_documents(
    plans: Sequence[Plan], documents: Path, reports: Reports
) -> list[Expectation | RowRule]:
    """Declare what must hold of the documents: planned, of their length, telling their facts, readable."""
    facts = {plan.id: [fact for section in plan.sections for fact in section.facts] for plan in plans}
    dropped = {each.id: each.reason for each in read_sound_rows(name_beside(documents, "dropped"), Dropped)}
    left = {
        (plan.id, fact.id): dropped[row]
        for plan in plans
        for fact in facts[plan.id]
        if (row := name_unread(plan, fact)) in dropped
    }
    return [
        expect_planned(facts),
        expect_lengths({each.id: each.words for each in plans if each.words}),
        expect_no_bracket(),
        expect_told(facts, {each for each, reason in left.items() if reason == MISSING}),
        expect_readable(facts, left.keys(), reports.readable),
    ]
