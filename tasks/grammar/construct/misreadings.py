"""Write likely misreadings of a query: the SQL that a person who misunderstands the question would write.

Each misreading is the query with one change:

- a condition is removed or negated, or AND and OR are exchanged;
- a comparison, an aggregate or a set operation is replaced, or a number is increased by 1;
- a column is replaced by another column of the same type, in one place or everywhere except in joins;
- a join is removed or made an outer join;
- DISTINCT is removed or added;
- a ranking is reversed, or has a different number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.quoted_names import quote_name
from tasks.grammar.construct.free_reading import find_column, parse_free, read_free
from tasks.grammar.construct.queries import DIALECT, FreeQuery
from tasks.grammar.construct.sql_reading import BrokenRule

# Each misreading runs on the database, up to once per candidate group.
MOST = 40
"""The maximum number of misreadings per query, sampled from all kinds of change."""
Change = Callable[[exp.Expr], None]
OTHER_COMPARISONS: dict[type[exp.Expr], tuple[type[exp.Binary], ...]] = {
    exp.EQ: (exp.NEQ,),
    exp.NEQ: (exp.EQ,),
    exp.GT: (exp.GTE, exp.LT),
    exp.GTE: (exp.GT, exp.LTE),
    exp.LT: (exp.LTE, exp.GT),
    exp.LTE: (exp.LT, exp.GTE),
}
"""The comparison operators that a reader may confuse with each operator."""
OTHER_AGGREGATES: dict[type[exp.Expr], tuple[type[exp.AggFunc], ...]] = {
    exp.Sum: (exp.Avg, exp.Max),
    exp.Avg: (exp.Sum, exp.Max),
    exp.Max: (exp.Min, exp.Avg),
    exp.Min: (exp.Max, exp.Avg),
}
"""The aggregates that a reader may confuse with each aggregate."""
SET_OPERATIONS: tuple[type[exp.SetOperation], ...] = (exp.Union, exp.Intersect, exp.Except)


def list_misreadings(sql: str, schema: Sequence[Column]) -> list[FreeQuery]:
    """List at most `MOST` distinct misreadings that SQLite can run, sampled by hash."""
    own = read_free(sql, schema)
    statement = parse_free(own.sql)
    found: dict[str, FreeQuery] = {}
    for place, node in enumerate(statement.walk()):
        for change in _list_changes(node, schema):
            # A node can be replaced only if it has a parent.
            holder = exp.Subquery(this=statement.copy())
            change(next(other for number, other in enumerate(holder.this.walk()) if number == place))
            try:
                query = read_free(holder.this.sql(dialect=DIALECT), schema)
            except BrokenRule:
                continue
            if query.sql != own.sql:
                found[query.id] = query
    for query in _list_renamed(statement, schema):
        if query.sql != own.sql:
            found.setdefault(query.id, query)
    return [found[name] for name in sorted(found, key=lambda name: make_id("misreading", name))[:MOST]]


def _list_changes(node: exp.Expr, schema: Sequence[Column]) -> Iterator[Change]:
    """Yield the possible changes of a node; the caller applies each change to a copy of the tree."""
    joins = isinstance(node.find_ancestor(exp.Join, exp.Select), exp.Join)
    if isinstance(node, (exp.And, exp.Or)) and not joins:
        yield lambda here: _replace(here, here.this)
        yield lambda here: _replace(here, here.expression)
        other = exp.Or if isinstance(node, exp.And) else exp.And
        yield lambda here: _replace(here, other(this=here.this.copy(), expression=here.expression.copy()))
    elif isinstance(node, (exp.Where, exp.Having)):
        yield lambda here: _remove(here)
    elif type(node) in OTHER_COMPARISONS and not joins:
        for comparison in OTHER_COMPARISONS[type(node)]:
            yield _exchange(comparison)
    elif isinstance(node, (exp.In, exp.Exists, exp.Like, exp.Between)):
        yield _negate
    elif type(node) in OTHER_AGGREGATES:
        for aggregate in OTHER_AGGREGATES[type(node)]:
            yield _exchange_aggregate(aggregate)
    elif isinstance(node, exp.Count):
        yield _switch_counted
    elif isinstance(node, exp.Select):
        yield _switch_distinct
    elif isinstance(node, exp.Join):
        yield lambda here: _remove(here)
        yield lambda here: here.set("side", None if here.args.get("side") else "LEFT")
    elif isinstance(node, exp.Ordered) and _is_cut(node):
        # Without LIMIT, the reversed order has the same answer, because comparisons ignore the order of rows.
        yield _turn
    elif isinstance(node, exp.Limit) and isinstance(node.expression, exp.Literal):
        # LIMIT 0 would return no rows, so LIMIT 1 becomes LIMIT 2.
        yield lambda here: here.set(
            "expression", exp.Literal.number(max(int(here.expression.name) - 1, 0) or 2)
        )
        yield lambda here: _remove(here)
    elif isinstance(node, SET_OPERATIONS):
        for operation in SET_OPERATIONS:
            if not isinstance(node, operation):
                yield _exchange_operation(operation)
    elif isinstance(node, exp.Literal) and not node.is_string and isinstance(node.parent, exp.Binary):
        yield lambda here: _replace(here, exp.Literal.number(int(float(here.name)) + 1))
    elif isinstance(node, exp.Column) and not joins:
        for name in _list_alike(node, schema):
            yield _rename(name)


def _list_renamed(statement: exp.Expr, schema: Sequence[Column]) -> Iterator[FreeQuery]:
    """Yield copies of the query in which one column is replaced everywhere except in joins."""
    nodes = {node.sql(dialect=DIALECT): node for node in statement.find_all(exp.Column)}
    for text, node in nodes.items():
        for name in _list_alike(node, schema):
            copied = statement.copy()
            for other in list(copied.find_all(exp.Column)):
                if other.sql(dialect=DIALECT) == text and not other.find_ancestor(exp.Join):
                    other.set("this", quote_name(name))
            try:
                yield read_free(copied.sql(dialect=DIALECT), schema)
            except BrokenRule:
                continue


def _list_alike(node: exp.Column, schema: Sequence[Column]) -> list[str]:
    """List up to two columns that a reader may confuse with a column: columns of the same table and type."""
    found = find_column(node, schema)
    own = next((column for column in schema if found and column.id == found[0]), None)
    if own is None:
        return []
    alike = [
        column
        for column in schema
        if column.table == own.table
        and column.type == own.type
        and column.descriptive == own.descriptive
        and column.id != own.id
    ]
    alike.sort(key=lambda column: make_id("alike", own.id, column.id))
    return [column.name for column in alike[:2]]


def _exchange(comparison: type[exp.Binary]) -> Change:
    return lambda here: _replace(
        here, comparison(this=here.this.copy(), expression=here.args["expression"].copy())
    )


def _exchange_aggregate(aggregate: type[exp.AggFunc]) -> Change:
    return lambda here: _replace(here, aggregate(this=here.this.copy()))


def _exchange_operation(operation: type[exp.SetOperation]) -> Change:
    return lambda here: _replace(here, operation(**here.args))


def _rename(name: str) -> Change:
    return lambda here: here.set("this", quote_name(name))


def _negate(here: exp.Expr) -> None:
    if isinstance(here.parent, exp.Not):
        _replace(here.parent, here)
    else:
        _replace(here, exp.Not(this=here.copy()))


def _switch_counted(here: exp.Expr) -> None:
    """Switch between counting distinct values and counting rows."""
    counted = here.this
    if isinstance(counted, exp.Distinct):
        here.set("this", counted.expressions[0].copy())
    elif isinstance(counted, exp.Column):
        here.set("this", exp.Distinct(expressions=[counted.copy()]))


def _switch_distinct(here: exp.Expr) -> None:
    here.set("distinct", None if here.args.get("distinct") else exp.Distinct())


def _turn(here: exp.Expr) -> None:
    """Reverse a ranking, with NULL as the smallest value, as in SQLite."""
    smallest_first = bool(here.args.get("desc"))
    here.set("desc", None if smallest_first else True)
    here.set("nulls_first", smallest_first)


def _is_cut(node: exp.Expr) -> bool:
    select = node.find_ancestor(exp.Query)
    return select is not None and select.args.get("limit") is not None


def _replace(here: exp.Expr, other: exp.Expr) -> None:
    here.replace(other)


def _remove(here: exp.Expr) -> None:
    here.pop()
