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
from tasks.grammar.company.company_data import collect_company
from tasks.grammar.company.employees import Employee
from tasks.grammar.company.profile import CompanyProfile
from tasks.grammar.company.projects import Project
from tasks.grammar.company.tables import SCHEMA
from tasks.grammar.company.tabulation import CellValue, tabulate
from tasks.sources.tables import write_database

SERVERS: Mapping[str, Callable[[], Dialect]] = {
    # Other parameter styles would double the percent signs in texts.
    "postgresql": lambda: postgresql.dialect(paramstyle="named"),  # type: ignore[no-untyped-call]  # SQLAlchemy: untyped
    "mariadb": lambda: mysql.dialect(paramstyle="named", is_mariadb=True),
}
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
