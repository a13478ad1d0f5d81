"""The tables of a company's database; SQLite, PostgreSQL and MariaDB are all created from this."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Date,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    types,
)
from sqlalchemy.schema import SchemaItem

SCHEMA = MetaData()
NAME = 60
"""Maximum length of a name, in characters."""
TEXT_CHECKS = "{name} <> ''"
SQLITE_CHECKS: dict[type[types.TypeEngine[Any]], str] = {
    Integer: "typeof({name}) IN ('integer', 'null')",
    String: "typeof({name}) IN ('text', 'null') AND length({name}) <= " + str(NAME),
    Date: "{name} IS date({name}, '+0 days')",
}
"""SQLite accepts any value in any column; these checks make it as strict about types as the servers are."""


def _declare_table(name: str, *items: SchemaItem) -> Table:
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
    return Column(name, Integer, primary_key=True, autoincrement=False)


def _text(name: str, *, unique: bool = False) -> Column[str]:
    return Column(name, String(NAME), nullable=False, unique=unique)


def _number(name: str, *, unique: bool = False) -> Column[int]:
    return Column(name, Integer, nullable=False, unique=unique)


def _reference(name: str, target: str, *, nullable: bool = False, unique: bool = False) -> Column[int]:
    return Column(name, Integer, ForeignKey(target), nullable=nullable, unique=unique)


def _key_reference(name: str, target: str) -> Column[int]:
    """Make a foreign key that is (part of) the primary key too."""
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
