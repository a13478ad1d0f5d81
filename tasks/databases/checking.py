"""Parse model-written SQL and refuse anything other than a single SELECT.

Parsing may take arbitrarily long, so only the reader processes call this module. In a reader process, parsing
counts towards the statement's time limit, and the process can be killed.

A server runs statements in its own memory, and every account can read its catalogues. On servers, the check
therefore allows only functions that are known to be harmless. It refuses catalogues, variables, and
expressions that can produce very long strings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from sqlglot import Dialect, TokenType, exp
from sqlglot.errors import SqlglotError

from tasks.databases.collectors import JOINERS, check_collector
from tasks.errors import SqlRefused

MAX_SQL = 50_000
"""Maximum length of a statement in characters; no reasonable query is longer."""
WRITES = (
    exp.Insert,
    exp.Update,
    exp.Delete,
    exp.Merge,
    exp.Create,
    exp.Drop,
    exp.Alter,
    exp.TruncateTable,
    exp.Into,
    exp.Lock,
    exp.Command,
    exp.Pragma,
    exp.Attach,
    exp.Detach,
    exp.Transaction,
    exp.Set,
    exp.Use,
    exp.Copy,
)
"""Parse tree nodes that write or change something; a SELECT must not contain any of them."""
# Allowed functions, with and without a class in sqlglot. The lists omit functions that are not deterministic
# (random, uuid), that wait, lock, signal, read files or reveal the server, or that make a large value from a
# small value (repeat, lpad). Clock functions are allowed here; clock.py excludes them from gold SQL.
TYPED_FUNCTIONS = """
Abs Acos And Any Array ArrayContainsAll ArraySize Ascii Asin Atan Atan2 Avg BitwiseCount Case Cast Cbrt
Ceil Chr Coalesce Collate Concat ConcatWs Contains ContainsAny Conv Convert Corr Cos Cot Count CountIf
CovarPop CovarSamp CumeDist CurrentDate CurrentDatetime CurrentTime CurrentTimestamp Date DateAdd DateDiff
DateSub DateTrunc Day DayOfMonth DayOfWeek DayOfYear Dayname Degrees DenseRank EndsWith Exists Exp Extract
FirstValue Floor Greatest Hex Hour If Initcap JSONBExtract JSONBExtractScalar JSONExtract
JSONExtractScalar JSONType Lag LastDay LastValue Lead Least Localtime Localtimestamp Left Length Ln Log
LogicalAnd LogicalOr Lower MD5 Max Min Minute Mod Mode Month Monthname NthValue Ntile Nullif Or
PercentRank PercentileCont PercentileDisc Pi Pow Quarter Radians Rank RegexpILike RegexpInstr RegexpLike
RegexpReplace Replace Reverse Right Round RowNumber SHA SHA2 Second Sign Sin Soundex SplitPart Sqrt StartsWith
Stddev StddevPop StddevSamp StrPosition StrToDate Substring SubstringIndex Sum Tan Time TimeToStr TimestampAdd
TimestampDiff TimestampTrunc Translate Trim Trunc TryCast TsOrDsToDate TsOrDsToTimestamp Unhex UnixToTime
Upper Variance VariancePop Week WeekOfYear WidthBucket Xor Year
"""
UNTYPED_FUNCTIONS = """
age adddate any_value bit_count crc32 div elt field find_in_set format inet_aton json_length json_unquote
jsonb_typeof json_typeof make_date period_diff row strcmp subdate to_days to_number unix_timestamp weekday
weekofyear
"""
POSTGRES_TYPED_FUNCTIONS = """
ArrayOverlaps AtTimeZone Encode Explode JSONBContains JSONBContainsAllTopKeys JSONBContainsAnyTopKeys
JSONBContainsTopKey JSONObjectKeys JustifyDays JustifyHours JustifyInterval MakeInterval Unnest
"""
POSTGRES_UNTYPED_FUNCTIONS = """
array_length array_lower array_ndims array_position array_upper cardinality daterange int4range int8range
isempty isfinite json_array_elements json_array_elements_text json_array_length json_each json_each_text
json_object_keys jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_each jsonb_each_text
jsonb_object_keys lower_inc lower_inf make_time make_timestamp numrange octet_length tsrange tstzrange
upper_inc upper_inf
"""
"""Functions for arrays, ranges, intervals, JSON and bytes, allowed only on PostgreSQL.

The result of each function is at most twice as long as its arguments.
"""
ALLOWED_TYPED = frozenset(TYPED_FUNCTIONS.split())
ALLOWED_UNTYPED = frozenset(UNTYPED_FUNCTIONS.split())
MYSQL_TYPED_FUNCTIONS = "ConvertTimezone GroupConcat JSONKeys UtcDate UtcTime UtcTimestamp"
"""Functions that are allowed only on MariaDB, because it limits the length of their result."""
MYSQL_UNTYPED_FUNCTIONS = "json_contains json_contains_path json_depth json_valid now"
ALLOWED_BY_DIALECT = {
    "mysql": (frozenset(MYSQL_TYPED_FUNCTIONS.split()), frozenset(MYSQL_UNTYPED_FUNCTIONS.split())),
    "postgres": (frozenset(POSTGRES_TYPED_FUNCTIONS.split()), frozenset(POSTGRES_UNTYPED_FUNCTIONS.split())),
}
"""Dialect -> (functions with a class in sqlglot, functions without a class).

These functions are allowed only in this dialect, in addition to ALLOWED_TYPED and ALLOWED_UNTYPED.
"""
CATALOGUES = frozenset({"information_schema", "pg_catalog", "pg_toast", "mysql", "performance_schema", "sys"})
"""Schemas that describe the server; no query may read them."""
FORBIDDEN: dict[type, str] = {
    exp.Parameter: "a variable",
    exp.SessionParameter: "a server variable",
    exp.PropertyEQ: "an assignment",
    exp.Placeholder: "a placeholder",
    exp.Operator: "OPERATOR()",
    exp.ObjectIdentifier: "a catalogue's type",
    exp.RawString: "a text in dollars",
    exp.TableSample: "TABLESAMPLE",
}
"""Parse tree node that is refused on servers -> the node's name in the error message."""
MISREAD: dict[str, Mapping[str, re.Pattern[str]]] = {
    "mysql": {
        "a comment that the server may run": re.compile(r"/\*M?!|--(?![ \t\n]|\Z)"),
        "a carriage return": re.compile(r"\r(?!\n)"),
        "a comment in a comment": re.compile(r"/\*(?:(?!\*/).)*/\*", re.DOTALL),
    },
    "postgres": {"an escaped name": re.compile(r"[uU]&\"")},
}
"""Dialect -> syntax that the server and the parser interpret differently: as code, text or a comment."""
MAX_GROWTH = 1_000
"""Maximum number of text parts that nested queries may concatenate into one value."""
MAX_REPEATS = 20_000
"""Maximum factor by which nested queries may repeat a column when the planner inlines them."""
MAX_QUERIES = 1_000
"""Maximum number of queries in one statement.

A common table expression counts once, and again for each reference.

MariaDB's optimizer visits all queries of a statement in a loop that neither `max_statement_time` nor `KILL
HARD` stops. WITH inside a common table expression is refused on MariaDB, because the loop may then be
infinite, even with few queries.
"""


def check_select(sql: str, dialect: str = "sqlite") -> exp.Query:
    """Parse a SELECT or a UNION of SELECTs, optionally with WITH. Raises SqlRefused for any other text."""
    if len(sql) > MAX_SQL:
        raise SqlRefused(f"the statement has {len(sql):,} characters, more than {MAX_SQL:,}")
    # The PostgreSQL client library would send only the part of the statement before this character.
    if "\0" in sql:
        raise SqlRefused("the statement contains a NUL character")
    try:
        statements = _parse(sql, dialect)
    except RecursionError:
        raise SqlRefused("the statement is nested too deeply") from None
    except SqlglotError as error:
        raise SqlRefused(f"the statement does not parse: {str(error).splitlines()[0]}") from None
    if len(statements) != 1:
        raise SqlRefused(f"expected one SELECT, got {len(statements)} statements")
    root = statements[0]
    if not isinstance(root, (exp.Select, exp.SetOperation)):
        raise SqlRefused(f"{type(root).__name__.upper()} is not allowed; only SELECT is allowed")
    for node in root.walk():
        if isinstance(node, WRITES):
            raise SqlRefused(f"{type(node).__name__.upper()} is not allowed inside a SELECT")
    if dialect != "sqlite":
        check_server_select(root, sql, dialect)
    return root


def _parse(sql: str, dialect: str) -> list[exp.Expr]:
    engine = Dialect.get_or_raise(dialect)
    tokens = engine.tokenize(sql)
    if not tokens:
        raise SqlRefused("the SQL contains no statement")
    if tokens[0].token_type not in {TokenType.SELECT, TokenType.WITH}:
        raise SqlRefused(f"a statement must begin with SELECT or WITH, not with {tokens[0].text[:40]!r}")
    parsed = engine.parser().parse(tokens, sql)
    return [
        statement
        for statement in parsed
        if statement is not None and not isinstance(statement, exp.Semicolon)
    ]


def check_server_select(root: exp.Expr, sql: str, dialect: str) -> None:
    """Raise SqlRefused if a parsed SELECT uses anything other than user tables and safe functions."""
    for what, pattern in MISREAD[dialect].items():
        if pattern.search(sql):
            raise SqlRefused(f"{what} is not allowed")
    typed, untyped = ALLOWED_BY_DIALECT.get(dialect, (frozenset(), frozenset()))
    typed, untyped = ALLOWED_TYPED | typed, ALLOWED_UNTYPED | untyped
    named_queries = {query.alias.lower() for query in root.find_all(exp.CTE)}
    for node in root.walk():
        if dialect == "postgres" and isinstance(node, JOINERS):
            check_collector(node, named_queries)
        elif isinstance(node, exp.Func):
            _check_function(node, typed, untyped)
        elif isinstance(node, exp.Table):
            _check_table(node, dialect)
        elif type(node) in FORBIDDEN:
            raise SqlRefused(f"{FORBIDDEN[type(node)]} is not allowed")
        # On PostgreSQL, `Postgres` checks the type later, because only the server knows the database's types.
        elif dialect != "postgres" and is_own_type(node):
            raise SqlRefused(f"the type {node.sql()[:40]} is not allowed")
        elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            raise SqlRefused("a schema-qualified function name is not allowed")
    named = list(root.find_all(exp.With))
    if dialect == "postgres" and any(clause.recursive for clause in named):
        raise SqlRefused("WITH RECURSIVE is not allowed on this engine")
    if dialect == "mysql" and any(clause.find_ancestor(exp.CTE) for clause in named):
        raise SqlRefused("WITH inside a common table expression is not allowed on this engine")
    _count_queries(root, {})
    _check_growth(root)


def is_own_type(node: exp.Expr) -> bool:
    """Return whether a node is a type unknown to sqlglot, which PostgreSQL looks up at run time."""
    return isinstance(node, exp.DataType) and node.this == exp.DataType.Type.USERDEFINED


def _check_function(node: exp.Func, typed: frozenset[str], untyped: frozenset[str]) -> None:
    if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc)):
        name = node.name
        if name.lower() not in untyped:
            raise SqlRefused(f"the function {name[:40]} is not allowed")
    elif type(node).__name__ not in typed:
        raise SqlRefused(f"the function {node.sql_name()} is not allowed")


def _check_table(node: exp.Table, dialect: str) -> None:
    place, name = node.db.lower(), node.name.lower()
    if place and isinstance(node.this, exp.Func):
        raise SqlRefused("a schema-qualified function name is not allowed")
    # PostgreSQL finds the tables of pg_catalog even without the schema's name.
    if node.catalog or place in CATALOGUES or (dialect == "postgres" and name.startswith("pg_")):
        raise SqlRefused(f"the catalogue {(place or name)[:40]} is not allowed")


def _check_growth(root: exp.Expr) -> None:
    """Raise SqlRefused if nested queries can make one value too large.

    PostgreSQL allows values of up to one gigabyte. MariaDB's planner inlines nested queries, and keeps
    running for half a minute after a kill.
    """
    for node in root.find_all(exp.Replace, exp.RegexpReplace):
        if not _shrinks(node):
            raise SqlRefused("a replacement must not be longer than what it replaces")
    joined: dict[int, int] = {}
    repeated: dict[int, int] = {}
    named_joined = named_repeated = 1
    for select in root.find_all(exp.Select):  # breadth first: enclosing queries before inner queries
        above = id(select.find_ancestor(exp.Select))
        own = _list_own_nodes(select)
        joins, repeats = _count_joined(own), _count_repeated(own)
        joined[id(select)] = joins * joined.get(above, 1)
        repeated[id(select)] = repeats * repeated.get(above, 1)
        if select.find_ancestor(exp.CTE):
            named_joined, named_repeated = named_joined * joins, named_repeated * repeats
    if named_joined * max(joined.values()) > MAX_GROWTH:
        raise SqlRefused("nested queries concatenate too many strings into one value")
    if named_repeated * max(repeated.values()) > MAX_REPEATS:
        raise SqlRefused("nested queries repeat a column too many times")


def _count_queries(root: exp.Expr, named: Mapping[str, int]) -> int:
    """Count the queries under a node; a common table expression counts once, and again for each reference.

    `named`: the count of each name in scope. Raises SqlRefused if the count exceeds MAX_QUERIES.
    """
    named, total, waiting = dict(named), 0, [root]
    while waiting:
        node = waiting.pop()
        total += isinstance(node, exp.Select)
        if isinstance(node, exp.Table) and not node.db:
            total += named.get(node.name.lower(), 0)
        clause = node.args.get("with_")
        if clause is not None and node is not root:
            total += _count_queries(node, named)
            continue
        if clause is not None:
            for query in clause.expressions:
                named[query.alias.lower()] = count = _count_queries(query.this, named)
                total += count
        if total > MAX_QUERIES:
            raise SqlRefused(
                f"the statement has more than {MAX_QUERIES:,} queries; the queries of a common table "
                "expression count once for each reference to it"
            )
        waiting += [child for child in node.iter_expressions() if child is not clause]
    return total


def _shrinks(node: exp.Expr) -> bool:
    given = node.args.get("expression")
    placed = node.args.get("replacement")
    if placed is None:
        return True
    if not (isinstance(placed, exp.Literal) and isinstance(given, exp.Literal)):
        return False
    # A regular expression may match the empty string, so only an empty replacement never lengthens the text.
    max_length = len(given.this) if isinstance(node, exp.Replace) else 0
    return len(placed.this) <= max_length


def _count_joined(nodes: Sequence[exp.Expr]) -> int:
    """Return the number of text parts that one SELECT concatenates, at least 1.

    Each ENCODE in the SELECT doubles the number.
    """
    pipes = sum(isinstance(node, exp.DPipe) for node in nodes)
    concats = sum(len(node.expressions) for node in nodes if isinstance(node, (exp.Concat, exp.ConcatWs)))
    doubled = sum(isinstance(node, exp.Encode) for node in nodes)
    # 2^20 already exceeds MAX_GROWTH; without this bound, a long statement would produce a huge number.
    return (1 + pipes + concats) << min(doubled, 20)


def _count_repeated(nodes: Sequence[exp.Expr]) -> int:
    """Return how often one SELECT uses its most frequent column, at least 1."""
    names = Counter(node.name for node in nodes if isinstance(node, exp.Column))
    return max(names.values(), default=1)


def _list_own_nodes(select: exp.Select) -> list[exp.Expr]:
    """List the nodes of one SELECT, without the nodes of its subqueries."""
    return [
        inner
        for inner in select.walk(prune=lambda node: isinstance(node, exp.Select) and node is not select)
        if inner is select or not isinstance(inner, exp.Select)
    ]
