"""Translate queries from the canonical dialect (SQLite's), so that their results are equal on every engine.

Engines differ in how they compare and sort strings. By default, `ann`, `Ann` and `Ann ` are equal in MariaDB;
PostgreSQL sorts by language and puts NULL last. Translated queries compare and sort strings by code points,
like SQLite.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot
from sqlglot import exp

from tasks.databases.columns import Column, make_column_id
from tasks.databases.profile.readings import apply_readings, list_readings, strip_readings

CANONICAL = "sqlite"
"""The dialect of all queries before translation."""
EXACT = {
    "postgres": 'CAST({} AS TEXT) COLLATE "C"',
    "mysql": "CONVERT({} USING utf8mb4) COLLATE utf8mb4_nopad_bin",
}
"""Dialect -> an expression that compares text by code points, including trailing spaces."""


def translate(sql: str, dialect: str, columns: Iterable[Column]) -> str:
    """Translate a canonical SELECT to another dialect.

    The SELECT may contain conditions, joins, DISTINCT, ORDER BY and measures such as count or average.
    `columns`: the database's columns, with their types and conversions (`Column.reading`). Columns in ORDER
    BY must also be selected.
    """
    if dialect == CANONICAL:
        return sql
    columns = list(columns)
    readings = list_readings(columns)
    select = strip_readings(sqlglot.parse_one(sql, dialect=CANONICAL), readings)
    texts = {column.id for column in columns if column.type == "text"}
    for equality in list(select.find_all(exp.EQ)):
        _tighten(equality, texts, dialect)
    for order in _orders(select):
        if order.this not in select.expressions:
            continue
        # By position, because MariaDB loses rows of SELECT DISTINCT if ORDER BY repeats an expression with
        # COLLATE.
        order.set("this", exp.Literal.number(select.expressions.index(order.this) + 1))
        order.set("nulls_first", True)
    for column in list(select.expressions):
        if _is_text(column, texts):
            column.replace(_write_exact(column, dialect))
    return apply_readings(select, readings, dialect).sql(dialect=dialect, identify=True)


def _tighten(equality: exp.Expr, texts: set[str], dialect: str) -> None:
    """Add an exact comparison to a `=` comparison of strings; the `=` is kept so that indexes are used."""
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
    return isinstance(node, exp.Column) and make_column_id(node.table, node.name) in texts


def _orders(select: exp.Expr) -> list[exp.Expr]:
    order = select.args.get("order")
    return list(order.expressions) if order else []
