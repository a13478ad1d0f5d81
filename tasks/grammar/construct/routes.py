"""List the routes for questions: a join tree, the table to ask about, and the tables with the given values.

This module reads no rows. Names, types and keys indicate whether a lookup is likely to have one answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column, make_column_id
from tasks.databases.joins import JoinTree, list_join_trees
from tasks.grammar.construct.names import is_identifying


@dataclass(frozen=True)
class Route:
    """A join tree, the table that a question asks about, and the tables with the given values."""

    tree: JoinTree
    asked: str
    given: tuple[str, ...]
    spread: int
    """The estimated number of one-to-many joins from a given value to the table that the question asks about.

    A final one-to-many join counts twice. A table with given values but without an identifying column adds 1.
    If several tables have given values, `spread` is the smallest estimate.
    """


def find_routes(columns: Sequence[Column], tables: tuple[int, int], placeholders: int) -> list[Route]:
    """List the routes within the limits. Each leaf table has a given value or is the table asked about.

    `tables` contains the minimum and maximum number of tables, excluding link tables. `placeholders` is the
    maximum number of given values.
    """
    least, most = tables
    routes = []
    for tree in list_join_trees(columns, most):
        if len(tree.tables) < least:
            continue
        for asked in tree.tables:
            edges = [table for table in tree.tables if table != asked and _count_joins(tree, table) < 2]
            given = tuple(edges) or (asked,)
            if len(given) <= placeholders:
                spread = min(_estimate_spread(tree, columns, table, asked) for table in given)
                routes.append(Route(tree, asked, given, spread))
    return routes


def rank_routes(routes: Sequence[Route], seed: int) -> list[Route]:
    """Sort routes by spread, so that questions that are likely to have one answer come first.

    Routes with the same spread alternate between the tables that questions ask about.
    """
    by_spread: defaultdict[int, defaultdict[str, list[Route]]] = defaultdict(lambda: defaultdict(list))
    for route in sorted(
        # The hash includes the tree's repr, so a renamed class or field would change the order.
        routes,
        key=lambda route: (len(route.tree.tables), make_id(seed, route.asked, repr(route.tree))),
    ):
        by_spread[route.spread][route.asked].append(route)
    ranked: list[Route] = []
    for spread in sorted(by_spread):
        by_table: Mapping[str, list[Route]] = by_spread[spread]
        tables = sorted(by_table, key=lambda table: make_id(seed, table))
        turns = zip_longest(*(by_table[table] for table in tables))
        ranked += [route for turn in turns for route in turn if route]
    return ranked


def _count_joins(tree: JoinTree, table: str) -> int:
    return sum(table in (join.left, join.right) for join in tree.joins)


def _estimate_spread(tree: JoinTree, columns: Sequence[Column], given: str, asked: str) -> int:
    # Without an identifying column, several rows may have the values in the question.
    own = [column for column in columns if column.table == given and column.descriptive]
    shared = not any(column.primary_key or is_identifying(column) for column in own)
    return _count_one_to_many(tree, columns, given, asked) + shared


def _count_one_to_many(tree: JoinTree, columns: Sequence[Column], given: str, asked: str) -> int:
    references = {(column.id, column.references) for column in columns if column.references}
    steps: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for join in tree.joins:
        left, right = make_column_id(join.left, join.on[0][0]), make_column_id(join.right, join.on[0][1])
        many_to_one = (left, right) in references
        steps[join.left].append((join.right, 0 if many_to_one else 1))
        steps[join.right].append((join.left, 1 if many_to_one else 0))
    cost, last, waiting = {given: 0}, {given: 0}, [given]
    while waiting:
        current = waiting.pop()
        for table, step in steps[current]:
            if table not in cost:
                cost[table], last[table] = cost[current] + step, step
                waiting.append(table)
    # A final one-to-many join counts twice, because a question about many rows seldom has one answer.
    return cost[asked] + last[asked]
