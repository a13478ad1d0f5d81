"""Prepare predicted SQL text before it is run."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

FENCE = re.compile(r"```(?:[\w+-]*[ \t]*\r?\n|sql(?:ite)?\b)?(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
SPLIT_OPERATOR = re.compile(r"([<>!]) =")
COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/)", re.DOTALL)
BEGINNING = re.compile(r"\s*(?:SELECT|WITH|VALUES)\b|\s*\(", re.IGNORECASE)


def prepare_prediction(text: str) -> str:
    """Extract the first fenced block if there is one, and prepend SELECT if it is missing.

    A model whose prompt ends with `SELECT` continues with the columns (STREAMBENCH, appendix F.2.1). A
    query that begins with WITH, VALUES or a bracket stays as it is.
    """
    fenced = FENCE.search(text) if "```" in text else None
    sql = (fenced.group(1) if fenced else text).strip()
    return sql if BEGINNING.match(sql, _skip_comments(sql)) else f"SELECT {sql}"


def _skip_comments(sql: str) -> int:
    """Return where the comments end with which a text begins."""
    end = 0
    while comment := COMMENT.match(sql, end):
        end = comment.end()
    return end


def join_operators(sql: str) -> str:
    """Write `> =`, `< =` and `! =` as one operator, in strings too: so does the test suite's evaluation."""
    return SPLIT_OPERATOR.sub(r"\1=", sql)


@lru_cache(maxsize=4096)
def keep_first_statement(sql: str) -> str:
    """Cut what follows the first semicolon outside of strings and comments, as in `SELECT 1;;`."""
    if ";" not in sql:
        return sql
    from sqlglot import TokenType

    ends = (token.end + 1 for token in _tokenize(sql) if token.token_type == TokenType.SEMICOLON)
    return sql[: next(ends, len(sql))]


@lru_cache(maxsize=4096)
def drop_distinct(sql: str) -> str:
    """Remove every DISTINCT, in aggregates and subqueries too, but not in `IS DISTINCT FROM`.

    Text that cannot be tokenised is returned as it is: the engine will report its error.
    """
    if "distinct" not in sql.lower():
        return sql
    from sqlglot import TokenType

    tokens = _tokenize(sql)
    pieces, end = [], 0
    for before, token in zip([None, *tokens], tokens, strict=False):
        comparison = before is not None and before.token_type in {TokenType.IS, TokenType.NOT}
        if token.token_type == TokenType.DISTINCT and not comparison:
            pieces.append(sql[end : token.start])
            end = token.end + 1
    return "".join([*pieces, sql[end:]])


@lru_cache(maxsize=4096)
def has_order(sql: str) -> bool:
    """Return whether ORDER BY occurs anywhere in a query, outside of strings and comments."""
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
