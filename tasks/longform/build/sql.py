"""Write the SQL of this flow: names quoted where they must be, values as literals."""

from __future__ import annotations

from tasks.databases import quoted_names
from tasks.databases.columns import Column
from tasks.databases.dialects import CANONICAL
from tasks.databases.profile.readings import write_reading
from tasks.databases.values import Value


def quote(name: str) -> str:
    """Write a name of a table or column."""
    return quoted_names.quote_name(name).sql(dialect=CANONICAL)


def quote_column(column: str) -> str:
    """Write a column, given by its id, as `table.column`."""
    return quoted_names.quote_column(column).sql(dialect=CANONICAL)


def read_column(column: Column) -> str:
    """Write what gives a column's value: its name, or the expression that reads its cells."""
    name = quote_column(column.id)
    return write_reading(name, column.reading).sql(dialect=CANONICAL) if column.reading else name


def write_literal(value: Value) -> str:
    """Write a value as SQLite reads it back."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
