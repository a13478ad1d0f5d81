"""Write the SQL of this flow: names quoted where they must be, values as literals."""

from __future__ import annotations

from sqlglot import exp

from tasks.databases.columns import split_column_id
from tasks.databases.dialects import CANONICAL
from tasks.databases.values import Value


def quote(name: str) -> str:
    """Write a name of a table or column."""
    return exp.to_identifier(name).sql(dialect=CANONICAL)


def quote_column(column: str) -> str:
    """Write a column, given by its id, as `table.column`."""
    table, name = split_column_id(column)
    return f"{quote(table)}.{quote(name)}"


def write_literal(value: Value) -> str:
    """Write a value as SQLite reads it back."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
