"""Bind the literals in a query's comparisons as parameters, so that an engine parses each template once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tasks.databases.columns import Column
from tasks.databases.dialects import CANONICAL, translate
from tasks.databases.values import LARGEST, Value

PIECES = re.compile(
    r"""
    "(?:[^"]|"")*"                                      # a quoted name
    | (?P<operator>(?:[=<>]|\b(?:BETWEEN|AND|LIKE))\ )  # values that are compared, and no other: `ORDER BY 1`
      (?P<value>'(?:[^']|'')*'|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))
    | '(?:[^']|'')*'
    """,
    re.VERBOSE,
)


def bind(sql: str, dialect: str, columns: Iterable[Column]) -> tuple[str, tuple[Value, ...]]:
    """Convert canonical SQL to an engine's dialect; return the statement and its bound values.

    Values are bound only for SQLite. `columns`: the database's columns, used for other dialects.
    """
    return split_literals(sql) if dialect == CANONICAL else (translate(sql, dialect, columns), ())


def split_literals(sql: str) -> tuple[str, tuple[Value, ...]]:
    """Replace literals in canonical SQL with question marks; return the statement and the values.

    Only literals next to an operator are replaced. In this position, SQLite treats a bound value like a
    literal.
    """
    values: list[Value] = []

    def take(match: re.Match[str]) -> str:
        text = match["value"]
        if text is None:
            return match.group()
        value = read_literal(text)
        if isinstance(value, int) and not -LARGEST <= value < LARGEST:  # SQLite reads such integers as floats
            return match.group()
        values.append(value)
        return f"{match['operator']}?"

    return PIECES.sub(take, sql), tuple(values)


def read_literal(text: str) -> str | int | float:
    """Return the value of a canonical SQL literal: a quoted string, an integer or a float."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return float(text) if set(text) & set(".eE") else int(text)
