"""Refuse aggregates that collect values into an array or a string, if they could receive too many rows.

The results of PostgreSQL's `array_agg` and `string_agg` may grow to a gigabyte per group, and no setting
limits them. Over the rows of a single table, the results cannot be larger than the table.
"""

from __future__ import annotations

from sqlglot import exp

from tasks.errors import SqlRefused

COLLECTORS = (exp.ArrayAgg, exp.GroupConcat)
"""Aggregates that collect many values into an array or a string."""
JOINERS = (*COLLECTORS, exp.ArrayToString)
MAX_PARTS = 8
"""Maximum number of concatenated parts in a collected expression."""
MAX_LITERAL = 20
"""Maximum length, in characters, of a separator and of any literal in the collected expression."""
OUTERMOST = (exp.Select, exp.Subquery, exp.From, exp.Join, exp.CTE, exp.With, exp.SetOperation)


def check_collector(node: exp.Expr, named_queries: set[str]) -> None:
    """Raise SqlRefused if an aggregate may collect too many rows or too long an expression.

    Allowed aggregates collect each row of one table once, as a short expression. `named_queries`: the names
    defined by WITH. For `array_to_string`, only the separator is checked.
    """
    if any(literal.is_string and len(literal.name) > MAX_LITERAL for literal in node.find_all(exp.Literal)):
        raise SqlRefused(f"a separator of more than {MAX_LITERAL} characters is not allowed")
    if isinstance(node, exp.ArrayToString):
        if not all(
            isinstance(node.args.get(part), (exp.Literal, type(None))) for part in ("expression", "null")
        ):
            raise SqlRefused("the separator of array_to_string must be a constant")
        return
    parts = sum(isinstance(inner, (exp.DPipe, exp.Concat, exp.Column)) for inner in node.walk())
    select = node.find_ancestor(exp.Select)
    if (
        parts > MAX_PARTS
        or select is None
        or node.find(exp.Select, exp.Encode) is not None
        or isinstance(node.find_ancestor(exp.Select, exp.Window), exp.Window)
        or not _reads_one_table(select, named_queries)
        or not _is_outermost(select)
    ):
        name = "array_agg" if isinstance(node, exp.ArrayAgg) else "string_agg"
        raise SqlRefused(
            f"the function {name} is allowed only on the rows of a single table, with a short argument "
            "and without OVER; it is not allowed in a subquery inside an expression"
        )


def _reads_one_table(select: exp.Select, named_queries: set[str]) -> bool:
    source = select.args.get("from_")
    table = source.this if source is not None else None
    return (
        isinstance(table, exp.Table)
        and isinstance(table.this, exp.Identifier)
        and not any(owner.args.get(part) for owner in (select, table) for part in ("joins", "laterals"))
        and (bool(table.db) or table.name.lower() not in named_queries)
    )


def _is_outermost(select: exp.Select) -> bool:
    """Return whether a SELECT is outside expressions and lateral joins.

    Inside an expression or a lateral join, a SELECT may collect rows of an outer query.
    """
    node: exp.Expr | None = select
    while node is not None:
        below, node = node, node.parent
        if node is not None and not isinstance(node, OUTERMOST):
            return False
        if isinstance(node, exp.Join) and below.arg_key != "this":
            return False
        if isinstance(below, exp.Subquery) and not isinstance(
            node, (exp.From, exp.Join, exp.Subquery, exp.SetOperation, exp.CTE, type(None))
        ):
            return False
    return True
