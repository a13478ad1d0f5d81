"""Collect all rows of a company, and plan the company's documents: sections with their facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks.artifacts.rows import Origin, make_id
from tasks.grammar.company.clients import CompanyClient
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.projects import CompanyProject
from tasks.grammar.company.settings import ReportSettings
from tasks.grammar.corpus.entities import ProfileFact
from tasks.grammar.corpus.sentence_rules import KnownFacts, KnownValues


@dataclass(frozen=True)
class CompanyData:
    """All rows of a company. Employees, clients and projects are sorted by number."""

    profile: CompanyProfile
    employees: Sequence[Employee]
    clients: Sequence[CompanyClient]
    projects: Sequence[CompanyProject]

    @property
    def departments(self) -> list[str]:
        """The departments that have employees, in the order of their first employee."""
        return list(dict.fromkeys(employee.department for employee in self.employees))

    def find_employee(self, number: int) -> Employee:
        """Return the employee with the given number. Raises StopIteration if there is no such employee."""
        return next(employee for employee in self.employees if employee.number == number)

    def find_client(self, number: int) -> CompanyClient:
        """Return the client with the given number. Raises StopIteration if there is no such client."""
        return next(client for client in self.clients if client.number == number)


def collect_company(
    profile: list[CompanyProfile],
    employees: list[Employee],
    clients: list[CompanyClient],
    projects: list[CompanyProject],
) -> CompanyData:
    """Collect a company's rows, sorted by number."""
    return CompanyData(
        profile[0],
        sorted(employees, key=lambda employee: employee.number),
        sorted(clients, key=lambda client: client.number),
        sorted(projects, key=lambda project: project.number),
    )


@dataclass(frozen=True)
class PlannedSection:
    """A paragraph of a document: a few facts about one project, client, employee or other entity."""

    kind: str
    """The kind of entity that the paragraph describes, such as project, client or employee."""
    name: str
    facts: tuple[ProfileFact, ...]


@dataclass(frozen=True)
class DocumentPlan:
    """A planned document. `sources` contains the rows that the document's facts come from."""

    id: str
    title: str
    sections: tuple[PlannedSection, ...]
    sources: tuple[Origin, ...]
    words: tuple[int, int] | None
    """The minimum and maximum number of words; None if there are no limits."""

    @property
    def facts(self) -> list[ProfileFact]:
        """The facts of all sections."""
        return [fact for section in self.sections for fact in section.facts]


def list_section_facts(plan: DocumentPlan, company: CompanyData, known: KnownValues) -> list[KnownFacts]:
    """Return, for each section, the facts and values for checking its sentences.

    `known` contains all names, places and titles of the company.
    """
    names = [(section.name, company.profile.name) for section in plan.sections]
    return [
        KnownFacts(section.kind, section_names, section.facts, known)
        for section, section_names in zip(plan.sections, names, strict=True)
    ]


def list_known_values(company: CompanyData) -> KnownValues:
    """Return all names, places and titles of a company, by kind."""
    profile, clients = company.profile, company.clients
    columns = {
        "employee": [employee.name for employee in company.employees],
        "job title": [employee.title for employee in company.employees],
        "department": company.departments,
        "client": [client.name for client in clients],
        "project": [project.name for project in company.projects],
        "service": profile.services,
        "industry": [profile.industry, *(client.industry for client in clients)],
        "city": [
            profile.city,
            *(client.city for client in clients),
            *(project.city for project in company.projects),
        ],
    }
    return KnownValues(columns)


def plan_documents(company: CompanyData, settings: ReportSettings) -> list[DocumentPlan]:
    """Plan a report on each project and, if configured, documents about the company and departments."""
    plans = [plan_report(company, project, settings) for project in company.projects]
    if settings.staff_pages:
        plans.append(plan_company(company))
        plans += [plan_department(company, department) for department in company.departments]
    return plans


def plan_report(company: CompanyData, project: CompanyProject, settings: ReportSettings) -> DocumentPlan:
    """Plan a project's report (appendix G.1, step 6)."""
    client = company.find_client(project.client)
    director, manager = company.find_employee(project.director), company.find_employee(project.manager)
    team = tuple(sorted(company.find_employee(member).name for member in project.members))
    name = project.name
    sections = [
        _plan_section(
            "project", name,
            ("client", client.name), ("service", project.service), ("city", project.city),
        ),
        _plan_section(
            "project", name,
            ("start date", project.start), ("end date", project.end), ("budget in eur", str(project.budget)),
        ),
        _plan_section(
            "project", name,
            ("director", director.name), ("manager", manager.name),
            *([("member", *team)] if team else []),
        ),
    ]  # fmt: skip
    if settings.employee_facts:
        sections += [
            _plan_section("employee", person.name, ("job title", person.title))
            for person in (director, manager)
        ]
    if settings.client_facts:
        sections.append(_plan_client(client))
    sources = [_make_origin("projects", project), _make_origin("clients", client)]
    sources += [_make_origin("employees", company.find_employee(number)) for number in _list_staff(project)]
    return DocumentPlan(
        make_id("report", project.id),
        f"Project report: {name}",
        tuple(sections),
        tuple(sources),
        settings.words,
    )


def plan_company(company: CompanyData) -> DocumentPlan:
    """Plan the document about the company."""
    profile = company.profile
    sections = (
        _plan_section(
            "company", profile.name,
            ("industry", profile.industry), ("headquarters city", profile.city),
            ("founding year", str(profile.founded)),
        ),
        _plan_section(
            "company", profile.name,
            ("chief executive", company.employees[0].name), ("employee count", str(len(company.employees))),
            ("service", *sorted(profile.services)),
        ),
    )  # fmt: skip
    origin = (Origin("row", f"profile#{profile.id}"),)
    return DocumentPlan(make_id("page", profile.id), profile.name, sections, origin, None)


def plan_department(company: CompanyData, department: str) -> DocumentPlan:
    """Plan the document about one department: its head and the facts about its employees."""
    staff = [employee for employee in company.employees if employee.department == department]
    head = next(employee for employee in staff if employee.leads)
    sections = [_plan_section("department", department, ("head", head.name))]
    sections += [_plan_employee(company, employee) for employee in staff]
    return DocumentPlan(
        make_id("page", company.profile.id, department),
        f"{department} department",
        tuple(sections),
        tuple(_make_origin("employees", employee) for employee in staff),
        None,
    )


def _plan_client(client: CompanyClient) -> PlannedSection:
    return _plan_section(
        "client", client.name,
        ("industry", client.industry), ("city", client.city), ("contract year", str(client.since)),
    )  # fmt: skip


def _plan_employee(company: CompanyData, employee: Employee) -> PlannedSection:
    attributes = [
        ("job title", employee.title),
        ("department", employee.department),
        ("hire date", employee.hired),
        ("phone extension", str(employee.extension)),
    ]
    if employee.supervisor is not None:
        attributes.append(("supervisor", company.find_employee(employee.supervisor).name))
    return _plan_section("employee", employee.name, *attributes)


def _plan_section(kind: str, name: str, *attributes: tuple[str, ...]) -> PlannedSection:
    """Plan a section from attributes; each attribute is a tuple (name, value, ...)."""
    facts = (
        ProfileFact(make_id("fact", kind, name, attribute), name, attribute, tuple(values))
        for attribute, *values in attributes
    )
    return PlannedSection(kind, name, tuple(facts))


def _list_staff(project: CompanyProject) -> Iterator[int]:
    yield from (project.director, project.manager, *project.members)


def _make_origin(artifact: str, row: CompanyProject | CompanyClient | Employee) -> Origin:
    return Origin("row", f"{artifact}#{row.id}")
