"""Parse a template's SQL (GRAMMAR, section 4.1), or reject the SQL with one of these drop reasons.

- `unreadable`: the text is not one SQL statement.
- `not_select`: the statement is not a plain SELECT.
- `other_operator`: the SQL uses anything other than select, project, join, and the supported measures and
  comparisons, for example GROUP BY, a function, or OR over two columns.
- `clock`: the answer depends on the clock, the session or random numbers.
- `star`: the SQL selects `*`.
- `unknown_name`: the SQL names a table or column that is ambiguous or missing from the schema.
- `no_placeholder`: the SQL has no placeholder.
- `constant`: the SQL has a value instead of a placeholder.
- `wrong_placeholder`: a placeholder's name differs from the column that it is compared with.
- `unfit_measure`: the SQL may count the same row twice.
- `unconnected`: the SQL reads a table but uses none of its columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tasks.databases.clock import find_clock
from tasks.databases.columns import Column, make_column_id
from tasks.databases.profile.readings import list_readings, strip_readings
from tasks.grammar.construct.queries import COMPARISONS, DIALECT, Measure, Query

UNQUOTED = re.compile(r"([=<>]\s*|\bBETWEEN\s+|\bAND\s+)\[([^\]']+\.[^\]']+)\]", re.IGNORECASE)
"""Matches an unquoted placeholder after an operator."""
ALLOWED_NODES = (
    exp.Select, exp.From, exp.Join, exp.Where, exp.And, exp.EQ, exp.Column, exp.Identifier, exp.Table,
    exp.TableAlias, exp.Alias, exp.Literal, exp.Distinct, exp.Paren, exp.Neg, exp.Count, exp.Star, exp.Avg,
    exp.Round, exp.Max, exp.Min, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Or, exp.In, exp.Not,
    exp.Is, exp.Null, exp.Order, exp.Ordered, exp.Limit,
)  # fmt: skip
"""The syntax nodes that a query may contain; SQL with any other node is dropped as `other_operator`."""
EXTREMES: Mapping[type[exp.Expr], Measure] = {exp.Max: "most", exp.Min: "least"}
SUFFIXES: Mapping[type[exp.Expr], str] = {
    comparison: suffix for suffix, comparison in COMPARISONS.items() if suffix != "other"
}
FLIPPED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ,
}  # fmt: skip
"""Maps each comparison to the equivalent comparison with its operands swapped, such as `>` to `<`."""


class BrokenRule(ValueError):
    """A template breaks a rule. `reason` is the drop reason, and the message contains the details."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def parse_select(sql: str, columns: Sequence[Column] = ()) -> exp.Select:
    """Parse one SELECT that uses only select, project, join and the supported measures. Raises BrokenRule.

    Conversions of cells (the readings of `columns`) are removed, so a filled query parses like its template.
    """
    # Quote placeholders first, because SQLite's dialect parses unquoted brackets as a quoted name.
    statements = parse_statements(UNQUOTED.sub(r"\1'[\2]'", sql.strip()))
    if len(statements) != 1 or statements[0] is None:
        raise BrokenRule("unreadable", f"expected one statement, got {len(statements)}")
    select = strip_readings(statements[0], list_readings(columns))
    if not isinstance(select, exp.Select):
        raise BrokenRule("not_select", type(select).__name__)
    if clock := find_clock(sql, DIALECT):
        raise BrokenRule("clock", f"the answer depends on {clock}")
    if any(not isinstance(star.parent, exp.Count) for star in select.find_all(exp.Star)):
        raise BrokenRule("star", "selects * instead of columns")
    for node in select.walk():
        if not isinstance(node, ALLOWED_NODES):
            raise BrokenRule("other_operator", type(node).__name__)
    for join in select.args.get("joins") or []:
        if join.side or join.method or join.kind not in ("", "INNER", "CROSS"):
            raise BrokenRule("other_operator", f"{join.side or join.method or join.kind} JOIN")
    return select


def parse_statements(sql: str) -> list[exp.Expr | None]:
    """Parse SQL that a model or a person wrote. Raises BrokenRule if the SQL cannot be parsed."""
    try:
        return sqlglot.parse(sql, dialect=DIALECT)
    except RecursionError:
        raise BrokenRule("unreadable", "the SQL is nested too deeply") from None
    except SqlglotError as error:
        raise BrokenRule("unreadable", str(error).splitlines()[0]) from error


def read_query(select: exp.Select, columns: Sequence[Column]) -> Query:
    """Convert a parsed SELECT to a query. Raises BrokenRule."""
    known = {column.id: column for column in columns}
    names = _read_tables(select, known)
    measure, projection, ranked_by = _read_measure(select, names, known)
    if len(set(projection)) < len(projection):
        raise BrokenRule("other_operator", "a column is selected twice")
    joins: set[tuple[str, ...]] = set()
    placeholders: set[str] = set()
    for condition in _list_conditions(select):
        if isinstance(condition, exp.Not):
            _check_null_test(condition, (*projection, ranked_by), names, known)
        elif (
            isinstance(condition, exp.EQ)
            and not isinstance(condition.this, exp.Literal)
            and isinstance(condition.expression, exp.Column)
        ):
            sides = [_read_column(side, names, known) for side in (condition.this, condition.expression)]
            joins.add(tuple(sorted(sides)))
        else:
            given = list(_read_given(condition, names, known))
            if repeated := placeholders.intersection(given):
                raise BrokenRule("wrong_placeholder", f"[{min(repeated)}] is used in two conditions")
            placeholders.update(given)
    if not placeholders:
        raise BrokenRule("no_placeholder", "the SQL has no placeholder")
    query = Query(
        projection, tuple(sorted((a, b) for a, b in joins)), tuple(sorted(placeholders)), measure, ranked_by
    )
    if set(names.values()) - set(query.tables):
        raise BrokenRule("unconnected", ", ".join(sorted(set(names.values()) - set(query.tables))))
    return query


def _read_measure(
    select: exp.Select, names: Mapping[str, str], known: Mapping[str, Column]
) -> tuple[Measure, tuple[str, ...], str]:
    """Return the measure, the projected columns, and the column that ranks the rows."""
    asked: list[exp.Expr] = [expression.unalias() for expression in select.expressions]
    order, limit = select.args.get("order"), select.args.get("limit")
    ordered = list(order.expressions) if order else []
    if isinstance(asked[0], (exp.Count, exp.Avg, exp.Round, *EXTREMES)):
        if len(asked) > 1 or ordered or limit:
            raise BrokenRule("other_operator", "a measure with another column, ORDER BY or LIMIT")
        return _read_number(asked[0], names, known)
    columns = tuple(_read_column(expression, names, known) for expression in asked)
    if limit:
        if limit.expression.sql() != "1" or len(ordered) != 1:
            raise BrokenRule("other_operator", "LIMIT other than LIMIT 1 after ORDER BY with one column")
        ranked_by = _read_column(ordered[0].this, names, known)
        return ("most" if ordered[0].args.get("desc") else "least"), columns, ranked_by
    if ordered and {_read_column(part.this, names, known) for part in ordered} - set(columns):
        raise BrokenRule("other_operator", "ORDER BY a column that is not selected")
    return ("list" if ordered else ""), columns, ""


def _read_number(
    node: exp.Expr, names: Mapping[str, str], known: Mapping[str, Column]
) -> tuple[Measure, tuple[str, ...], str]:
    if isinstance(node, exp.Round):
        if not isinstance(node.this, exp.Avg) or node.args.get("decimals", exp.Null()).sql() != "1":
            raise BrokenRule("other_operator", node.sql(dialect=DIALECT))
        node = node.this
    inner = node.this
    if isinstance(inner, exp.Distinct) and isinstance(node, exp.Count) and len(inner.expressions) == 1:
        return "count", (_read_column(inner.expressions[0], names, known),), ""
    if isinstance(inner, exp.Star):
        keys = [
            column.id
            for column in known.values()
            if column.primary_key and [column.table] == [*names.values()]
        ]
        if len(keys) != 1:
            raise BrokenRule("star", "COUNT(*) is allowed only for one table with a key of one column")
        return "count", tuple(keys), ""
    column = _read_column(inner, names, known)
    if isinstance(node, exp.Count):
        if not known[column].primary_key or len(names) > 1:
            raise BrokenRule(
                "unfit_measure", f"COUNT({column}) may count some rows twice; use COUNT(DISTINCT {column})"
            )
        return "count", (column,), ""
    if isinstance(node, exp.Avg):
        return "average", (column,), ""
    return EXTREMES[type(node)], (column,), column


def _read_given(condition: exp.Expr, names: Mapping[str, str], known: Mapping[str, Column]) -> Iterator[str]:
    """Yield the placeholders of a condition on one column."""
    if isinstance(condition, exp.Between):
        column = _read_column(condition.this, names, known)
        yield _read_placeholder(column, condition.args["low"], "from", condition)
        yield _read_placeholder(column, condition.args["high"], "to", condition)
        return
    if isinstance(condition, (exp.Or, exp.In)):
        column, values = _read_choice(condition, names, known)
        found = sorted(_read_placeholder(column, value, None, condition) for value in values)
        if found != [column, f"{column}:other"]:
            raise BrokenRule("wrong_placeholder", condition.sql(dialect=DIALECT))
        yield from found
        return
    left, right, kind = condition.this, condition.expression, type(condition)
    if isinstance(left, exp.Literal):
        left, right, kind = right, left, FLIPPED[kind]
    column = _read_column(left, names, known)
    yield _read_placeholder(column, right, SUFFIXES.get(kind, ""), condition)


def _read_choice(
    condition: exp.Expr, names: Mapping[str, str], known: Mapping[str, Column]
) -> tuple[str, list[exp.Expr]]:
    """Return the column and the values of `c = a OR c = b`, or of `c IN (a, b)`."""
    if isinstance(condition, exp.In):
        values = condition.expressions
        return _read_column(condition.this, names, known), values
    sides = [condition.this.unnest(), condition.expression.unnest()]
    columns = {_read_column(side.this, names, known) for side in sides if isinstance(side, exp.EQ)}
    if len(columns) != 1 or not all(isinstance(side, exp.EQ) for side in sides):
        raise BrokenRule("other_operator", condition.sql(dialect=DIALECT))
    return columns.pop(), [side.expression for side in sides]


def _read_placeholder(column: str, value: exp.Expr, suffix: str | None, condition: exp.Expr) -> str:
    """Return the name of the placeholder that a column is compared with. Raises BrokenRule.

    `suffix` is the suffix that the comparison requires; the SQL may omit the suffix. With None, any name is
    valid.
    """
    if not isinstance(value, exp.Literal) or not re.fullmatch(r"\[.*\]", value.this):
        raise BrokenRule("constant", condition.sql(dialect=DIALECT))
    name = value.this[1:-1]
    if suffix is None:
        return str(name)
    expected = f"{column}:{suffix}" if suffix else column
    if name not in (column, expected):
        raise BrokenRule("wrong_placeholder", condition.sql(dialect=DIALECT))
    return expected


def _check_null_test(
    condition: exp.Not, allowed: Sequence[str], names: Mapping[str, str], known: Mapping[str, Column]
) -> None:
    """Check that a condition is IS NOT NULL on one of the allowed columns. Raises BrokenRule."""
    inner = condition.this.unnest()
    if not isinstance(inner, exp.Is) or not isinstance(inner.expression, exp.Null):
        raise BrokenRule("other_operator", condition.sql(dialect=DIALECT))
    if _read_column(inner.this, names, known) not in allowed:
        raise BrokenRule("other_operator", condition.sql(dialect=DIALECT))


def _read_tables(select: exp.Select, known: Mapping[str, Column]) -> dict[str, str]:
    """Return the query's tables by their lower-case alias or name."""
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
    """List the conditions in the WHERE and ON clauses, split at AND."""
    where = select.args.get("where")
    trees = [where.this] if where else []
    trees += [join.args["on"] for join in select.args.get("joins") or [] if join.args.get("on")]
    conditions = [part for tree in trees for part in _split_at_and(tree)]
    for condition in conditions:
        if not isinstance(condition, (*FLIPPED, exp.Between, exp.Or, exp.In, exp.Not)):
            raise BrokenRule("other_operator", condition.sql(dialect=DIALECT))
    return conditions


def _split_at_and(tree: exp.Expr) -> list[exp.Expr]:
    inner = tree.unnest()
    if isinstance(inner, exp.And):
        return [*_split_at_and(inner.this), *_split_at_and(inner.expression)]
    return [inner]
