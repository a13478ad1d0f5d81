"""One meaning on every engine: queries are written in SQLite's dialect, and said to each engine in its own.

Engines differ in what they hold for equal and in how they sort. MariaDB takes `ann` for `Ann` and both for
`Ann ` by default; PostgreSQL sorts by language and puts NULL last. Here text is compared and sorted by its
characters' code points, as SQLite does.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot
from sqlglot import exp

from tasks.databases.columns import Column

CANONICAL = "sqlite"
EXACT = {
    "postgres": 'CAST({} AS TEXT) COLLATE "C"',
    "mysql": "CONVERT({} USING utf8mb4) COLLATE utf8mb4_nopad_bin",
}
"""How an engine is told to take text by its code points, with its trailing spaces."""


def translate(sql: str, dialect: str, columns: Iterable[Column]) -> str:
    """Write a canonical SELECT (select, project, join, DISTINCT, ORDER BY) for another engine.

    columns: of the database, in the catalogue's own spelling; they tell which are text. What stands under
    ORDER BY must be selected too.
    """
    if dialect == CANONICAL:
        return sql
    select = sqlglot.parse_one(sql, dialect=CANONICAL)
    texts = {each.id for each in columns if each.type == "text"}
    for equality in list(select.find_all(exp.EQ)):
        _tighten(equality, texts, dialect)
    for order in _orders(select):
        # By place: MariaDB loses rows of SELECT DISTINCT where ORDER BY repeats an expression with COLLATE.
        order.set("this", exp.Literal.number(select.expressions.index(order.this) + 1))
        order.set("nulls_first", True)
    for column in list(select.expressions):
        if _is_text(column, texts):
            column.replace(_write_exact(column, dialect))
    return select.sql(dialect=dialect, identify=True)


def _tighten(equality: exp.Expr, texts: set[str], dialect: str) -> None:
    """Let an equality of texts hold as it stands, for the index, and to the letter as well."""
    left, right = equality.this, equality.expression
    if not (_is_text(left, texts) or _is_text(right, texts)):
        return
    exact = exp.EQ(this=_exactly(left, texts, dialect), expression=_exactly(right, texts, dialect))
    equality.replace(exp.paren(exp.and_(equality.copy(), exact)))


def _exactly(side: exp.Expr, texts: set[str], dialect: str) -> exp.Expr:
    return _write_exact(side, dialect) if _is_text(side, texts) else side.copy()


def _write_exact(column: exp.Expr, dialect: str) -> exp.Expr:
    name = column.sql(dialect=dialect, identify=True)
    return sqlglot.parse_one(EXACT[dialect].format(name), dialect=dialect)


def _is_text(node: exp.Expr, texts: set[str]) -> bool:
    return isinstance(node, exp.Column) and f"{node.table}.{node.name}" in texts


def _orders(select: exp.Expr) -> list[exp.Expr]:
    order = select.args.get("order")
    return list(order.expressions) if order else []
