"""Write the queries that a reading may mean: one for each way in which foreign keys join its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.databases.columns import Column, make_column_id
from tasks.grammar.construct.queries import Measure, Query, column_of, table_of
from tasks.grammar.construct.reading_slots import ORDERED, SlotReading, Slots
from tasks.grammar.construct.routes import Route, find_routes
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_rules import check_question

BETWEEN = 2
"""Tables that a way may pass through beside those that the reading names; link tables are not counted."""
MOST_WAYS = 26


@dataclass(frozen=True)
class ReadQuery:
    """A query that a text was read as. names: its placeholder -> the one of the text that it is filled as."""

    query: Query
    names: Mapping[str, str]


class ReadingQueries:
    """Writes readings of one schema as queries; keeps the schema's join trees."""

    def __init__(self, schema: Sequence[Column], slots: Slots) -> None:
        self._schema, self._slots = schema, slots
        self._routes: dict[int, list[Route]] = {}

    def list_queries(self, reading: SlotReading, names: Sequence[str]) -> list[ReadQuery]:
        """List what a reading may mean, the shortest way first, and those by one table more.

        names: of the text's placeholders, in its order. Raises BrokenRule if it makes no query.
        """
        count = reading.measure == "count"
        asked = (self._slots.counted[reading.asked[0]],) if count else reading.asked
        given = [
            column if comparison == "equals" else f"{column}:{comparison}"
            for column, comparison in reading.given
        ]
        if len(set(given)) < len(given):
            raise BrokenRule("wrong_placeholder", "two values are read as the same")
        ranged = any(comparison in ORDERED for _, comparison in reading.given)
        plain: Measure = "list" if ranged else ""
        measure = plain if reading.measure == "list" else reading.measure
        columns = [*asked, *map(column_of, given), *filter(None, [reading.ranked_by])]
        queries = [
            Query(asked, joins, tuple(sorted(given)), measure, reading.ranked_by)
            for joins in self._list_ways(table_of(asked[0]), frozenset(map(table_of, columns)))
        ]
        if not queries:
            raise BrokenRule("unconnected", f"no keys lead from one to the other: {', '.join(columns)}")
        renamed = dict(zip(given, names, strict=True))
        problems = [_find_problem(query, self._schema) for query in queries]
        if all(problems):
            raise next(filter(None, problems))
        return [
            ReadQuery(query, renamed) for query, wrong in zip(queries, problems, strict=True) if not wrong
        ]

    def _list_ways(self, asked: str, tables: frozenset[str]) -> list[tuple[tuple[str, str], ...]]:
        """List the sets of joins that connect these tables, and have no other at an edge."""
        found: dict[tuple[tuple[str, str], ...], None] = {}
        for size in range(len(tables), len(tables) + BETWEEN + 1):
            shortest = not found
            for route in self._find_routes(size):
                if route.asked == asked and set(route.given) <= tables <= set(route.tree.tables):
                    found[_list_joins(route)] = None
            if found and not shortest:
                break
        return list(found)[:MOST_WAYS]

    def _find_routes(self, size: int) -> list[Route]:
        if size not in self._routes:
            self._routes[size] = find_routes(self._schema, (size, size), size)
        return self._routes[size]


def _list_joins(route: Route) -> tuple[tuple[str, str], ...]:
    pairs = [
        (make_column_id(join.left, one), make_column_id(join.right, other))
        for join in route.tree.joins
        for one, other in join.on
    ]
    return tuple(sorted({(min(pair), max(pair)) for pair in pairs}))


def _find_problem(query: Query, schema: Sequence[Column]) -> BrokenRule | None:
    """Return the rule that a query breaks, if it makes no sensible question."""
    try:
        check_question(query, schema)
    except BrokenRule as broken:
        return broken
    return None
