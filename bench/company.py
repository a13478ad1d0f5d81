"""Measure the share of a company's facts that its documents state, and sample twenty for a manual check.

`python -m bench.company NAME [FILE.csv]`, after `benchloom run grammar.company.reports`. The reviewer fills
in the columns `kept` and `why` of the file.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.settings import load_params, parse_section
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Dropped, make_id
from tasks.grammar.company.clients import CompanyClient
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.plans import collect_company, plan_documents
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.projects import CompanyProject
from tasks.grammar.company.settings import Company
from tasks.grammar.corpus.entities import ProfileFact
from tasks.grammar.corpus.machine_reading import names_fact
from tasks.systems.contract import Document

READ_BY_HAND = 20


@dataclass(frozen=True)
class FactCheck:
    """A fact of a document. outcome: `read`, or why it was not found. sentence: states the fact."""

    id: str
    document: str
    fact: ProfileFact
    outcome: str
    sentence: str


def main() -> None:
    """Print the share of facts per outcome; write the sample if a file is named."""
    if len(sys.argv) < 2:
        sys.exit("python -m bench.company NAME [FILE.csv]")
    name, *files = sys.argv[1:]
    checks = check_facts(
        Path("data/companies") / name, parse_section(load_params(Path()), f"companies.{name}", Company)
    )
    facts = {(check.fact.subject, check.fact.attribute) for check in checks}
    read = {(check.fact.subject, check.fact.attribute) for check in checks if check.outcome == "read"}
    print(
        f"{name}: {len(read)} of {len(facts)} facts are read from a document ({len(read) / len(facts):.3f})"
    )
    for outcome in sorted({check.outcome for check in checks}):
        print(f"  {outcome}: {sum(check.outcome == outcome for check in checks)} of {len(checks)} facts")
    for file in files:
        write_sample(Path(file), checks)


def check_facts(folder: Path, company: Company) -> list[FactCheck]:
    """List every fact that a document should state, with its outcome."""
    data = collect_company(
        read_rows(folder / "profile.parquet", CompanyProfile),
        read_rows(folder / "employees.parquet", Employee),
        read_rows(folder / "clients.parquet", CompanyClient),
        read_rows(folder / "projects.parquet", CompanyProject),
    )
    documents = {row.id: row for row in read_rows(folder / "documents.parquet", Document)}
    dropped = {row.id: row.reason for row in read_rows(folder / "documents.dropped.parquet", Dropped)}
    return [
        FactCheck(
            make_id("told", plan.id, fact.id),
            plan.title,
            fact,
            find_outcome(plan.id, fact, documents, dropped),
            find_sentence(documents[plan.id].text, fact) if plan.id in documents else "",
        )
        for plan in plan_documents(data, company.reports)
        for section in plan.sections
        for fact in section.facts
    ]


def find_outcome(
    plan: str, fact: ProfileFact, documents: Mapping[str, Document], dropped: Mapping[str, str]
) -> str:
    """Return a fact's outcome: `read`, or why not (document dropped, or not found by the reader)."""
    if plan not in documents:
        return f"document {dropped.get(plan, 'missing')}"
    return dropped.get(make_id("unread", plan, fact.id), "read")


def find_sentence(text: str, fact: ProfileFact) -> str:
    """Find the sentence that states a fact: it names every value, and most words of the attribute."""
    words = fact.attribute.split()
    sentences = [sentence for sentence in re.split(r"(?<=\.)\s+", text) if names_fact(sentence, fact)]
    return max(
        sentences,
        key=lambda sentence: (fact.subject in sentence, sum(word in sentence for word in words)),
        default="",
    )


def write_sample(path: Path, checks: Sequence[FactCheck]) -> None:
    """Write a sample of the facts, each with its sentence, as a CSV for a person to check."""
    chosen = sorted(checks, key=lambda check: make_id("reading", 0, check.id))[:READ_BY_HAND]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["id", "document", "subject", "attribute", "values", "outcome", "sentence", "kept", "why"]
        )
        for check in sorted(chosen, key=lambda check: check.id):
            fact = check.fact
            writer.writerow(
                [
                    check.id,
                    check.document,
                    fact.subject,
                    fact.attribute,
                    ", ".join(fact.values),
                    check.outcome,
                    check.sentence,
                    "",
                    "",
                ]
            )


if __name__ == "__main__":
    main()
