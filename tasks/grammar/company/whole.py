"""The company in one piece, and the rules that hold across its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tasks.grammar.company.rows import Client, Employee, Profile, Project
from tasks.grammar.company.tables import SCHEMA

Cell = str | int | date | None


@dataclass(frozen=True)
class Whole:
    """Everything that is known of a company, each part sorted by number."""

    profile: Profile
    employees: Sequence[Employee]
    clients: Sequence[Client]
    projects: Sequence[Project]

    @property
    def departments(self) -> list[str]:
        """List the departments that have anybody, in order."""
        return list(dict.fromkeys(each.department for each in self.employees))

    def person(self, number: int) -> Employee:
        """Find an employee. Raises StopIteration where there is none."""
        return next(each for each in self.employees if each.number == number)

    def client(self, number: int) -> Client:
        """Find a client. Raises StopIteration where there is none."""
        return next(each for each in self.clients if each.number == number)


def assemble(
    profile: list[Profile], employees: list[Employee], clients: list[Client], projects: list[Project]
) -> Whole:
    """Put the parts together, in the order of their numbers."""
    return Whole(
        profile[0],
        sorted(employees, key=lambda each: each.number),
        sorted(clients, key=lambda each: each.number),
        sorted(projects, key=lambda each: each.number),
    )


@dataclass(frozen=True)
class Fault:
    """What is wrong with one row of one part. part: the artifact's name, `employees`."""

    part: str
    row: str
    says: str


def find_faults(whole: Whole) -> list[Fault]:
    """Find what no engine's constraint can; nothing where the company is sound."""
    return [*_check_names(whole), *_check_people(whole), *_check_projects(whole)]


def _check_names(whole: Whole) -> Iterator[Fault]:
    own = whole.profile
    named = [
        (
            "company",
            [
                ("profile", own.id, own.name),
                *(("clients", each.id, each.name) for each in whole.clients),
            ],
        ),
        ("employee", [("employees", each.id, each.name) for each in whole.employees]),
        ("project", [("projects", each.id, each.name) for each in whole.projects]),
        ("department", [("employees", each.id, each.department) for each in whole.employees if each.leads]),
        ("service", [("profile", own.id, each) for each in own.services]),
    ]
    for kind, rows in named:
        counts = Counter(name.casefold() for _, _, name in rows)
        for part, row, name in rows:
            if counts[name.casefold()] > 1:
                yield Fault(part, row, f"{name!r} is the name of more than one {kind}")


def _check_people(whole: Whole) -> Iterator[Fault]:
    numbers = {each.number: each for each in whole.employees}
    counts = Counter(each.number for each in whole.employees)
    tops = [each for each in whole.employees if each.supervisor is None]
    heads = Counter(each.department for each in whole.employees if each.leads)
    for each in whole.employees:
        if counts[each.number] > 1:
            yield Fault("employees", each.id, f"{each.name} shares number {each.number}")
        if len(tops) != 1 and (not tops or each in tops):
            yield Fault("employees", each.id, f"{len(tops)} employees have no supervisor")
        if heads[each.department] != 1:
            yield Fault("employees", each.id, f"{each.department} has {heads[each.department]} heads")
        if each.supervisor is not None and (wrong := _check_supervisor(each, numbers.get(each.supervisor))):
            yield Fault("employees", each.id, f"{each.name} {wrong}")


def _check_supervisor(employee: Employee, above: Employee | None) -> str:
    if above is None:
        return "has a supervisor who does not exist"
    if above.number >= employee.number:
        return "is led by somebody below them"
    if not employee.leads and above.department != employee.department:
        return "is led from another department"
    return ""


def _check_projects(whole: Whole) -> Iterator[Fault]:
    staff = {each.number: each for each in whole.employees}
    clients = {each.number: each for each in whole.clients}
    for each in whole.projects:
        for wrong in _check_project(each, staff, clients, whole.profile.services):
            yield Fault("projects", each.id, f"{each.name} {wrong}")


def _check_project(
    project: Project, staff: Mapping[int, Employee], clients: Mapping[int, Client], services: Sequence[str]
) -> Iterator[str]:
    team = [project.director, project.manager, *project.members]
    if len(set(team)) < len(team):
        yield "has somebody twice"
    if any(number not in staff for number in team):
        yield "has staff that do not exist"
    elif any(staff[number].hired > project.start for number in team):
        yield "has staff hired after its start"
    if project.client not in clients:
        yield "has a client that does not exist"
    elif str(clients[project.client].since) > project.start[:4]:
        yield "is older than its client's first year"
    if project.service not in services:
        yield "is of a service that is not offered"
    if project.start >= project.end:
        yield "ends before it starts"
    if project.budget <= 0:
        yield "has a budget that is not positive"


def tabulate(whole: Whole) -> dict[str, list[dict[str, Cell]]]:
    """Lay the company out as rows of its tables, tables in an order that foreign keys allow.

    An employee stands after their supervisor.
    """
    departments = {name: number for number, name in enumerate(whole.departments, start=1)}
    services = {name: number for number, name in enumerate(whole.profile.services, start=1)}
    tables: Mapping[str, list[dict[str, Cell]]] = {
        "departments": [
            {"department_id": number, "department_name": name} for name, number in departments.items()
        ],
        "employees": [
            {
                "employee_id": each.number,
                "full_name": each.name,
                "job_title": each.title,
                "hire_date": date.fromisoformat(each.hired),
                "phone_extension": each.extension,
                "department_id": departments[each.department],
                "supervisor_id": each.supervisor,
            }
            for each in whole.employees
        ],
        "department_heads": [
            {"department_id": departments[each.department], "employee_id": each.number}
            for each in whole.employees
            if each.leads
        ],
        "company": [
            {
                "company_id": 1,
                "company_name": whole.profile.name,
                "industry": whole.profile.industry,
                "headquarters_city": whole.profile.city,
                "founding_year": whole.profile.founded,
                "employee_count": len(whole.employees),
                "chief_executive_id": whole.employees[0].number,
            }
        ],
        "services": [{"service_id": number, "service_name": name} for name, number in services.items()],
        "clients": [
            {
                "client_id": each.number,
                "client_name": each.name,
                "industry": each.industry,
                "city": each.city,
                "contract_year": each.since,
            }
            for each in whole.clients
        ],
        "projects": [
            {
                "project_id": each.number,
                "project_name": each.name,
                "city": each.city,
                "start_date": date.fromisoformat(each.start),
                "end_date": date.fromisoformat(each.end),
                "budget_eur": each.budget,
                "service_id": services[each.service],
                "client_id": each.client,
                "director_id": each.director,
                "manager_id": each.manager,
            }
            for each in whole.projects
        ],
        "project_members": [
            {"project_id": each.number, "employee_id": member}
            for each in whole.projects
            for member in each.members
        ],
    }
    return {table.name: tables[table.name] for table in SCHEMA.sorted_tables}
