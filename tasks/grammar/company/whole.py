"""The company in one piece, and the rules that hold across its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tasks.grammar.company.rows import Client, Employee, Profile, Project
from tasks.grammar.company.schema import SCHEMA

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


def find_faults(whole: Whole) -> list[str]:
    """Say what no engine's constraint can: each fault in a line, nothing where the company is sound."""
    return [*_check_names(whole), *_check_people(whole), *_check_projects(whole)]


def _check_names(whole: Whole) -> Iterator[str]:
    kinds = {
        "employees": [each.name for each in whole.employees],
        "companies": [whole.profile.name, *(each.name for each in whole.clients)],
        "projects": [each.name for each in whole.projects],
        "departments": whole.departments,
        "services": whole.profile.services,
    }
    for kind, names in kinds.items():
        for name, count in Counter(name.casefold() for name in names).items():
            if count > 1:
                yield f"{count} {kind} are called {name!r}"


def _check_people(whole: Whole) -> Iterator[str]:
    numbers = {each.number: each for each in whole.employees}
    if len(numbers) < len(whole.employees):
        yield "two employees have one number"
    tops = [each.name for each in whole.employees if each.supervisor is None]
    if len(tops) != 1:
        yield f"{len(tops)} employees have no supervisor"
    for each in whole.employees:
        if each.supervisor is None:
            continue
        above = numbers.get(each.supervisor)
        if above is None:
            yield f"{each.name}'s supervisor does not exist"
        elif above.number >= each.number:
            yield f"{each.name} is led by somebody below them"
        elif not each.leads and above.department != each.department:
            yield f"{each.name} is led from another department"
    for department in whole.departments:
        heads = sum(each.leads for each in whole.employees if each.department == department)
        if heads != 1:
            yield f"{department} has {heads} heads"


def _check_projects(whole: Whole) -> Iterator[str]:
    staff = {each.number: each for each in whole.employees}
    clients = {each.number: each for each in whole.clients}
    for each in whole.projects:
        team = [each.director, each.manager, *each.members]
        if len(set(team)) < len(team):
            yield f"{each.name} has somebody twice"
        if any(number not in staff for number in team):
            yield f"{each.name} has staff that do not exist"
        elif any(staff[number].hired > each.start for number in team):
            yield f"{each.name} has staff hired after its start"
        if each.client not in clients:
            yield f"{each.name}'s client does not exist"
        elif str(clients[each.client].since) > each.start[:4]:
            yield f"{each.name} is older than its client's first year"
        if each.service not in whole.profile.services:
            yield f"{each.name}'s service is not offered"
        if each.start >= each.end:
            yield f"{each.name} ends before it starts"
        if each.budget <= 0:
            yield f"{each.name}'s budget is not positive"


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
