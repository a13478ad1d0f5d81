"""Rules for SQL templates (section 4.1, appendix D), with the drop reason for breaking each.

unreadable         it is not one SQL statement
not_select         the statement is not a plain SELECT
other_operator     it uses more than select, project and join (section 4.1) and the measures and comparisons
                   that we add: functions, OR, GROUP BY, a comparison without a measure
clock              its answer hangs on the clock, the session or chance
star               it selects `*`
unknown_name       it names a table or column that the schema does not have, or that is ambiguous
not_descriptive    it asks about a key or another column that nobody asks about
no_placeholder     it has no placeholder
constant           it has a value in the place of a placeholder
wrong_placeholder  a placeholder differs from the column it is compared with
unfit_placeholder  a placeholder is a measurement, by which nothing can be looked up; or its values have no
                   order, and a range of them is given
unfit_measure      it counts what is no row, or averages or ranks by what is no number or date
answer_given       it asks for a column that it is given
unconnected        its tables are not connected by foreign keys
idle_table         a joined table at the edge contributes nothing to the question
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tasks.databases.clock import find_clock
from tasks.databases.columns import Column, make_column_id
from tasks.grammar.construct.names import split_words
from tasks.grammar.construct.queries import (
    COMPARISONS,
    DIALECT,
    Measure,
    Query,
    column_of,
    comparison_of,
    table_of,
)

UNQUOTED = re.compile(r"([=<>]\s*|\bBETWEEN\s+|\bAND\s+)\[([^\]']+\.[^\]']+)\]", re.IGNORECASE)
SHAPE = (exp.Select, exp.From, exp.Join, exp.Where, exp.And, exp.EQ, exp.Column, exp.Identifier, exp.Table,
         exp.TableAlias, exp.Alias, exp.Literal, exp.Distinct, exp.Paren, exp.Neg,
         exp.Count, exp.Star, exp.Avg, exp.Round, exp.Max, exp.Min, exp.GT, exp.GTE, exp.LT, exp.LTE,
         exp.Between, exp.Or, exp.In, exp.Not, exp.Is, exp.Null, exp.Order, exp.Ordered,
         exp.Limit)  # fmt: skip
EXTREMES: Mapping[type[exp.Expr], Measure] = {exp.Max: "most", exp.Min: "least"}
SUFFIXES: Mapping[type[exp.Expr], str] = {
    comparison: suffix for suffix, comparison in COMPARISONS.items() if suffix != "other"
}
FLIPPED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ,
}  # fmt: skip
RANGES = (("over",), ("under",), ("from",), ("to",), ("from", "to"))
PAIR = ("", "other")
COUNTED_BY = frozenset(["year", "month", "day", "number", "code", "zip", "phone", "extension",
                        "latitude", "longitude", "degrees"])  # fmt: skip
"""Last words of columns of numbers whose mean says nothing."""


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
    """Parse one SELECT that uses only select, project, join and our measures. Raises BrokenRule."""
    # SQLite would parse an unquoted placeholder as a quoted name.
    statements = parse_statements(UNQUOTED.sub(r"\1'[\2]'", sql.strip()))
    if len(statements) != 1 or statements[0] is None:
        raise BrokenRule("unreadable", f"{len(statements)} statements")
    select = statements[0]
    if not isinstance(select, exp.Select):
        raise BrokenRule("not_select", type(select).__name__)
    if clock := find_clock(sql, DIALECT):
        raise BrokenRule("clock", f"its answer hangs on {clock}")
    if any(not isinstance(star.parent, exp.Count) for star in select.find_all(exp.Star)):
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
    asked = [*query.projection, *filter(None, [query.ranked_by])] if query.measure != "count" else []
    for column in (*asked, *map(column_of, query.placeholders)):
        if not known[column].descriptive:
            raise BrokenRule("not_descriptive", column)
    for column in query.equal:
        if not fits_placeholder(known[column]):
            raise BrokenRule("unfit_placeholder", f"{column} is {known[column].type}")
    _check_varied(query, known)
    _check_measure(query, known)
    _check_connected(query, known)
    representative = _equal_columns(query)
    given = {representative.get(name, name) for name in map(column_of, query.placeholders)}
    if tuple(map(comparison_of, query.varied)) == PAIR:
        given.discard(column_of(query.varied[0]))
    for column in asked:
        if representative.get(column, column) in given:
            raise BrokenRule("answer_given", column)


def _check_varied(query: Query, known: Mapping[str, Column]) -> None:
    """Check that the placeholders compared otherwise than by `=` are one range, or a pair of names."""
    if not query.varied:
        return
    column, suffixes = column_of(query.varied[0]), tuple(map(comparison_of, query.varied))
    if any(comparison_of(name) and column_of(name) != column for name in query.placeholders):
        raise BrokenRule("other_operator", "ranges of two columns")
    if suffixes == PAIR:
        if query.measure not in ("most", "least") or query.projection != (column,):
            raise BrokenRule("other_operator", "OR, but not to ask which of two things has more of something")
        if not fits_placeholder(known[column]):
            raise BrokenRule("unfit_placeholder", f"{column} is {known[column].type}")
    elif suffixes not in RANGES:
        raise BrokenRule("other_operator", f"{column} is compared by {', '.join(suffixes)} at once")
    elif not query.measure:
        raise BrokenRule("other_operator", f"a range of {column}, but neither a measure nor a list")
    elif not has_order(known[column]):
        raise BrokenRule("unfit_placeholder", f"{column} is {known[column].type}: its values have no order")


def _check_measure(query: Query, known: Mapping[str, Column]) -> None:
    """Check that a count counts rows by their key, and that means and ranks are of numbers or dates."""
    if query.measure and query.measure != "list" and len(query.projection) != 1:
        raise BrokenRule("other_operator", f"{len(query.projection)} columns asked for beside a measure")
    if query.measure:
        keys = {name for name, column in known.items() if column.primary_key}
        table = table_of(query.projection[0])
        key = sorted(name for name in keys if known[name].table == table)
        if not key or (query.measure == "count" and [*query.projection] != key):
            raise BrokenRule("unfit_measure", f"{query.projection[0]}: no key that tells rows apart")
    if query.measure == "average" and not has_mean(known[query.projection[0]]):
        raise BrokenRule("unfit_measure", f"the average of {query.projection[0]}")
    if query.measure in ("most", "least"):
        if not has_order(known[query.ranked_by]):
            raise BrokenRule("unfit_measure", f"ranked by {query.ranked_by}")
        if table_of(query.ranked_by) != table_of(query.projection[0]):
            raise BrokenRule("unfit_measure", f"{query.projection[0]} ranked by {query.ranked_by}")


def has_order(column: Column) -> bool:
    """Return whether larger and smaller mean something: numbers and dates that are no names."""
    named = split_words(column.name)[-1] in COUNTED_BY - {"year", "day"}
    return column.descriptive and column.type in ("integer", "real", "date") and not named


def has_mean(column: Column) -> bool:
    """Return whether a mean of a column says something: numbers that are neither names nor years."""
    named = split_words(column.name)[-1] in COUNTED_BY
    return column.descriptive and column.type in ("integer", "real") and not named


def fits_placeholder(column: Column) -> bool:
    """Return whether things can be looked up by a column: descriptive, no measurement, no boolean."""
    return column.descriptive and column.type not in ("real", "boolean")


def _read_query(select: exp.Select, known: Mapping[str, Column]) -> Query:
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
                raise BrokenRule("wrong_placeholder", f"[{min(repeated)}] stands in two conditions")
            placeholders.update(given)
    if not placeholders:
        raise BrokenRule("no_placeholder", "nothing is left open")
    query = Query(
        projection, tuple(sorted((a, b) for a, b in joins)), tuple(sorted(placeholders)), measure, ranked_by
    )
    if set(names.values()) - set(query.tables):
        raise BrokenRule("unconnected", ", ".join(sorted(set(names.values()) - set(query.tables))))
    return query


def _read_measure(
    select: exp.Select, names: Mapping[str, str], known: Mapping[str, Column]
) -> tuple[Measure, tuple[str, ...], str]:
    """Read what is computed: the measure, the columns asked for, and the column ranked by."""
    asked: list[exp.Expr] = [expression.unalias() for expression in select.expressions]
    order, limit = select.args.get("order"), select.args.get("limit")
    ordered = list(order.expressions) if order else []
    if isinstance(asked[0], (exp.Count, exp.Avg, exp.Round, *EXTREMES)):
        if len(asked) > 1 or ordered or limit:
            raise BrokenRule("other_operator", "more than one number")
        return _read_number(asked[0], names, known)
    columns = tuple(_read_column(expression, names, known) for expression in asked)
    if limit:
        if limit.expression.sql() != "1" or len(ordered) != 1:
            raise BrokenRule("other_operator", "LIMIT, but not the first by one column")
        ranked_by = _read_column(ordered[0].this, names, known)
        return ("most" if ordered[0].args.get("desc") else "least"), columns, ranked_by
    if ordered and {_read_column(part.this, names, known) for part in ordered} - set(columns):
        raise BrokenRule("other_operator", "ORDER BY a column that is not asked for")
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
            raise BrokenRule("star", "COUNT(*), but over one table with a key of one column alone")
        return "count", tuple(keys), ""
    column = _read_column(inner, names, known)
    if isinstance(node, exp.Count):
        if not known[column].primary_key or len(names) > 1:
            raise BrokenRule(
                "unfit_measure", f"COUNT({column}), which counts some rows twice: DISTINCT is missing"
            )
        return "count", (column,), ""
    if isinstance(node, exp.Avg):
        return "average", (column,), ""
    return EXTREMES[type(node)], (column,), column


def _read_given(condition: exp.Expr, names: Mapping[str, str], known: Mapping[str, Column]) -> Iterator[str]:
    """Read the placeholders of a condition on one column."""
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
    """Read `c = a OR c = b`, or `c IN (a, b)`: the column, and the values."""
    if isinstance(condition, exp.In):
        values = condition.expressions
        return _read_column(condition.this, names, known), values
    sides = [condition.this.unnest(), condition.expression.unnest()]
    columns = {_read_column(side.this, names, known) for side in sides if isinstance(side, exp.EQ)}
    if len(columns) != 1 or not all(isinstance(side, exp.EQ) for side in sides):
        raise BrokenRule("other_operator", condition.sql(dialect=DIALECT))
    return columns.pop(), [side.expression for side in sides]


def _read_placeholder(column: str, value: exp.Expr, suffix: str | None, condition: exp.Expr) -> str:
    """Read the value that a column is compared with. suffix: of the comparison; None: any."""
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
    """Check that only a column that a measure is taken of must not be NULL."""
    inner = condition.this.unnest()
    if not isinstance(inner, exp.Is) or not isinstance(inner.expression, exp.Null):
        raise BrokenRule("other_operator", condition.sql(dialect=DIALECT))
    if _read_column(inner.this, names, known) not in allowed:
        raise BrokenRule("other_operator", condition.sql(dialect=DIALECT))


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
        if not isinstance(condition, (*FLIPPED, exp.Between, exp.Or, exp.In, exp.Not)):
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
    used = {table_of(column) for column in query.columns}
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
