"""Write SQL fragments for this flow: quoted names, column values and literals."""

from __future__ import annotations

from tasks.databases import quoted_names
from tasks.databases.columns import Column
from tasks.databases.dialects import CANONICAL
from tasks.databases.profile.readings import write_reading
from tasks.databases.values import Value


def quote(name: str) -> str:
    """Write the name of a table or column, quoted if necessary."""
    return quoted_names.quote_name(name).sql(dialect=CANONICAL)


def quote_column(column: str) -> str:
    """Write a column, given by its id, as `table.column`, quoted if necessary."""
    return quoted_names.quote_column(column).sql(dialect=CANONICAL)


def read_column(column: Column) -> str:
    """Write the SQL expression for a column's value, with a conversion if `column.reading` is set."""
    name = quote_column(column.id)
    return write_reading(name, column.reading).sql(dialect=CANONICAL) if column.reading else name


def write_literal(value: Value) -> str:
    """Write a value as an SQL literal that SQLite reads back as the same value."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
