"""Rules for SQL templates (section 4.1, appendix D), with the drop reason for breaking each.

unreadable         it is not one SQL statement
not_select         the statement is not a plain SELECT
other_operator     it uses more than select, project and join: aggregates, functions, OR, comparisons but =
clock              its answer hangs on the clock, the session or chance
star               it selects `*`
unknown_name       it names a table or column that the schema does not have, or that is ambiguous
not_descriptive    it asks about a key or another column that nobody asks about
no_placeholder     it has no placeholder
constant           it has a value in the place of a placeholder
wrong_placeholder  a placeholder differs from the column it is compared with
unfit_placeholder  a placeholder is a measurement, by which nothing can be looked up
answer_given       it asks for a column that it is given
unconnected        its tables are not connected by foreign keys
idle_table         a joined table at the edge contributes nothing to the question
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tasks.databases.clock import find_clock
from tasks.databases.columns import Column, make_column_id
from tasks.grammar.construct.queries import DIALECT, Query, table_of

UNQUOTED = re.compile(r"(=\s*)\[([^\]']+)\]")
SHAPE = (exp.Select, exp.From, exp.Join, exp.Where, exp.And, exp.EQ, exp.Column, exp.Identifier, exp.Table,
         exp.TableAlias, exp.Alias, exp.Literal, exp.Distinct, exp.Paren, exp.Neg)  # fmt: skip


class BrokenRule(ValueError):
    """A SQL template breaks a rule. `reason`: the drop reason; the message: where."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def read_template(sql: str, columns: Sequence[Column]) -> Query:
    """Parse a SQL template and check it against every rule. Raises BrokenRule."""
    select = parse_select(sql)
    query = _read_query(select, {column.id: column for column in columns})
    check_question(query, columns)
    return query


def parse_select(sql: str) -> exp.Select:
    """Parse one SELECT that uses only select, project and join. Raises BrokenRule."""
    # SQLite would parse an unquoted placeholder as a quoted name.
    statements = parse_statements(UNQUOTED.sub(r"\1'[\2]'", sql.strip()))
    if len(statements) != 1 or statements[0] is None:
        raise BrokenRule("unreadable", f"{len(statements)} statements")
    select = statements[0]
    if not isinstance(select, exp.Select):
        raise BrokenRule("not_select", type(select).__name__)
    if clock := find_clock(sql, DIALECT):
        raise BrokenRule("clock", f"its answer hangs on {clock}")
    if any(select.find_all(exp.Star)):
        raise BrokenRule("star", "names no columns")
    for node in select.walk():
        if not isinstance(node, SHAPE):
            raise BrokenRule("other_operator", type(node).__name__)
    for join in select.args.get("joins") or []:
        if join.side or join.method or join.kind not in ("", "INNER", "CROSS"):
            raise BrokenRule("other_operator", f"{join.side or join.method or join.kind} JOIN")
    return select


def parse_statements(sql: str) -> list[exp.Expr | None]:
    """Parse SQL that a model or a person wrote. Raises BrokenRule, whatever it is."""
    try:
        return sqlglot.parse(sql, dialect=DIALECT)
    except RecursionError:
        raise BrokenRule("unreadable", "it is nested too deep") from None
    except SqlglotError as error:
        raise BrokenRule("unreadable", str(error).splitlines()[0]) from error


def check_question(query: Query, columns: Sequence[Column]) -> None:
    """Check that a query makes a sensible question. Raises BrokenRule."""
    known = {column.id: column for column in columns}
    for column in (*query.projection, *query.placeholders):
        if not known[column].descriptive:
            raise BrokenRule("not_descriptive", column)
    for column in query.placeholders:
        if not fits_placeholder(known[column]):
            raise BrokenRule("unfit_placeholder", f"{column} is {known[column].type}")
    _check_connected(query, known)
    representative = _equal_columns(query)
    given = {representative.get(column, column) for column in query.placeholders}
    for column in query.projection:
        if representative.get(column, column) in given:
            raise BrokenRule("answer_given", column)


def fits_placeholder(column: Column) -> bool:
    """Return whether things can be looked up by a column: descriptive, no measurement, no boolean."""
    return column.descriptive and column.type not in ("real", "boolean")


def _read_query(select: exp.Select, known: Mapping[str, Column]) -> Query:
    names = _read_tables(select, known)
    projection = tuple(_read_column(expression.unalias(), names, known) for expression in select.expressions)
    if len(set(projection)) < len(projection):
        raise BrokenRule("other_operator", "a column is selected twice")
    joins, placeholders = set(), []
    for condition in _list_conditions(select):
        left, right = condition.unnest().this, condition.unnest().expression
        if isinstance(left, exp.Literal):
            left, right = right, left
        column = _read_column(left, names, known)
        if isinstance(right, exp.Column):
            joins.add(tuple(sorted((column, _read_column(right, names, known)))))
            continue
        if not isinstance(right, exp.Literal) or not re.fullmatch(r"\[.*\]", right.this):
            raise BrokenRule("constant", condition.sql(dialect=DIALECT))
        if right.this != f"[{column}]":
            raise BrokenRule("wrong_placeholder", condition.sql(dialect=DIALECT))
        placeholders.append(column)
    if not placeholders:
        raise BrokenRule("no_placeholder", "nothing is left open")
    query = Query(projection, tuple(sorted((a, b) for a, b in joins)), tuple(sorted(set(placeholders))))
    if set(names.values()) - set(query.tables):
        raise BrokenRule("unconnected", ", ".join(sorted(set(names.values()) - set(query.tables))))
    return query


def _read_tables(select: exp.Select, known: Mapping[str, Column]) -> dict[str, str]:
    """Map each table's alias or name in the query, in lower case, to the table."""
    spelling = {column.table.lower(): column.table for column in known.values()}
    names: dict[str, str] = {}
    for table in select.find_all(exp.Table):
        if table.name.lower() not in spelling:
            raise BrokenRule("unknown_name", f"table {table.name}")
        if spelling[table.name.lower()] in names.values():
            raise BrokenRule("other_operator", f"{table.name} is used twice")
        names[table.alias_or_name.lower()] = spelling[table.name.lower()]
    return names


def _read_column(node: exp.Expr, names: Mapping[str, str], known: Mapping[str, Column]) -> str:
    if not isinstance(node, exp.Column):
        raise BrokenRule("constant", node.sql(dialect=DIALECT))
    tables = [names[node.table.lower()]] if node.table.lower() in names else list(names.values())
    if node.table and node.table.lower() not in names:
        raise BrokenRule("unknown_name", f"table {node.table}")
    lower = {make_column_id(table, node.name).lower() for table in tables}
    found = [name for name in known if name.lower() in lower]
    if len(found) != 1:
        raise BrokenRule("unknown_name", f"column {node.sql(dialect=DIALECT)}")
    return found[0]


def _list_conditions(select: exp.Select) -> list[exp.Expr]:
    """List the conditions under WHERE and ON, split at AND."""
    where = select.args.get("where")
    trees = [where.this] if where else []
    trees += [join.args["on"] for join in select.args.get("joins") or [] if join.args.get("on")]
    conditions = [part for tree in trees for part in _split_at_and(tree)]
    for condition in conditions:
        if not isinstance(condition.unnest(), exp.EQ):
            raise BrokenRule("other_operator", condition.sql(dialect=DIALECT))
    return conditions


def _split_at_and(tree: exp.Expr) -> list[exp.Expr]:
    inner = tree.unnest()
    if isinstance(inner, exp.And):
        return [*_split_at_and(inner.this), *_split_at_and(inner.expression)]
    return [inner]


def _check_connected(query: Query, known: Mapping[str, Column]) -> None:
    keys = {tuple(sorted((column.id, column.references))) for column in known.values() if column.references}
    for pair in query.joins:
        if pair not in keys:
            raise BrokenRule("unconnected", " = ".join(pair))
    edges = [{table_of(a), table_of(b)} for a, b in query.joins]
    reached = {query.tables[0]}
    while grown := [edge for edge in edges if edge & reached and not edge <= reached]:
        reached = reached.union(*grown)
    if reached != set(query.tables):
        raise BrokenRule("unconnected", ", ".join(sorted(set(query.tables) - reached)))
    used = {table_of(column) for column in (*query.projection, *query.placeholders)}
    for table in query.tables:
        if table not in used and sum(table in edge for edge in edges) < 2:
            raise BrokenRule("idle_table", table)


def _equal_columns(query: Query) -> dict[str, str]:
    """Map each joined column to the smallest name among the columns that it must equal."""
    least = {side: side for pair in query.joins for side in pair}
    for _ in query.joins:
        for a, b in query.joins:
            least[a] = least[b] = min(least[a], least[b])
    return least
