"""The twin of a filled query: the same joins and the same values, but it selects the source rows.

The twin says which rows an answer comes from. It never supplies the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from tasks.databases.columns import Column
from tasks.databases.dialects import translate
from tasks.databases.execution import SafeDatabase
from tasks.databases.values import Value
from tasks.grammar.construct.queries import DIALECT, quote_name
from tasks.grammar.construct.sql_rules import BrokenRule, parse_select


@dataclass(frozen=True)
class SourceRow:
    """A row of the database. key: what names it: its primary key, or all of it in a table without one."""

    table: str
    key: tuple[tuple[str, Value], ...]
    cells: tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Sources:
    """The rows behind an answer, link tables included, sorted; and the answer that they give."""

    rows: tuple[SourceRow, ...]
    answer: tuple[tuple[Value, ...], ...]
    """The distinct combinations of the cells that the query projects, sorted: to be compared, not used."""


def write_twin(sql: str, columns: Sequence[Column]) -> tuple[str, list[tuple[str, str]], list[int]]:
    """Write a filled query's twin in canonical SQL.

    Gives the twin, what it selects as (table, column), and the places in it of what the query projects.
    Every column of every table is selected: the key to name a row by, the others to show it.
    Raises BrokenRule where the text is no query of ours.
    """
    select = parse_select(sql)
    own = {each.table.lower(): each.table for each in columns}
    names = {each.alias_or_name: own[each.name.lower()] for each in select.find_all(exp.Table)}
    wanted = [
        (alias, each)
        for alias, table in sorted(names.items())
        for each in sorted(columns, key=lambda column: (not column.primary_key, column.name))
        if each.table == table
    ]
    places = {(alias.lower(), each.name.lower()): place for place, (alias, each) in enumerate(wanted)}
    projected = [places[_read_column(each, names, columns)] for each in select.expressions]
    twin = select.copy()
    twin.set(
        "expressions",
        [exp.column(quote_name(each.name), table=quote_name(alias)) for alias, each in wanted],
    )
    return twin.sql(dialect=DIALECT), [(names[alias], each.name) for alias, each in wanted], projected


def find_sources(sql: str, columns: Sequence[Column], database: SafeDatabase) -> Sources:
    """Find the rows that a filled query's answer comes from; raises SqlError, BrokenRule.

    Memory grows with the number of rows found.
    """
    twin, selected, projected = write_twin(sql, columns)
    keys = {
        table: [each for each in columns if each.table == table and each.primary_key] for table, _ in selected
    }
    found: dict[tuple[str, tuple[tuple[str, Value], ...]], SourceRow] = {}
    answer: set[tuple[Value, ...]] = set()
    for batch in database.stream(translate(twin, database.dialect, columns)):
        for row in batch:
            answer.add(tuple(row[place] for place in projected))
            for table in keys:
                cells = tuple(
                    (name, cell) for (own, name), cell in zip(selected, row, strict=True) if own == table
                )
                names = {each.name for each in keys[table]}
                key = tuple(cell for cell in cells if cell[0] in names) or cells
                found[table, key] = SourceRow(table, key, cells)
    rows = sorted(found.values(), key=lambda each: (each.table, [_order(cell) for _, cell in each.key]))
    return Sources(tuple(rows), tuple(sorted(answer, key=lambda row: [_order(cell) for cell in row])))


def _read_column(node: exp.Expr, names: dict[str, str], columns: Sequence[Column]) -> tuple[str, str]:
    """Give a projected column as (name of its table in the query, its name), in lower case."""
    column = node.unalias()
    if not isinstance(column, exp.Column):
        raise BrokenRule("constant", column.sql(dialect=DIALECT))
    name = column.name.lower()
    held = {each.table for each in columns if each.name.lower() == name}
    for alias, table in names.items():
        if column.table.lower() == alias.lower() or (not column.table and table in held):
            return alias.lower(), name
    raise BrokenRule("unknown_name", column.sql(dialect=DIALECT))


def _order(value: Value) -> tuple[int, float, str]:
    if value is None:
        return (0, 0, "")
    return (2, 0, value) if isinstance(value, str) else (1, value, "")
