"""Check whether a model's free-form SELECT fits the requested kind of question and the requested subject.

`free_reading.py` parses the SQL in the same way as user-written templates. A model's SQL must satisfy more
rules, because nobody reviews the SQL before it runs, and the model has not seen any cell.

The drop reasons are:

- `unreadable`: the SQL is longer than `MAX_SQL` characters.
- `copied_example`: the SQL is the prompt's example.
- `star`: the SQL selects `*`.
- `no_placeholder`: the SQL has no placeholder.
- `constant`: the SQL compares a column with a constant string, which the model guessed.
- `other_operator`: the SQL calls a function that SQLite may not have, or uses WITH RECURSIVE.
- `unconnected`: the SQL joins a table without a condition.
- `not_descriptive`: the SQL selects only keys.
- `answer_given`: the SQL selects a column that must equal a placeholder.
- `other_subject`: the SQL does not use the request's subject.
- `other_kind`: the SQL does not fit the requested kind of question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from tasks.databases.columns import Column
from tasks.grammar.construct.coverage import Kind, PlannedRequest
from tasks.grammar.construct.free_reading import WHOLE, find_column, name_source, parse_free, read_own
from tasks.grammar.construct.names import tells_year
from tasks.grammar.construct.queries import Query, write_template
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.models.ask import Unparsed

MAX_SQL = 4_000
"""The maximum number of characters of SQL. The limit exists because parsing takes quadratic time."""
SAFE_FUNCTIONS = frozenset(["julianday", "instr", "total", "printf", "format", "unixepoch", "iif"])
"""SQLite functions that are allowed although sqlglot parses them as anonymous functions."""
COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.In, exp.Between, exp.Glob)
"""The comparisons in which a constant string counts as a guessed value."""
BOUNDS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Case, exp.NEQ, exp.If)
"""The SQL for a question of the kind `comparison` contains at least one of these expressions."""
TELLING: Mapping[Kind, tuple[type[exp.Expr], ...]] = {
    "count": (exp.Count,),
    "group": (exp.Group,),
    "having": (exp.Having,),
    "set_operation": (exp.SetOperation,),
    "ranking": (exp.Limit, exp.Window, exp.Max, exp.Min),
    "comparison": BOUNDS,
}
"""The syntax nodes that identify a kind of question.

The SQL must contain at least one node of the question's kind.
"""


def strip_reply(text: str) -> str:
    """Return a reply's SQL without the code fence and trailing semicolons."""
    return text.strip().removeprefix("```sql").removeprefix("```").removesuffix("```").strip().rstrip(";")


def parse_any(text: str, schema: Sequence[Column], request: PlannedRequest, example: str) -> Query:
    """Parse a reply as a free-form SQL template. Raises Unparsed with `<reason>: <detail>`."""
    try:
        query = read_any(strip_reply(text), schema, example)
        check_request(query, request, schema)
    except BrokenRule as broken:
        raise Unparsed(f"{broken.reason}: {broken}") from broken
    except RecursionError as error:
        raise Unparsed("unreadable: the SQL is nested too deeply") from error
    return query


def read_any(sql: str, schema: Sequence[Column], example: str) -> Query:
    """Parse and check a model's free-form SQL. Raises BrokenRule."""
    if len(sql) > MAX_SQL:
        raise BrokenRule("unreadable", f"the SQL has more than {MAX_SQL:,} characters")
    if parse_free(sql) == parse_free(example):
        raise BrokenRule("copied_example", "the SQL is the prompt's example")
    query, _ = read_own(sql, schema)
    check_any(query, schema)
    return query


def check_any(query: Query, schema: Sequence[Column]) -> None:
    """Check the rules for a model's free-form SQL. Raises BrokenRule."""
    statement = parse_free(write_template(query))
    if any(not isinstance(star.parent, exp.Count) for star in statement.find_all(exp.Star)):
        raise BrokenRule("star", "selects * instead of columns")
    if not query.placeholders:
        raise BrokenRule("no_placeholder", "the SQL has no placeholder")
    check_operators(statement)
    _check_constants(statement)
    known = {column.id: column for column in schema}
    if query.measure != "count" and query.projection:
        if not any(known[name].descriptive for name in query.projection):
            raise BrokenRule("not_descriptive", ", ".join(query.projection))
        if given := set(query.projection) & set(_list_fixed(statement, schema)):
            raise BrokenRule("answer_given", min(given))


def check_operators(statement: exp.Expr) -> None:
    """Check that SQL calls only known functions, is not recursive, and joins tables by conditions.

    Raises BrokenRule.
    """
    for node in statement.find_all(exp.Anonymous):
        if node.name.lower() not in SAFE_FUNCTIONS:
            raise BrokenRule("other_operator", f"{node.name[:40]}()")
    if any(clause.args.get("recursive") for clause in statement.find_all(exp.With)):
        raise BrokenRule("other_operator", "WITH RECURSIVE is not allowed")
    for select in statement.find_all(exp.Select):
        # A join that is written with a comma has its condition in WHERE.
        where = select.args.get("where")
        tied = {
            side.table.lower()
            for equality in (where.find_all(exp.EQ) if where else ())
            if isinstance(equality.this, exp.Column) and isinstance(equality.expression, exp.Column)
            for side in (equality.this, equality.expression)
        }
        for join in select.args.get("joins") or []:
            on = join.args.get("on")
            joined = (on is not None and on.find(exp.Column)) or join.args.get("using")
            one = _gives_one_row(join.this)
            if not joined and not one and join.this.alias_or_name.lower() not in tied:
                raise BrokenRule("unconnected", join.this.alias_or_name)


def _gives_one_row(source: exp.Expr) -> bool:
    """Return whether a join's source is a subquery that selects only aggregates, without GROUP BY."""
    select = source.this if isinstance(source, exp.Subquery) else None
    return (
        isinstance(select, exp.Select)
        and not select.args.get("group")
        and all(node.find(exp.AggFunc) for node in select.expressions)
    )


def _check_constants(statement: exp.Expr) -> None:
    """Check that every comparison of a column with a string has a placeholder. Raises BrokenRule."""
    for literal in statement.find_all(exp.Literal):
        if not literal.is_string or not literal.this.strip() or WHOLE.fullmatch(literal.this):
            continue
        compared = literal.find_ancestor(*COMPARED, exp.Select)
        # A string within a call, such as the format of strftime, is not a guessed cell.
        if not isinstance(compared, COMPARED) or _stands_in_call(literal, compared):
            continue
        if compared.find(exp.Column) and not any(
            WHOLE.fullmatch(other.this) for other in compared.find_all(exp.Literal) if other.is_string
        ):
            raise BrokenRule("constant", literal.this[:40])


def _stands_in_call(literal: exp.Expr, within: exp.Expr) -> bool:
    call = literal.find_ancestor(exp.Func)
    # In sqlglot, AND is also a function.
    return call is not None and call.find_ancestor(type(within)) is within and not isinstance(call, exp.And)


def _list_fixed(statement: exp.Expr, schema: Sequence[Column]) -> Iterable[str]:
    """Yield the columns of the outer SELECT that must equal a placeholder, according to WHERE.

    Yields no column if WHERE contains OR or a set operation.
    """
    where = statement.args.get("where")
    if where is None or where.find(exp.Or, exp.SetOperation):
        return
    for equality in where.find_all(exp.EQ):
        literal, column = equality.expression, equality.this
        if isinstance(literal, exp.Literal) and isinstance(column, exp.Column):
            found = find_column(column, schema)
            if WHOLE.fullmatch(literal.this) and found and found[1] is statement:
                yield found[0]


def check_request(query: Query, request: PlannedRequest, schema: Sequence[Column]) -> None:
    """Check that a template uses the request's subject and fits its kind of question. Raises BrokenRule."""
    subject = request.subject
    if subject.column and subject.column not in query.columns:
        raise BrokenRule("other_subject", f"the SQL does not use {subject.column}")
    if missing := sorted(set(subject.tables) - set(query.tables)):
        raise BrokenRule("other_subject", f"the SQL does not use {missing[0]}")
    if not fits_kind(query, request.kind, schema):
        raise BrokenRule("other_kind", f"the SQL is not of the kind `{request.kind.replace('_', ' ')}`")


def fits_kind(query: Query, kind: Kind, schema: Sequence[Column]) -> bool:
    """Return whether a template's SQL fits a kind of question."""
    statement = parse_free(write_template(query))
    if kind in TELLING:
        return statement.find(*TELLING[kind]) is not None
    if kind == "nested":
        return any(node.find_ancestor(exp.Select) for node in statement.find_all(exp.Select))
    if kind == "date":
        used = {*query.columns, *map(name_source, query.placeholders)}
        return any(column.id in used and (column.type == "date" or tells_year(column)) for column in schema)
    return isinstance(statement, exp.Select) and not any(
        expression.find(exp.AggFunc) for expression in statement.expressions
    )
