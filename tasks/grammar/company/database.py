"""Stage: the company as a relational database: a SQLite file, and scripts for PostgreSQL and MariaDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from sqlalchemy import Dialect, insert
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.schema import CreateTable

from tasks.artifacts.rows import Counts
from tasks.files import write_text
from tasks.grammar.company.rows import Client, Employee, Profile, Project
from tasks.grammar.company.tables import SCHEMA
from tasks.grammar.company.whole import Cell, assemble, tabulate
from tasks.sources.tables import write_database

SERVERS: Mapping[str, Callable[[], Dialect]] = {
    # Any other style of parameters would double the per cents in texts.
    "postgresql": lambda: postgresql.dialect(paramstyle="named"),  # type: ignore[no-untyped-call]  # SQLAlchemy: untyped
    "mariadb": lambda: mysql.dialect(paramstyle="named", is_mariadb=True),
}
Tables = Mapping[str, Sequence[Mapping[str, Cell]]]


def database(
    profile: list[Profile],
    employees: list[Employee],
    clients: list[Client],
    projects: list[Project],
    out: Path,
) -> Counts:
    """Write `company.sqlite`, `postgresql.sql` and `mariadb.sql` into the folder `out`: the same rows."""
    whole = assemble(profile, employees, clients, projects)
    tables = tabulate(whole)
    out.mkdir(parents=True)
    schema = [str(CreateTable(table).compile(dialect=sqlite.dialect())) for table in SCHEMA.sorted_tables]
    cells = {name: [[_plain(cell) for cell in row.values()] for row in rows] for name, rows in tables.items()}
    count = write_database(out / "company.sqlite", schema, cells)
    for name, make_dialect in SERVERS.items():
        statements = list_statements(make_dialect(), tables)
        write_text(out / f"{name}.sql", "".join(f"{each};\n\n" for each in statements))
    return Counts(1 + len(employees) + len(clients) + len(projects), count, {})


def list_statements(dialect: Dialect, tables: Tables) -> Iterator[str]:
    """Write the statements that make and fill the tables on one engine, in an order that keys allow."""
    for table in SCHEMA.sorted_tables:
        yield str(CreateTable(table).compile(dialect=dialect)).strip()
    for table in SCHEMA.sorted_tables:
        for row in tables[table.name]:
            statement = insert(table).values(**row)
            yield str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def _plain(cell: Cell) -> str | int | None:
    return cell.isoformat() if isinstance(cell, date) else cell
