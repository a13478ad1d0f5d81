"""Prepare predicted SQL text for execution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

FENCE = re.compile(r"```(?:[\w+-]*[ \t]*\r?\n|sql(?:ite)?\b)?(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
SPLIT_OPERATOR = re.compile(r"([<>!]) =")
COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/)", re.DOTALL)
BEGINNING = re.compile(r"\s*(?:SELECT|WITH|VALUES)\b|\s*\(", re.IGNORECASE)


def prepare_prediction(text: str) -> str:
    """Return the first fenced block or the whole text, with SELECT prepended if it is missing.

    If the prompt ends with `SELECT`, the model continues with the columns (STREAMBENCH, appendix F.2.1).
    Queries that begin with `WITH`, `VALUES` or an opening parenthesis are not changed.
    """
    fenced = FENCE.search(text) if "```" in text else None
    sql = (fenced.group(1) if fenced else text).strip()
    return sql if BEGINNING.match(sql, _skip_comments(sql)) else f"SELECT {sql}"


def _skip_comments(sql: str) -> int:
    """Return the position after the comments at the beginning of a text."""
    end = 0
    while comment := COMMENT.match(sql, end):
        end = comment.end()
    return end


def join_operators(sql: str) -> str:
    """Join `> =`, `< =` and `! =` into one operator each, even in strings, as the test suite does."""
    return SPLIT_OPERATOR.sub(r"\1=", sql)


@lru_cache(maxsize=4096)
def keep_first_statement(sql: str, dialect: str = "sqlite") -> str:
    """Remove everything after the first semicolon outside strings and comments, as in `SELECT 1;;`."""
    if ";" not in sql:
        return sql
    from sqlglot import TokenType

    ends = (token.end + 1 for token in _tokenize(sql, dialect) if token.token_type == TokenType.SEMICOLON)
    return sql[: next(ends, len(sql))]


@lru_cache(maxsize=4096)
def drop_distinct(sql: str, dialect: str = "sqlite") -> str:
    """Remove every DISTINCT, including in aggregates and subqueries.

    Exceptions: `IS DISTINCT FROM`; `DISTINCT ON (...)`, which selects rows; and `COUNT(DISTINCT a, b)`,
    which is not valid without DISTINCT. `dialect`: the engine's dialect. Text that cannot be tokenised is
    returned unchanged, because the engine reports the error.
    """
    if "distinct" not in sql.lower():
        return sql
    from sqlglot import TokenType

    tokens = _tokenize(sql, dialect)
    pieces, end = [], 0
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.DISTINCT and not _is_needed(tokens, place):
            pieces.append(sql[end : token.start])
            end = token.end + 1
    return "".join([*pieces, sql[end:]])


def _is_needed(tokens: Sequence[Token], place: int) -> bool:
    """Return whether the DISTINCT at token `place` is one of the exceptions of `drop_distinct`."""
    from sqlglot import TokenType

    before = tokens[place - 1].token_type if place else None
    after = [token.token_type for token in tokens[place + 1 : place + 3]]
    if before in {TokenType.IS, TokenType.NOT} or after == [TokenType.ON, TokenType.L_PAREN]:
        return True
    if before != TokenType.L_PAREN or place < 2 or tokens[place - 2].text.lower() != "count":
        return False
    depth = 0
    for token in tokens[place + 1 :]:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth < 0:
            return False
        if depth == 0 and token.token_type == TokenType.COMMA:
            return True
    return False


@lru_cache(maxsize=4096)
def has_order(sql: str, dialect: str = "sqlite") -> bool:
    """Return whether ORDER BY occurs anywhere in a query, outside strings and comments."""
    if "order" not in sql.lower():
        return False
    from sqlglot import TokenType

    return any(token.token_type == TokenType.ORDER_BY for token in _tokenize(sql, dialect))


@lru_cache(maxsize=4096)
def _tokenize(sql: str, dialect: str) -> list[Token]:
    from sqlglot import Dialect
    from sqlglot.errors import SqlglotError

    try:
        return Dialect.get_or_raise(dialect).tokenize(sql)
    except SqlglotError:
        return []
