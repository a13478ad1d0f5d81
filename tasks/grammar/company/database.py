"""Stage: write the company as a database: a SQLite file, and scripts for PostgreSQL and MariaDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from sqlalchemy import Dialect, insert
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.schema import CreateTable

from tasks.artifacts.rows import Counts
from tasks.files import write_text
from tasks.grammar.company.clients import CompanyClient
from tasks.grammar.company.company_data import CompanyData, collect_company
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.projects import Project
from tasks.grammar.company.tables import SCHEMA
from tasks.sources.tables import write_database

SERVERS: Mapping[str, Callable[[], Dialect]] = {
    # Other parameter styles would double the percent signs in texts.
    "postgresql": lambda: postgresql.dialect(paramstyle="named"),  # type: ignore[no-untyped-call]  # SQLAlchemy: untyped
    "mariadb": lambda: mysql.dialect(paramstyle="named", is_mariadb=True),
}
CellValue = str | int | date | None
TableRows = Mapping[str, Sequence[Mapping[str, CellValue]]]


def database(
    profile: list[CompanyProfile],
    employees: list[Employee],
    clients: list[CompanyClient],
    projects: list[Project],
    out: Path,
) -> Counts:
    """Write the same rows as `company.sqlite`, `postgresql.sql` and `mariadb.sql` into the folder `out`."""
    tables = tabulate(collect_company(profile, employees, clients, projects))
    out.mkdir(parents=True)
    schema = [str(CreateTable(table).compile(dialect=sqlite.dialect())) for table in SCHEMA.sorted_tables]
    cells = {
        name: [[_to_sqlite(cell) for cell in row.values()] for row in rows] for name, rows in tables.items()
    }
    count = write_database(out / "company.sqlite", schema, cells)
    for name, make_dialect in SERVERS.items():
        statements = list_statements(make_dialect(), tables)
        write_text(out / f"{name}.sql", "".join(f"{statement};\n\n" for statement in statements))
    return Counts(1 + len(employees) + len(clients) + len(projects), count, {})


def list_statements(dialect: Dialect, tables: TableRows) -> Iterator[str]:
    """List the statements that create and fill the tables on one engine, in an order that keys allow."""
    for table in SCHEMA.sorted_tables:
        yield str(CreateTable(table).compile(dialect=dialect)).strip()
    for table in SCHEMA.sorted_tables:
        for row in tables[table.name]:
            statement = insert(table).values(**row)
            yield str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def _to_sqlite(cell: CellValue) -> str | int | None:
    return cell.isoformat() if isinstance(cell, date) else cell


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
