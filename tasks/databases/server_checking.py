"""Refuse SQL that is unsafe on a database server: functions, catalogues, variables, and growing texts.

A server runs a statement with its own memory and shows every account its catalogues. So everything that
is not known to be harmless is refused here, by its parse tree.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from sqlglot import exp

from tasks.errors import SqlRefused

# Allowed functions: those with a class in sqlglot, and those without. Left out: functions that are not
# deterministic (random, now, uuid), that wait, lock, signal, read files or reveal the server, and that
# make a large value of a small one (repeat, lpad).
TYPED_FUNCTIONS = """
Abs Acos And Any Array ArrayContainsAll ArraySize Ascii Asin Atan Atan2 Avg BitwiseCount Case Cast Cbrt
Ceil Chr Coalesce Collate Concat ConcatWs Contains ContainsAny Conv Convert Corr Cos Cot Count CountIf
CovarPop CovarSamp CumeDist Date DateAdd DateDiff DateSub DateTrunc Day DayOfMonth DayOfWeek DayOfYear
Dayname Degrees DenseRank EndsWith Exists Exp Extract FirstValue Floor Greatest Hex Hour If Initcap
JSONBExtract JSONBExtractScalar JSONExtract JSONExtractScalar JSONType Lag LastDay LastValue Lead Least
Left Length Ln Log LogicalAnd LogicalOr Lower MD5 Max Min Minute Mod Mode Month Monthname NthValue Ntile
Nullif Or PercentRank PercentileCont PercentileDisc Pi Pow Quarter Radians Rank RegexpILike RegexpLike
RegexpReplace Replace Reverse Right Round RowNumber SHA SHA2 Second Sign Sin Soundex SplitPart Sqrt
StartsWith Stddev StddevPop StddevSamp StrPosition StrToDate Substring SubstringIndex Sum Tan Time
TimeToStr TimestampAdd TimestampDiff TimestampTrunc Translate Trim Trunc TryCast TsOrDsToDate
TsOrDsToTimestamp Unhex UnixToTime Upper Variance VariancePop Week WeekOfYear WidthBucket Xor Year
"""
UNTYPED_FUNCTIONS = """
age adddate any_value bit_count crc32 div elt field find_in_set format inet_aton json_length json_unquote
jsonb_typeof json_typeof make_date period_diff row strcmp subdate to_days to_number unix_timestamp weekday
weekofyear
"""
ALLOWED_TYPED = frozenset(TYPED_FUNCTIONS.split())
ALLOWED_UNTYPED = frozenset(UNTYPED_FUNCTIONS.split())
ALLOWED_BY_DIALECT = {"mysql": frozenset({"GroupConcat"}), "postgres": frozenset({"AtTimeZone"})}
"""MariaDB ends a GROUP_CONCAT at its limit; PostgreSQL's aggregates that collect would grow to a gigabyte."""
CATALOGUES = frozenset({"information_schema", "pg_catalog", "pg_toast", "mysql", "performance_schema", "sys"})
FORBIDDEN: dict[type, str] = {
    exp.Parameter: "a variable",
    exp.SessionParameter: "a server variable",
    exp.PropertyEQ: "an assignment",
    exp.Placeholder: "a placeholder",
    exp.Operator: "OPERATOR()",
    exp.ObjectIdentifier: "a catalogue's type",
    exp.TableSample: "TABLESAMPLE",
}
EXECUTABLE_COMMENT = re.compile(r"/\*M?!|--(?!\s|\Z)")
"""Comments that MariaDB executes."""
MAX_GROWTH = 1_000
"""How many times longer than its parts a text may become."""
MAX_REPEATS = 20_000
"""How large nested queries may become when the planner inlines them."""


def check_server_select(root: exp.Expr, sql: str, dialect: str) -> None:
    """Raise SqlRefused if a parsed SELECT uses more than the server's user tables."""
    if dialect == "mysql" and EXECUTABLE_COMMENT.search(sql):
        raise SqlRefused("a comment that the server may run is not allowed")
    allowed = ALLOWED_TYPED | ALLOWED_BY_DIALECT.get(dialect, frozenset())
    for node in root.walk():
        if isinstance(node, exp.Func):
            _check_function(node, allowed)
        elif isinstance(node, exp.Table):
            _check_table(node, dialect)
        elif type(node) in FORBIDDEN:
            raise SqlRefused(f"{FORBIDDEN[type(node)]} is not allowed")
        elif isinstance(node, exp.DataType) and node.this == exp.DataType.Type.USERDEFINED:
            raise SqlRefused(f"the type {node.sql()[:40]} is not allowed")
        elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            raise SqlRefused("a function of a named schema is not allowed")
    if dialect == "postgres" and any(clause.recursive for clause in root.find_all(exp.With)):
        raise SqlRefused("WITH RECURSIVE is not allowed on this engine")
    _check_growth(root)


def _check_function(node: exp.Func, allowed: frozenset[str]) -> None:
    if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc)):
        name = node.name
        if name.lower() not in ALLOWED_UNTYPED:
            raise SqlRefused(f"the function {name[:40]} is not allowed")
    elif type(node).__name__ not in allowed:
        raise SqlRefused(f"the function {node.sql_name()} is not allowed")


def _check_table(node: exp.Table, dialect: str) -> None:
    place, name = node.db.lower(), node.name.lower()
    if node.catalog or place in CATALOGUES or (dialect == "postgres" and name.startswith("pg_")):
        raise SqlRefused(f"the catalogue {(place or name)[:40]} is not allowed")


def _check_growth(root: exp.Expr) -> None:
    """Limit how much nested queries can enlarge one value.

    PostgreSQL's own limit is a gigabyte, and MariaDB's planner, which inlines queries, continues for half
    a minute after it was killed.
    """
    for node in root.find_all(exp.Replace, exp.RegexpReplace):
        if not _shrinks(node):
            raise SqlRefused("a replacement must not be longer than what it replaces")
    selects = list(root.find_all(exp.Select))
    named = math.prod(_count_joined(select) for select in selects if select.find_ancestor(exp.CTE))
    repeats = math.prod(_count_repeated(select) for select in selects if select.find_ancestor(exp.CTE))
    for select in selects:
        chain = [select, *_ancestors(select)]
        if named * math.prod(map(_count_joined, chain)) > MAX_GROWTH:
            raise SqlRefused("texts are joined over too many levels")
        if repeats * math.prod(map(_count_repeated, chain)) > MAX_REPEATS:
            raise SqlRefused("columns are repeated over too many levels")


def _shrinks(node: exp.Expr) -> bool:
    given = node.args.get("expression")
    placed = node.args.get("replacement")
    if placed is None:
        return True
    if not (isinstance(placed, exp.Literal) and isinstance(given, exp.Literal)):
        return False
    max_length = len(given.this) if isinstance(node, exp.Replace) else 0
    return len(placed.this) <= max_length


def _ancestors(select: exp.Select) -> list[exp.Select]:
    found = []
    above = select.find_ancestor(exp.Select)
    while above is not None:
        found.append(above)
        above = above.find_ancestor(exp.Select)
    return found


def _count_joined(select: exp.Select) -> int:
    """Count the parts of the texts that one SELECT concatenates, at least 1."""
    nodes = list(_list_own_nodes(select))
    pipes = sum(isinstance(node, exp.DPipe) for node in nodes)
    concats = sum(len(node.expressions) for node in nodes if isinstance(node, (exp.Concat, exp.ConcatWs)))
    return 1 + pipes + concats


def _count_repeated(select: exp.Select) -> int:
    """Count how often one SELECT uses its most frequent column, at least 1."""
    names = Counter(node.name for node in _list_own_nodes(select) if isinstance(node, exp.Column))
    return max(names.values(), default=1)


def _list_own_nodes(select: exp.Select) -> list[exp.Expr]:
    """List the nodes of one SELECT without those of its subqueries."""
    return [
        inner
        for inner in select.walk(prune=lambda node: isinstance(node, exp.Select) and node is not select)
        if inner is select or not isinstance(inner, exp.Select)
    ]
