"""What a database server must not even be asked: functions, catalogues, variables, and texts that grow.

A server runs a statement with its own memory and shows every account its catalogues, so that what SQLite's
process refuses by itself is refused here, by parse, and what is not known to be harmless is refused.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from sqlglot import exp

from tasks.errors import SqlRefused

# By sqlglot's names: those it knows, and those it does not. Not here: what gives no answer twice (random,
# now, uuid), what waits, locks, signals, reads files or tells about the server, and what makes a large
# value out of a small one (repeat, lpad).
KNOWN = """
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
UNKNOWN = """
age adddate any_value bit_count crc32 div elt field find_in_set format inet_aton json_length json_unquote
jsonb_typeof json_typeof make_date period_diff row strcmp subdate to_days to_number unix_timestamp weekday
weekofyear
"""
TYPED = frozenset(KNOWN.split())
UNTYPED = frozenset(UNKNOWN.split())
ONLY = {"mysql": frozenset({"GroupConcat"}), "postgres": frozenset({"AtTimeZone"})}
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
HIDDEN = re.compile(r"/\*M?!|--(?!\s|\Z)")
"""What MariaDB runs although it looks like a comment."""
MAX_GROWTH = 1_000
"""How many times longer than what it is made of a text may become."""
MAX_REPEATS = 20_000
"""How large nested queries may become when a planner writes one into the other."""


def check_server_select(root: exp.Expr, sql: str, dialect: str) -> None:
    """Raise SqlRefused where a parsed SELECT asks a server for more than its tables."""
    if dialect == "mysql" and HIDDEN.search(sql):
        raise SqlRefused("a comment that the server may run is not allowed")
    allowed = TYPED | ONLY.get(dialect, frozenset())
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
    if dialect == "postgres" and any(each.recursive for each in root.find_all(exp.With)):
        raise SqlRefused("WITH RECURSIVE is not allowed on this engine")
    _check_growth(root)


def _check_function(node: exp.Func, allowed: frozenset[str]) -> None:
    if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc)):
        name = node.name
        if name.lower() not in UNTYPED:
            raise SqlRefused(f"the function {name[:40]} is not allowed")
    elif type(node).__name__ not in allowed:
        raise SqlRefused(f"the function {node.sql_name()} is not allowed")


def _check_table(node: exp.Table, dialect: str) -> None:
    place, name = node.db.lower(), node.name.lower()
    if node.catalog or place in CATALOGUES or (dialect == "postgres" and name.startswith("pg_")):
        raise SqlRefused(f"the catalogue {(place or name)[:40]} is not allowed")


def _check_growth(root: exp.Expr) -> None:
    """Hold down what nested queries can make of one value.

    PostgreSQL has no limit of its own below a gigabyte, and MariaDB's planner, which writes one query into
    the other, goes on for half a minute after it was killed.
    """
    for node in root.find_all(exp.Replace, exp.RegexpReplace):
        if not _shrinks(node):
            raise SqlRefused("a replacement must not be longer than what it replaces")
    selects = list(root.find_all(exp.Select))
    named = math.prod(_joined(each) for each in selects if each.find_ancestor(exp.CTE))
    repeats = math.prod(_repeated(each) for each in selects if each.find_ancestor(exp.CTE))
    for select in selects:
        chain = [select, *_ancestors(select)]
        if named * math.prod(map(_joined, chain)) > MAX_GROWTH:
            raise SqlRefused("texts are joined over too many levels")
        if repeats * math.prod(map(_repeated, chain)) > MAX_REPEATS:
            raise SqlRefused("columns are repeated over too many levels")


def _shrinks(node: exp.Expr) -> bool:
    given = node.args.get("expression")
    placed = node.args.get("replacement")
    if placed is None:
        return True
    if not (isinstance(placed, exp.Literal) and isinstance(given, exp.Literal)):
        return False
    most = len(given.this) if isinstance(node, exp.Replace) else 0
    return len(placed.this) <= most


def _ancestors(select: exp.Select) -> list[exp.Select]:
    found = []
    above = select.find_ancestor(exp.Select)
    while above is not None:
        found.append(above)
        above = above.find_ancestor(exp.Select)
    return found


def _joined(select: exp.Select) -> int:
    """Count the parts of the texts that one SELECT joins, at least 1."""
    nodes = list(_own(select))
    pipes = sum(isinstance(each, exp.DPipe) for each in nodes)
    concats = sum(len(each.expressions) for each in nodes if isinstance(each, (exp.Concat, exp.ConcatWs)))
    return 1 + pipes + concats


def _repeated(select: exp.Select) -> int:
    """Count how often one SELECT names the column that it names most, at least 1."""
    names = Counter(each.name for each in _own(select) if isinstance(each, exp.Column))
    return max(names.values(), default=1)


def _own(select: exp.Select) -> list[exp.Expr]:
    """List the nodes of one SELECT without those of the SELECTs in it."""
    return [
        each
        for each in select.walk(prune=lambda node: isinstance(node, exp.Select) and node is not select)
        if each is select or not isinstance(each, exp.Select)
    ]
