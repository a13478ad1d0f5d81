"""Parse model-written SQL and refuse everything that is not exactly one SELECT.

Parsing has no bound that is known beforehand, so that only the reading processes call this: there it
counts towards the statement's time, and can be killed.
"""

from __future__ import annotations

from sqlglot import Dialect, TokenType, exp
from sqlglot.errors import SqlglotError

from tasks.databases.server_checking import check_server_select
from tasks.errors import SqlRefused

MAX_SQL = 50_000
"""In characters: no reasonable query is longer."""
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


def check_select(sql: str, dialect: str = "sqlite") -> exp.Query:
    """Parse one SELECT, a UNION of SELECTs, or either of them under WITH. Raises SqlRefused."""
    if len(sql) > MAX_SQL:
        raise SqlRefused(f"the statement has {len(sql):,} characters, more than {MAX_SQL:,}")
    if "\0" in sql:
        raise SqlRefused("the statement holds a NUL character")
    try:
        statements = _parse(sql, dialect)
    except RecursionError:
        raise SqlRefused("the statement is nested too deeply") from None
    except SqlglotError as error:
        raise SqlRefused(f"the statement does not parse: {str(error).splitlines()[0]}") from None
    if len(statements) != 1:
        raise SqlRefused(f"{len(statements)} statements, where one SELECT is allowed")
    root = statements[0]
    if not isinstance(root, (exp.Select, exp.SetOperation)):
        raise SqlRefused(f"{type(root).__name__.upper()} is not allowed, only SELECT is")
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
        raise SqlRefused("there is no statement")
    if tokens[0].token_type not in {TokenType.SELECT, TokenType.WITH}:
        raise SqlRefused(f"a statement must begin with SELECT or WITH, not with {tokens[0].text[:40]!r}")
    parsed = engine.parser().parse(tokens, sql)
    return [
        statement
        for statement in parsed
        if statement is not None and not isinstance(statement, exp.Semicolon)
    ]
