"""The rules that a SQL template must keep (section 4.1, appendix D), each with the word it is dropped under.

unreadable         not one SQL statement
not_select         the statement is no plain SELECT
other_operator     more than select, project and join: aggregates, functions, OR, comparisons other than =
star               `*` in place of columns
unknown_name       a table or column that the schema does not have, or that is ambiguous
not_descriptive    a key or another column that nobody asks about
no_placeholder     nothing is left open
constant           a value stands where a placeholder belongs
wrong_placeholder  a placeholder that is not the column it is compared with
unfit_placeholder  a measurement cannot be what something is looked up by
answer_given       it asks for what it was given
unconnected        tables that their keys do not connect
idle_table         a joined table at the edge that takes no part in the question
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tasks.databases.columns import Column
from tasks.grammar.construct.queries import DIALECT, Query, table_of

UNQUOTED = re.compile(r"(=\s*)\[([^\]']+)\]")
SHAPE = (exp.Select, exp.From, exp.Join, exp.Where, exp.And, exp.EQ, exp.Column, exp.Identifier, exp.Table,
         exp.TableAlias, exp.Alias, exp.Literal, exp.Distinct, exp.Paren, exp.Neg)  # fmt: skip


class BrokenRule(ValueError):
    """A SQL template breaks a rule: `reason` is its word, the message says where."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def read_template(sql: str, columns: Sequence[Column]) -> Query:
    """Parse a SQL template and hold it against every rule. Raises BrokenRule."""
    select = parse_select(sql)
    query = _read_query(select, {each.id: each for each in columns})
    check_question(query, columns)
    return query


def parse_select(sql: str) -> exp.Select:
    """Parse one SELECT made of nothing but select, project and join. Raises BrokenRule."""
    try:
        # An unquoted placeholder would read as SQLite's other way to quote a name.
        statements = sqlglot.parse(UNQUOTED.sub(r"\1'[\2]'", sql.strip()), dialect=DIALECT)
    except SqlglotError as error:
        raise BrokenRule("unreadable", str(error).splitlines()[0]) from error
    if len(statements) != 1 or statements[0] is None:
        raise BrokenRule("unreadable", f"{len(statements)} statements")
    select = statements[0]
    if not isinstance(select, exp.Select):
        raise BrokenRule("not_select", type(select).__name__)
    if any(select.find_all(exp.Star)):
        raise BrokenRule("star", "names no columns")
    for node in select.walk():
        if not isinstance(node, SHAPE):
            raise BrokenRule("other_operator", type(node).__name__)
    for join in select.args.get("joins") or []:
        if join.side or join.method or join.kind not in ("", "INNER", "CROSS"):
            raise BrokenRule("other_operator", f"{join.side or join.method or join.kind} JOIN")
    return select


def check_question(query: Query, columns: Sequence[Column]) -> None:
    """Check that a query is worth asking. Raises BrokenRule."""
    known = {each.id: each for each in columns}
    for each in (*query.projection, *query.placeholders):
        if not known[each].descriptive:
            raise BrokenRule("not_descriptive", each)
    for each in query.placeholders:
        if not fits_placeholder(known[each]):
            raise BrokenRule("unfit_placeholder", f"{each} is {known[each].type}")
    _check_connected(query, known)
    same = _equal_columns(query)
    given = {same.get(each, each) for each in query.placeholders}
    for each in query.projection:
        if same.get(each, each) in given:
            raise BrokenRule("answer_given", each)


def fits_placeholder(column: Column) -> bool:
    """Tell whether something can be looked up by a column: no measurement, no yes or no."""
    return column.descriptive and column.type not in ("real", "boolean")


def _read_query(select: exp.Select, known: Mapping[str, Column]) -> Query:
    names = _read_tables(select, known)
    projection = tuple(_read_column(each.unalias(), names, known) for each in select.expressions)
    if len(set(projection)) < len(projection):
        raise BrokenRule("other_operator", "a column is selected twice")
    joins, placeholders = set(), []
    for condition in _conditions(select):
        left, right = condition.unnest().this, condition.unnest().expression
        if isinstance(left, exp.Literal):
            left, right = right, left
        here = _read_column(left, names, known)
        if isinstance(right, exp.Column):
            joins.add(tuple(sorted((here, _read_column(right, names, known)))))
            continue
        if not isinstance(right, exp.Literal) or not re.fullmatch(r"\[.*\]", right.this):
            raise BrokenRule("constant", condition.sql(dialect=DIALECT))
        if right.this != f"[{here}]":
            raise BrokenRule("wrong_placeholder", condition.sql(dialect=DIALECT))
        placeholders.append(here)
    if not placeholders:
        raise BrokenRule("no_placeholder", "nothing is left open")
    query = Query(projection, tuple(sorted((a, b) for a, b in joins)), tuple(sorted(set(placeholders))))
    if set(names.values()) - set(query.tables):
        raise BrokenRule("unconnected", ", ".join(sorted(set(names.values()) - set(query.tables))))
    return query


def _read_tables(select: exp.Select, known: Mapping[str, Column]) -> dict[str, str]:
    """Map each name that a table goes by, in lower case, to its own."""
    own = {each.table.lower(): each.table for each in known.values()}
    names: dict[str, str] = {}
    for table in select.find_all(exp.Table):
        if table.name.lower() not in own:
            raise BrokenRule("unknown_name", f"table {table.name}")
        if own[table.name.lower()] in names.values():
            raise BrokenRule("other_operator", f"{table.name} is used twice")
        names[table.alias_or_name.lower()] = own[table.name.lower()]
    return names


def _read_column(node: exp.Expr, names: Mapping[str, str], known: Mapping[str, Column]) -> str:
    if not isinstance(node, exp.Column):
        raise BrokenRule("constant", node.sql(dialect=DIALECT))
    tables = [names[node.table.lower()]] if node.table.lower() in names else list(names.values())
    if node.table and node.table.lower() not in names:
        raise BrokenRule("unknown_name", f"table {node.table}")
    lower = {f"{table}.{node.name}".lower() for table in tables}
    found = [name for name in known if name.lower() in lower]
    if len(found) != 1:
        raise BrokenRule("unknown_name", f"column {node.sql(dialect=DIALECT)}")
    return found[0]


def _conditions(select: exp.Select) -> list[exp.Expr]:
    """Collect what stands under WHERE and ON, taken apart at AND."""
    where = select.args.get("where")
    trees = [where.this] if where else []
    trees += [join.args["on"] for join in select.args.get("joins") or [] if join.args.get("on")]
    conditions = [each for tree in trees for each in _take_apart(tree)]
    for each in conditions:
        if not isinstance(each.unnest(), exp.EQ):
            raise BrokenRule("other_operator", each.sql(dialect=DIALECT))
    return conditions


def _take_apart(tree: exp.Expr) -> list[exp.Expr]:
    inner = tree.unnest()
    if isinstance(inner, exp.And):
        return [*_take_apart(inner.this), *_take_apart(inner.expression)]
    return [inner]


def _check_connected(query: Query, known: Mapping[str, Column]) -> None:
    keys = {tuple(sorted((each.id, each.references))) for each in known.values() if each.references}
    for pair in query.joins:
        if pair not in keys:
            raise BrokenRule("unconnected", " = ".join(pair))
    edges = [{table_of(a), table_of(b)} for a, b in query.joins]
    reached = {query.tables[0]}
    while grown := [edge for edge in edges if edge & reached and not edge <= reached]:
        reached = reached.union(*grown)
    if reached != set(query.tables):
        raise BrokenRule("unconnected", ", ".join(sorted(set(query.tables) - reached)))
    used = {table_of(each) for each in (*query.projection, *query.placeholders)}
    for table in query.tables:
        if table not in used and sum(table in edge for edge in edges) < 2:
            raise BrokenRule("idle_table", table)


def _equal_columns(query: Query) -> dict[str, str]:
    """Name each joined column by the least column that it must equal."""
    least = {side: side for pair in query.joins for side in pair}
    for _ in query.joins:
        for a, b in query.joins:
            least[a] = least[b] = min(least[a], least[b])
    return least
