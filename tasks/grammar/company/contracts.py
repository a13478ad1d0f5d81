"""Stage: check a company's artifacts and documents against their contracts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from tasks.artifacts.parquet import count_rows, read_valid_rows
from tasks.artifacts.rows import Counts, Dropped
from tasks.artifacts.statistics import name_beside
from tasks.grammar.company.clients import CompanyClient
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.organisation import Position
from tasks.grammar.company.plans import (
    CompanyData,
    DocumentPlan,
    collect_company,
    list_known_values,
    list_section_facts,
    plan_documents,
)
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.projects import CompanyProject, list_directors
from tasks.grammar.company.reports import MISSING, make_unread_id
from tasks.grammar.company.roles import check_title
from tasks.grammar.company.settings import Company, ReportSettings
from tasks.grammar.corpus.checked_sentences import require_words
from tasks.grammar.corpus.document_rules import (
    KnownFactsById,
    expect_facts_named,
    expect_lengths,
    expect_no_bracket,
    expect_readable,
    expect_sentences,
)
from tasks.reports.contract_stage import Rules, check_artifacts, expect_hash, require_contracts
from tasks.systems.contract import Document

PARTS = ("profile", "employees", "clients", "projects")
"""The artifacts that are checked for consistency."""
ROWS: Mapping[str, type] = {
    "profile": CompanyProfile,
    "organisation": Position,
    "employees": Employee,
    "clients": CompanyClient,
    "projects": CompanyProject,
    "documents": Document,
}
"""The row type of each artifact."""


@dataclass(frozen=True)
class Inconsistency:
    """A row that contradicts other rows. `part` is the name of the row's artifact, such as `employees`."""

    part: str
    row: str
    problem: str


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
    """Check the artifacts and their dropped rows, and write the results.

    Raises ContractBroken after writing, with a message that states the artifact, the contract, and the number
    and ids of the violations.
    """
    paths = {path.stem: path for path in (profile, organisation, employees, clients, projects, documents)}
    with draft_folder(out) as folder:
        findings = check_artifacts(
            f"Contracts of the company {out.parent.name}",
            {path: ROWS[stem] for stem, path in paths.items()},
            lambda origins: declare(paths, entry, origins),
            folder,
        )
    return require_contracts(findings, out)


def declare(paths: Mapping[str, Path], entry: Company, origins: RowRule) -> Rules:
    """Return the rules for each artifact, the whole company, and the documents.

    Rules that compare artifacts apply only if no cell is missing. Rules for documents apply only if the
    company is consistent.
    """
    company = read_company(paths)
    inconsistencies = find_inconsistencies(company) if company else []
    rules: dict[str, list[Expectation | RowRule]] = {stem: [expect_hash(), origins] for stem in paths}
    for part in PARTS:
        rules[part].append(expect_consistent(part, inconsistencies))
    rules["organisation"].append(expect_filled(paths["employees"]))
    if company and not inconsistencies:
        plans = plan_documents(company, entry.reports)
        rules["profile"].append(expect_written(plans, paths["documents"]))
        known = list_known_values(company)
        known_facts = {plan.id: list_section_facts(plan, company, known) for plan in plans}
        rules["documents"] += declare_documents(plans, known_facts, paths["documents"], entry.reports)
    return {path: rules[stem] for stem, path in paths.items()}


def read_company(paths: Mapping[str, Path]) -> CompanyData | None:
    """Read a company's rows. Returns None if a row lacks a cell, or there is no profile."""
    parts: dict[str, list[Any]] = {stem: read_valid_rows(paths[stem], ROWS[stem]) for stem in PARTS}
    if any(len(rows) != count_rows(paths[stem]) for stem, rows in parts.items()) or not parts["profile"]:
        return None
    return collect_company(*parts.values())


def expect_consistent(part: str, inconsistencies: Sequence[Inconsistency]) -> RowRule:
    """Expect that a row is consistent with the company's other rows."""
    problems: defaultdict[str, list[str]] = defaultdict(list)
    for inconsistency in inconsistencies:
        if inconsistency.part == part:
            problems[inconsistency.row].append(inconsistency.problem)
    says = "The row is consistent with the rest of the company."
    return RowRule("fits", says, ("id",), lambda record: "; ".join(problems.get(record["id"], ())))


def expect_filled(employees: Path) -> RowRule:
    """Expect that every position has an employee or a dropped row."""
    held = {record["number"] for record in read_records(employees, ["number"])}
    dropped = read_ids(name_beside(employees, "dropped"))

    def check(record: Record) -> str:
        return (
            ""
            if record["number"] in held or record["id"] in dropped
            else f"no employee has the title {record['title']}"
        )

    return RowRule(
        "held",
        "An employee has the position, or the position is dropped.",
        ("id", "number", "title"),
        check,
    )


def expect_written(plans: Sequence[DocumentPlan], documents: Path) -> RowRule:
    """Expect every planned document to be in the corpus or among the dropped rows."""
    known = read_ids(documents) | read_ids(name_beside(documents, "dropped"))
    missing = [plan.title for plan in plans if plan.id not in known]
    problem = f"{len(missing)} planned documents are missing: {missing[0]}" if missing else ""
    says = "Every planned document of the company is in the corpus, or is dropped."
    return RowRule("documents_exist", says, ("id",), lambda _: problem)


def expect_planned(planned: Collection[str]) -> RowRule:
    """Expect that each document is one of the planned documents."""
    says = "The document is one of the company's planned documents."
    return RowRule(
        "planned",
        says,
        ("id",),
        lambda record: "" if record["id"] in planned else "is not a planned document of this company",
    )


def declare_documents(
    plans: Sequence[DocumentPlan], known_facts: KnownFactsById, documents: Path, settings: ReportSettings
) -> list[Expectation | RowRule]:
    """Return the rules for documents: each is planned, readable, of valid length, and supported by facts."""
    facts = {plan.id: plan.facts for plan in plans}
    left_out = read_valid_rows(name_beside(documents, "dropped"), Dropped)
    dropped = {row.id: row.reason for row in left_out}
    unread = {
        (plan.id, fact.id): dropped[row]
        for plan in plans
        for fact in facts[plan.id]
        if (row := make_unread_id(plan, fact)) in dropped
    }
    texts = list(read_records(documents, ["id", "sentences"]))
    return [
        expect_planned(facts),
        expect_lengths({plan.id: require_words(len(plan.facts), plan.words) for plan in plans if plan.words}),
        expect_no_bracket(),
        *expect_sentences(texts, left_out, known_facts),
        expect_facts_named(facts, {pair for pair, reason in unread.items() if reason == MISSING}),
        expect_readable(texts, facts, unread.keys(), settings.readable),
    ]


def find_inconsistencies(company: CompanyData) -> list[Inconsistency]:
    """List the inconsistencies that database constraints cannot express."""
    return [*_check_names(company), *_check_employees(company), *_check_projects(company)]


def _check_names(company: CompanyData) -> Iterator[Inconsistency]:
    """Yield an inconsistency for each entity that shares a name with another of its kind, ignoring case."""
    profile = company.profile
    firms = [("profile", profile.id, profile.name)]
    firms += [("clients", client.id, client.name) for client in company.clients]
    heads = [employee for employee in company.employees if employee.leads]
    names = {
        "company": firms,
        "employee": [("employees", employee.id, employee.name) for employee in company.employees],
        "project": [("projects", project.id, project.name) for project in company.projects],
        "department": [("employees", head.id, head.department) for head in heads],
        "service": [("profile", profile.id, service) for service in profile.services],
    }
    for kind, rows in names.items():
        counts = Counter(name.casefold() for _, _, name in rows)
        for part, row, name in rows:
            if counts[name.casefold()] > 1:
                yield Inconsistency(part, row, f"{name!r} is the name of more than one {kind}")


def _check_employees(company: CompanyData) -> Iterator[Inconsistency]:
    numbers = {employee.number: employee for employee in company.employees}
    counts = Counter(employee.number for employee in company.employees)
    without_supervisor = [employee for employee in company.employees if employee.supervisor is None]
    heads = Counter(employee.department for employee in company.employees if employee.leads)
    for employee in company.employees:
        if counts[employee.number] > 1:
            yield Inconsistency(
                "employees",
                employee.id,
                f"{employee.name} shares the number {employee.number} with another employee",
            )
        if len(without_supervisor) != 1 and (not without_supervisor or employee in without_supervisor):
            yield Inconsistency(
                "employees", employee.id, f"{len(without_supervisor)} employees have no supervisor"
            )
        if employee.number != 1 and (
            wrong := check_title(employee.title, employee.department, employee.leads)
        ):
            yield Inconsistency("employees", employee.id, wrong.partition(": ")[2])
        if heads[employee.department] != 1:
            yield Inconsistency(
                "employees",
                employee.id,
                f"{employee.department} has {heads[employee.department]} heads; expected 1",
            )
        if employee.supervisor is not None and (
            wrong := _check_supervisor(employee, numbers.get(employee.supervisor))
        ):
            yield Inconsistency("employees", employee.id, f"{employee.name} {wrong}")


def _check_supervisor(employee: Employee, above: Employee | None) -> str:
    if above is None:
        return "has a supervisor who does not exist"
    if above.number >= employee.number:
        return "has a supervisor who does not have a higher rank"
    if not employee.leads and above.department != employee.department:
        return "has a supervisor from another department"
    return ""


def _check_projects(company: CompanyData) -> Iterator[Inconsistency]:
    staff = {employee.number: employee for employee in company.employees}
    clients = {client.number: client for client in company.clients}
    overload = find_overload(project.director for project in company.projects)
    for project in company.projects:
        fitting = [employee.number for employee in list_directors(project.service, company.employees)]
        if project.director in staff and project.director not in fitting:
            name, department = staff[project.director].name, staff[project.director].department
            yield Inconsistency(
                "projects",
                project.id,
                f"{project.name} is directed by {name} of {department}, who may not direct projects of this "
                "service",
            )
        if project.director in overload and len(fitting) > 1:
            yield Inconsistency(
                "projects",
                project.id,
                f"{project.name} has a director who directs more than half of all projects",
            )
        for wrong in _check_project(project, staff, clients, company.profile.services):
            yield Inconsistency("projects", project.id, f"{project.name} {wrong}")


def _check_project(
    project: CompanyProject,
    staff: Mapping[int, Employee],
    clients: Mapping[int, CompanyClient],
    services: Sequence[str],
) -> Iterator[str]:
    team = [project.director, project.manager, *project.members]
    if len(set(team)) < len(team):
        yield "has the same employee twice in its team"
    if any(number not in staff for number in team):
        yield "has team members who are not employees"
    elif any(staff[number].hired > project.start for number in team):
        yield "has team members who were hired after its start"
    if project.client not in clients:
        yield "has a client that does not exist"
    elif str(clients[project.client].since) > project.start[:4]:
        yield "starts before its client's first year"
    if project.service not in services:
        yield "has a service that the company does not offer"
    if project.start >= project.end:
        yield "ends before it starts"
    if project.budget <= 0:
        yield "has a budget that is not positive"


def find_overload(directors: Iterable[int]) -> set[int]:
    """Return the employee numbers of directors with more than half (rounded up) of the projects.

    `directors` contains one employee number per project.
    """
    counts = Counter(directors)
    return {number for number, count in counts.items() if count > -(-counts.total() // 2)}
