"""Write names of tables and columns in SQL, quoted only if necessary."""

from __future__ import annotations

import re

from sqlglot import exp

from tasks.databases.columns import split_column_id

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = frozenset([
    "add", "all", "alter", "and", "as", "asc", "autoincrement", "between", "by", "case", "cast", "check",
    "collate", "column", "commit", "constraint", "create", "cross", "current_date", "current_time",
    "current_timestamp", "default", "deferrable", "delete", "desc", "distinct", "drop", "else", "end",
    "escape", "except", "exists", "false", "for", "foreign", "from", "full", "grant", "group", "having",
    "if", "in", "index", "inner", "insert", "intersect", "into", "is", "isnull", "join", "key", "left",
    "like", "limit", "natural", "not", "nothing", "notnull", "null", "offset", "on", "or", "order", "outer",
    "primary", "raise", "references", "returning", "right", "select", "set", "table", "then", "to",
    "transaction", "true", "union", "unique", "update", "user", "using", "values", "when", "where", "with",
])  # fmt: skip
"""Words that need quotes as names, in SQLite or in another engine."""


def quote_column(column: str) -> exp.Column:
    """Return the expression for a column id, with quotes only around names that need quotes."""
    table, name = split_column_id(column)
    return exp.column(quote_name(name), table=quote_name(table))


def quote_name(name: str) -> exp.Identifier:
    """Return an identifier, with quotes only if the name needs quotes."""
    return exp.to_identifier(name, quoted=needs_quotes(name))


def needs_quotes(name: str) -> bool:
    """Return whether a name must be quoted, because it is reserved or not a plain identifier."""
    return not PLAIN.fullmatch(name) or name.lower() in RESERVED
