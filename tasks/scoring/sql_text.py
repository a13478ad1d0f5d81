"""What is done to SQL text before it runs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

FENCE = re.compile(r"```(?:[\w+-]*[ \t]*\r?\n|sql(?:ite)?\b)?(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/)", re.DOTALL)
BEGINNING = re.compile(r"\s*(?:SELECT|WITH|VALUES)\b|\s*\(", re.IGNORECASE)


def prepare_prediction(text: str) -> str:
    """Take the first fenced block where there is one, and add SELECT where it is missing.

    A model that was shown `SELECT` as the beginning of its answer goes on with the columns
    (STREAMBENCH, appendix F.2.1). A query that begins with WITH, VALUES or a bracket lacks nothing.
    """
    fenced = FENCE.search(text) if "```" in text else None
    sql = (fenced.group(1) if fenced else text).strip()
    return sql if BEGINNING.match(_skip_comments(sql)) else f"SELECT {sql}"


def _skip_comments(sql: str) -> str:
    while comment := COMMENT.match(sql):
        sql = sql[comment.end() :]
    return sql


@lru_cache(maxsize=4096)
def drop_distinct(sql: str) -> str:
    """Take every DISTINCT out, in aggregates and subqueries too, but not out of `IS DISTINCT FROM`.

    Text that does not tokenize is given back as it is: the engine will name its error.
    """
    if "distinct" not in sql.lower():
        return sql
    from sqlglot import TokenType

    tokens = _tokenize(sql)
    for before, token in reversed(list(zip([None, *tokens], tokens, strict=False))):
        comparison = before is not None and before.token_type in {TokenType.IS, TokenType.NOT}
        if token.token_type == TokenType.DISTINCT and not comparison:
            sql = sql[: token.start] + sql[token.end + 1 :]
    return sql


@lru_cache(maxsize=4096)
def has_order(sql: str) -> bool:
    """Tell whether ORDER BY occurs anywhere in a query, but not in a string or a comment."""
    if "order" not in sql.lower():
        return False
    from sqlglot import TokenType

    return any(token.token_type == TokenType.ORDER_BY for token in _tokenize(sql))


@lru_cache(maxsize=4096)
def _tokenize(sql: str) -> list[Token]:
    from sqlglot import Dialect
    from sqlglot.errors import SqlglotError

    try:
        return Dialect.get_or_raise("sqlite").tokenize(sql)
    except SqlglotError:
        return []
