"""Convert a company to the rows of its database tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from tasks.grammar.company.company_data import CompanyData
from tasks.grammar.company.tables import SCHEMA

CellValue = str | int | date | None


def tabulate(company: CompanyData) -> dict[str, list[dict[str, CellValue]]]:
    """Convert a company to rows of its database tables: table -> rows, in an order that foreign keys allow.

    An employee comes after their supervisor.
    """
    departments = {name: number for number, name in enumerate(company.departments, start=1)}
    services = {name: number for number, name in enumerate(company.profile.services, start=1)}
    tables: Mapping[str, list[dict[str, CellValue]]] = {
        "departments": [
            {"department_id": number, "department_name": name} for name, number in departments.items()
        ],
        "employees": [
            {
                "employee_id": employee.number,
                "full_name": employee.name,
                "job_title": employee.title,
                "hire_date": date.fromisoformat(employee.hired),
                "phone_extension": employee.extension,
                "department_id": departments[employee.department],
                "supervisor_id": employee.supervisor,
            }
            for employee in company.employees
        ],
        "department_heads": [
            {"department_id": departments[employee.department], "employee_id": employee.number}
            for employee in company.employees
            if employee.leads
        ],
        "company": [
            {
                "company_id": 1,
                "company_name": company.profile.name,
                "industry": company.profile.industry,
                "headquarters_city": company.profile.city,
                "founding_year": company.profile.founded,
                "employee_count": len(company.employees),
                "chief_executive_id": company.employees[0].number,
            }
        ],
        "services": [{"service_id": number, "service_name": name} for name, number in services.items()],
        "clients": [
            {
                "client_id": client.number,
                "client_name": client.name,
                "industry": client.industry,
                "city": client.city,
                "contract_year": client.since,
            }
            for client in company.clients
        ],
        "projects": [
            {
                "project_id": project.number,
                "project_name": project.name,
                "city": project.city,
                "start_date": date.fromisoformat(project.start),
                "end_date": date.fromisoformat(project.end),
                "budget_eur": project.budget,
                "service_id": services[project.service],
                "client_id": project.client,
                "director_id": project.director,
                "manager_id": project.manager,
            }
            for project in company.projects
        ],
        "project_members": [
            {"project_id": project.number, "employee_id": member}
            for project in company.projects
            for member in project.members
        ],
    }
    return {table.name: tables[table.name] for table in SCHEMA.sorted_tables}
