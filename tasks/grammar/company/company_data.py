"""All rows of a company in one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.grammar.company.clients import CompanyClient
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.projects import Project


@dataclass(frozen=True)
class CompanyData:
    """All rows of a company, each kind sorted by number."""

    profile: CompanyProfile
    employees: Sequence[Employee]
    clients: Sequence[CompanyClient]
    projects: Sequence[Project]

    @property
    def departments(self) -> list[str]:
        """The departments that have employees, in order."""
        return list(dict.fromkeys(employee.department for employee in self.employees))

    def find_employee(self, number: int) -> Employee:
        """Find an employee by number. Raises StopIteration if there is none."""
        return next(employee for employee in self.employees if employee.number == number)

    def find_client(self, number: int) -> CompanyClient:
        """Find a client by number. Raises StopIteration if there is none."""
        return next(client for client in self.clients if client.number == number)


def collect_company(
    profile: list[CompanyProfile],
    employees: list[Employee],
    clients: list[CompanyClient],
    projects: list[Project],
) -> CompanyData:
    """Collect a company's rows, sorted by their numbers."""
    return CompanyData(
        profile[0],
        sorted(employees, key=lambda employee: employee.number),
        sorted(clients, key=lambda client: client.number),
        sorted(projects, key=lambda project: project.number),
    )
