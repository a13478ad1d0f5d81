"""Stage: write the company as a SQLite database, and as SQL scripts for PostgreSQL and MariaDB.

One declaration defines the tables for all three engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Date,
    Dialect,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    insert,
    types,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.schema import CreateTable, SchemaItem

from tasks.artifacts.rows import Counts
from tasks.files import write_text
from tasks.grammar.company.clients import CompanyClient
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.plans import CompanyData, collect_company
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.projects import CompanyProject
from tasks.sources.tables import write_database

SCHEMA = MetaData()
NAME = 60
"""The maximum length of a name, in characters."""
TEXT_CHECKS = "{name} <> ''"
"""The CHECK constraint of every text column, on every engine."""
SQLITE_CHECKS: dict[type[types.TypeEngine[Any]], str] = {
    Integer: "typeof({name}) IN ('integer', 'null')",
    String: "typeof({name}) IN ('text', 'null') AND length({name}) <= " + str(NAME),
    # Without a modifier, date() returns an impossible day such as 2023-02-31 unchanged.
    Date: "{name} IS date({name}, '+0 days')",
}
"""CHECK constraints that make SQLite as strict about types as PostgreSQL and MariaDB.

By default, SQLite accepts any value.
"""
SERVERS: Mapping[str, Callable[[], Dialect]] = {
    # Only the parameter style `named` does not double percent signs in texts.
    "postgresql": lambda: postgresql.dialect(paramstyle="named"),  # type: ignore[no-untyped-call]  # SQLAlchemy: untyped
    "mariadb": lambda: mysql.dialect(paramstyle="named", is_mariadb=True),
}
CellValue = str | int | date | None
TableRows = Mapping[str, Sequence[Mapping[str, CellValue]]]


def _declare_table(name: str, *items: SchemaItem) -> Table:
    # MariaDB's default collation ignores case, but SQLite and PostgreSQL distinguish it.
    table = Table(
        name, SCHEMA, *items, mysql_engine="InnoDB", mysql_charset="utf8mb4", mysql_collate="utf8mb4_bin"
    )
    for column in list(table.columns):
        if isinstance(column.type, String):
            table.append_constraint(CheckConstraint(TEXT_CHECKS.format(name=column.name)))
        strict = CheckConstraint(SQLITE_CHECKS[type(column.type)].format(name=column.name))
        table.append_constraint(strict.ddl_if(dialect="sqlite"))
    return table


def _key(name: str) -> Column[int]:
    # By default, SQLAlchemy lets the server number the rows (SERIAL or AUTO_INCREMENT).
    return Column(name, Integer, primary_key=True, autoincrement=False)


def _text(name: str, *, unique: bool = False) -> Column[str]:
    return Column(name, String(NAME), nullable=False, unique=unique)


def _number(name: str, *, unique: bool = False) -> Column[int]:
    return Column(name, Integer, nullable=False, unique=unique)


def _reference(name: str, target: str, *, nullable: bool = False, unique: bool = False) -> Column[int]:
    return Column(name, Integer, ForeignKey(target), nullable=nullable, unique=unique)


def _key_reference(name: str, target: str) -> Column[int]:
    """Return a foreign key column that is also the primary key, or a part of it."""
    return Column(name, Integer, ForeignKey(target), primary_key=True, autoincrement=False)


DEPARTMENTS = _declare_table("departments", _key("department_id"), _text("department_name", unique=True))
EMPLOYEES = _declare_table(
    "employees",
    _key("employee_id"),
    _text("full_name", unique=True),
    _text("job_title"),
    Column("hire_date", Date, nullable=False),
    _number("phone_extension", unique=True),
    _reference("department_id", "departments.department_id"),
    _reference("supervisor_id", "employees.employee_id", nullable=True),
    CheckConstraint("supervisor_id <> employee_id"),
    CheckConstraint("phone_extension > 0"),
)
DEPARTMENT_HEADS = _declare_table(
    "department_heads",
    _key_reference("department_id", "departments.department_id"),
    _reference("employee_id", "employees.employee_id", unique=True),
)
COMPANY = _declare_table(
    "company",
    _key("company_id"),
    _text("company_name", unique=True),
    _text("industry"),
    _text("headquarters_city"),
    _number("founding_year"),
    _number("employee_count"),
    _reference("chief_executive_id", "employees.employee_id"),
    CheckConstraint("founding_year BETWEEN 1500 AND 2999"),
    CheckConstraint("employee_count > 0"),
)
SERVICES = _declare_table("services", _key("service_id"), _text("service_name", unique=True))
CLIENTS = _declare_table(
    "clients",
    _key("client_id"),
    _text("client_name", unique=True),
    _text("industry"),
    _text("city"),
    _number("contract_year"),
    CheckConstraint("contract_year BETWEEN 1500 AND 2999"),
)
PROJECTS = _declare_table(
    "projects",
    _key("project_id"),
    _text("project_name", unique=True),
    _text("city"),
    Column("start_date", Date, nullable=False),
    Column("end_date", Date, nullable=False),
    _number("budget_eur"),
    _reference("service_id", "services.service_id"),
    _reference("client_id", "clients.client_id"),
    _reference("director_id", "employees.employee_id"),
    _reference("manager_id", "employees.employee_id"),
    CheckConstraint("end_date > start_date"),
    CheckConstraint("budget_eur > 0"),
    CheckConstraint("director_id <> manager_id"),
)
PROJECT_MEMBERS = _declare_table(
    "project_members",
    _key_reference("project_id", "projects.project_id"),
    _key_reference("employee_id", "employees.employee_id"),
)


def database(
    profile: list[CompanyProfile],
    employees: list[Employee],
    clients: list[CompanyClient],
    projects: list[CompanyProject],
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
    """Yield the statements that create and fill the tables on one engine, referenced tables first."""
    for table in SCHEMA.sorted_tables:
        yield str(CreateTable(table).compile(dialect=dialect)).strip()
    for table in SCHEMA.sorted_tables:
        for row in tables[table.name]:
            statement = insert(table).values(**row)
            yield str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def _to_sqlite(cell: CellValue) -> str | int | None:
    return cell.isoformat() if isinstance(cell, date) else cell


def tabulate(company: CompanyData) -> dict[str, list[dict[str, CellValue]]]:
    """Return the rows of each table, by table name, in an order that satisfies the foreign keys.

    Employees come after their supervisors.
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
