"""Scripted readings of SQL: equivalent queries with other syntax, and errors that no mutation makes."""

import re
from collections.abc import Sequence

import sqlglot
from sqlglot import exp

DIALECT = "sqlite"


def rewrite(sql: str, turn: int) -> str:
    """Return an equivalent query with other syntax. turn: number of the rewriting."""
    tree = sqlglot.parse_one(sql, dialect=DIALECT)
    ways = (_flip_sides, _reorder_conditions, _spell_out, _reverse_columns, _nest, _alias_tables)
    return ways[turn % len(ways)](tree).sql(dialect=DIALECT)


def _flip_sides(tree: exp.Expr) -> exp.Expr:
    flipped = {exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ}
    for node in list(tree.find_all(*flipped)):
        node.replace(flipped[type(node)](this=node.expression.copy(), expression=node.this.copy()))
    return tree


def _reorder_conditions(tree: exp.Expr) -> exp.Expr:
    for node in list(tree.find_all(exp.And, exp.Or)):
        one, other = node.this.copy(), node.expression.copy()
        node.set("this", other)
        node.set("expression", one)
    return tree


def _spell_out(tree: exp.Expr) -> exp.Expr:
    for node in list(tree.find_all(exp.Between)):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        node.replace(exp.paren(exp.and_(low, exp.LTE(this=node.this.copy(), expression=node.args["high"]))))
    for node in list(tree.find_all(exp.In)):
        if node.expressions:
            same = [exp.EQ(this=node.this.copy(), expression=value.copy()) for value in node.expressions]
            node.replace(exp.paren(exp.or_(*same)))
    return tree


def _reverse_columns(tree: exp.Expr) -> exp.Expr:
    if isinstance(tree, exp.Select) and not any(
        isinstance(ordered.this, exp.Literal) for ordered in tree.find_all(exp.Ordered)
    ):
        tree.set("expressions", tree.expressions[::-1])
    return tree


def _nest(tree: exp.Expr) -> exp.Expr:
    return sqlglot.parse_one(f"SELECT * FROM ({tree.sql(dialect=DIALECT)}) AS answer", dialect=DIALECT)


def _alias_tables(tree: exp.Expr) -> exp.Expr:
    for select in tree.find_all(exp.Select):
        tables = [node for node in select.find_all(exp.Table) if node.find_ancestor(exp.Select) is select]
        for number, table in enumerate(tables):
            if table.alias:
                continue
            for column in select.find_all(exp.Column):
                if column.table == table.name:
                    column.set("table", exp.to_identifier(f"t{number}"))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(f"t{number}")))
    return tree


def list_slips(sql: str, others: Sequence[str]) -> list[str]:
    """List wrong readings made by text edits. others: SQL with the same placeholders and another meaning."""
    slips = [
        f"SELECT COUNT(*) FROM ({sql}) AS answer",
        f"SELECT answer.*, 1 FROM ({sql}) AS answer",
        f"SELECT * FROM ({sql}) AS answer LIMIT 1",
        f"SELECT DISTINCT * FROM ({sql}) AS answer",
        re.sub(r" AND (?:(?! AND ).)*?(?= GROUP| ORDER| LIMIT|$)", "", sql, count=1),
        re.sub(r" (?:GROUP BY|HAVING|ORDER BY) .*$", "", sql),
        sql.replace("COUNT(*)", "COUNT(*) + 1", 1),
        re.sub(r"'\[([^\]#]*)\]'", r"'[\1]x'", sql, count=1).replace("]x'", "]' || ' '"),
    ]
    return [slip for slip in dict.fromkeys([*slips, *others]) if slip != sql]
