"""Check a company's rows for inconsistencies between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.grammar.company.clients import CompanyClient
from tasks.grammar.company.company_data import CompanyData
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.projects import Project, list_directors
from tasks.grammar.company.roles import check_title


@dataclass(frozen=True)
class Inconsistency:
    """What is wrong with one row. part: the stem of its artifact, such as `employees`."""

    part: str
    row: str
    problem: str


def find_inconsistencies(company: CompanyData) -> list[Inconsistency]:
    """List the inconsistencies that database constraints cannot express."""
    return [*_check_names(company), *_check_employees(company), *_check_projects(company)]


def _check_names(company: CompanyData) -> Iterator[Inconsistency]:
    """Find names that several things of one kind have, ignoring case."""
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
            yield Inconsistency("employees", employee.id, f"{employee.name} shares number {employee.number}")
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
                "employees", employee.id, f"{employee.department} has {heads[employee.department]} heads"
            )
        if employee.supervisor is not None and (
            wrong := _check_supervisor(employee, numbers.get(employee.supervisor))
        ):
            yield Inconsistency("employees", employee.id, f"{employee.name} {wrong}")


def _check_supervisor(employee: Employee, above: Employee | None) -> str:
    if above is None:
        return "has a supervisor who does not exist"
    if above.number >= employee.number:
        return "is led by somebody below them"
    if not employee.leads and above.department != employee.department:
        return "is led from another department"
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
                f"{project.name} is directed by {name} of {department}, who does not fit",
            )
        if project.director in overload and len(fitting) > 1:
            yield Inconsistency(
                "projects", project.id, f"{project.name} has a director who directs most projects"
            )
        for wrong in _check_project(project, staff, clients, company.profile.services):
            yield Inconsistency("projects", project.id, f"{project.name} {wrong}")


def _check_project(
    project: Project,
    staff: Mapping[int, Employee],
    clients: Mapping[int, CompanyClient],
    services: Sequence[str],
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


def find_overload(directors: Iterable[int]) -> set[int]:
    """Find who directs more than half of all projects, the odd one not counted. directors: one a project."""
    counts = Counter(directors)
    return {number for number, count in counts.items() if count > -(-counts.total() // 2)}
