"""Find parts of a query whose result depends on the clock, the session or random numbers.

Gold SQL must give the same answer tomorrow and on another machine. Only the query's text is checked, not the
data: a cell that contains `now` is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from sqlglot import Dialect, TokenType
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

WORDS = {
    "sqlite": "current_date current_time current_timestamp",
    "postgres": """
        current_date current_time current_timestamp localtime localtimestamp current_user session_user user
        current_role current_catalog current_schema system_user
    """,
    "mysql": """
        current_date current_time current_timestamp localtime localtimestamp utc_date utc_time utc_timestamp
        current_user current_role sysdate
    """,
}
"""Dialect -> words that depend on the clock or session and are used without parentheses."""
FUNCTIONS = {
    "sqlite": """
        random randomblob changes total_changes last_insert_rowid sqlite_version sqlite_source_id
        sqlite_compileoption_used sqlite_compileoption_get
    """,
    "postgres": """
        now clock_timestamp statement_timestamp transaction_timestamp timeofday random setseed gen_random_uuid
        version current_database current_schema current_schemas current_setting current_query nextval currval
        lastval inet_client_addr inet_client_port inet_server_addr inet_server_port txid_current
    """,
    "mysql": """
        now curdate curtime current_date current_time current_timestamp localtime localtimestamp sysdate
        utc_date utc_time utc_timestamp rand random_bytes uuid uuid_short sys_guid connection_id
        last_insert_id found_rows row_count version database schema user current_user current_role
        session_user system_user nextval lastval
    """,
}
"""Dialect -> functions that depend on the clock, the session, the server or random numbers."""
WITHOUT_ARGUMENTS = {
    "sqlite": "date time datetime julianday unixepoch",
    "postgres": "",
    "mysql": "unix_timestamp",
}
"""Dialect -> functions that read the clock only if they are called without arguments."""
DATES = frozenset({"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"})
"""SQLite's date and time functions.

The time is the first argument, except in strftime (the second) and timediff (both arguments).
"""
NOW = frozenset({"now", "subsec", "subsecond"})
"""Arguments with which SQLite's date functions read the clock."""
ZONE = frozenset({"localtime", "utc"})
"""Arguments with which SQLite's date functions use the time zone."""
SPECIAL_TEXTS = frozenset({"now", "today", "tomorrow", "yesterday"})
"""Strings that PostgreSQL converts to a time relative to now."""
VARIABLES = frozenset({TokenType.PARAMETER, TokenType.SESSION_PARAMETER})
"""Token types of MariaDB's variables."""
TEXTS = frozenset({TokenType.STRING, TokenType.IDENTIFIER})
"""Token types that may be a string literal.

SQLite treats a quoted name as a string if no column has this name.
"""
MAX_TOKENS = 64
"""Maximum number of tokens to search for a function's arguments."""
HINT = re.compile(
    r"now|today|tomorrow|yesterday|current|local|utc|user|rand|uuid|guid|version|session|schema|database|@|"
    r"changes|rowid|_id|sysdate|curdate|curtime|timeofday|timestamp|setseed|_rows|row_count|compileoption|"
    r"source_id|nextval|currval|lastval|pg_|inet_|txid|subsec|strftime|age|\(\s*\)",
    re.IGNORECASE,
)
"""Matches every query whose result may depend on the clock, the session or random numbers.

To save time, `find_clock` tokenises only queries that match.
"""


@lru_cache(maxsize=4096)
def find_clock(sql: str, dialect: str) -> str:
    """Return the first part of a query that depends on the clock, the session or random numbers, or "".

    `dialect`: sqlite, postgres or mysql. The result is also "" if the query cannot be tokenised, because the
    engine then refuses it.
    """
    if HINT.search(sql) is None:
        return ""
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(sql)
    except SqlglotError:
        return ""
    words, functions = WORDS[dialect].split(), FUNCTIONS[dialect].split()
    for place, token in enumerate(tokens):
        name = token.text.lower()
        if token.token_type == TokenType.STRING:
            if dialect == "postgres" and name.strip() in SPECIAL_TEXTS:
                return f"'{token.text}'"
        elif dialect == "mysql" and token.token_type in VARIABLES:
            return token.text
        elif place + 1 < len(tokens) and tokens[place + 1].token_type == TokenType.L_PAREN:
            given = list(_split_arguments(tokens[place + 2 : place + 2 + MAX_TOKENS]))
            if name in functions or name in words or _takes_clock(name, given, dialect):
                return f"{token.text}()"
        # A name after a dot is a column, such as `orders.user`. A quoted name (below) is also a column.
        elif place and tokens[place - 1].token_type == TokenType.DOT:
            continue
        elif name in words and token.token_type != TokenType.IDENTIFIER:
            return token.text
    return ""


def _takes_clock(name: str, given: Sequence[Sequence[Token]], dialect: str) -> bool:
    """Return whether a function reads the clock or the time zone when called with these arguments."""
    if name in WITHOUT_ARGUMENTS[dialect].split() and not given:
        return True
    if dialect == "postgres":
        # With one argument, `age` subtracts from the current date.
        return name.startswith("pg_") or (name == "age" and len(given) == 1)
    if dialect == "sqlite" and name in DATES:
        times = given[1:] if name == "strftime" else given
        texts = [
            part[0].text.lower() if len(part) == 1 and part[0].token_type in TEXTS else "" for part in times
        ]
        first = texts[:2] if name == "timediff" else texts[:1]
        return not times or any(text in NOW for text in first) or any(text in ZONE for text in texts)
    return False


def _split_arguments(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Split the tokens after an opening parenthesis at the commas, up to the closing parenthesis."""
    depth = 0
    part: list[Token] = []
    for token in tokens:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth < 0 or (depth == 0 and token.token_type == TokenType.COMMA):
            if part:
                yield part
            part = []
            if depth < 0:
                return
        else:
            part.append(token)
    yield part
