"""Convert a reader's reading of a text (slots filled with parts of the schema) to queries.

A reading is one line, such as `list films.title; 1 equals people.name; 2 from films.year`. The line contains
the measure, the columns, and a comparison and a column for each numbered value of the text. For a count, the
line names the table. For an extreme, the line also names the column that ranks the rows: `most films.title by
films.runtime_minutes; 1 equals genres.name`. A reading has one query per join path between its tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from tasks.databases.columns import Column, make_column_id
from tasks.grammar.construct.queries import PLACEHOLDER, Measure, Query, column_of, table_of
from tasks.grammar.construct.routes import Route, find_routes
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_rules import find_problem, fits_placeholder, has_mean, has_order
from tasks.models.ask import Unparsed

ReadMeasure = Literal["list", "count", "average", "most", "least"]
FIXED, ORDERED = ("equals", "other"), ("over", "under", "from", "to")
"""`FIXED`: comparisons for lookup columns; `other` marks a second value that the column may equal.
`ORDERED`: comparisons for columns whose values have an order."""
MOST_ASKED = 3
"""The maximum number of columns that a reading may list."""
BETWEEN = 2
"""The maximum number of tables that a join path adds to the reading's tables. Link tables do not count."""
MOST_WAYS = 26
"""The maximum number of join paths: the reader picks a path by its letter."""


@dataclass(frozen=True)
class SlotReading:
    """A reading of a text as filled slots: the measure, the columns and the comparisons."""

    measure: ReadMeasure
    asked: tuple[str, ...]
    """The projected columns; for a count, the table whose rows are counted."""
    ranked_by: str
    """The column that ranks the rows, for `most` and `least`."""
    given: tuple[tuple[str, str], ...]
    """The column and the comparison of each value, in the order of the text."""


@dataclass(frozen=True)
class Slots:
    """The parts of a schema that can fill each slot."""

    listed: tuple[str, ...]
    counted: Mapping[str, str]
    """The key column of each table that can be counted, by table."""
    averaged: tuple[str, ...]
    ranked: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    """For each table with columns to rank rows by: the columns to ask for, and the columns to rank by."""
    fixed: tuple[str, ...]
    ordered: tuple[str, ...]


def list_slots(schema: Sequence[Column]) -> Slots:
    """Return the schema parts that can fill each slot: columns that people ask about, and tables to count."""
    tables = sorted({column.table for column in schema})
    own = {table: [column for column in schema if column.table == table] for table in tables}
    keys = {table: [column.id for column in columns if column.primary_key] for table, columns in own.items()}
    asked = {
        table: tuple(column.id for column in columns if column.descriptive) for table, columns in own.items()
    }
    ordered = {
        table: tuple(column.id for column in columns if has_order(column)) for table, columns in own.items()
    }
    return Slots(
        tuple(name for table in tables for name in asked[table]),
        {key[0].partition(".")[0]: key[0] for key in keys.values() if len(key) == 1},
        tuple(column.id for column in schema if has_mean(column)),
        tuple((asked[table], ordered[table]) for table in tables if ordered[table]),
        tuple(column.id for column in schema if fits_placeholder(column)),
        tuple(name for table in tables for name in ordered[table]),
    )


def number_placeholders(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with its placeholders numbered, and the original placeholder names.

    A numbered placeholder, such as `[1: films.year]`, has no comparison.
    """
    names = tuple(found[1:-1] for found in PLACEHOLDER.findall(text))
    for number, name in enumerate(names, 1):
        text = text.replace(f"[{name}]", f"[{number}: {column_of(name)}]", 1)
    return text, names


def write_reading_grammar(slots: Slots, values: int) -> str:
    """Write a GBNF grammar for the readings of a text that contains `values` values."""
    kinds = {
        "list": f'"list " listed (", " listed){{0,{MOST_ASKED - 1}}}' if slots.listed else "",
        "count": '"count " counted' if slots.counted else "",
        "average": '"average " averaged' if slots.averaged else "",
        "extreme": '("most " | "least ") ranked' if slots.ranked else "",
    }
    names = {
        "listed": _offer(slots.listed),
        "counted": _offer(slots.counted),
        "averaged": _offer(slots.averaged),
        "ranked": " | ".join(f'({_offer(asked)}) " by " ({_offer(ranks)})' for asked, ranks in slots.ranked),
        "fixed": _offer(slots.fixed),
        "ordered": _offer(slots.ordered),
    }
    bounds = [
        f"({_offer(f'{comparison} ' for comparison in comparisons)}) {rule}"
        for rule, comparisons in (("fixed", FIXED), ("ordered", ORDERED))
        if names[rule]
    ]
    given = "".join(f' "; {number} " given' for number in range(1, values + 1))
    lines = [f"root ::= ({' | '.join(filter(None, kinds.values()))}){given}"]
    lines.append(f"given ::= {' | '.join(bounds)}")
    lines += [f"{rule} ::= {offered}" for rule, offered in names.items() if offered]
    return "\n".join(lines)


def parse_reading(text: str, slots: Slots, values: int) -> SlotReading:
    """Parse a reading of a text that contains `values` values. Raises Unparsed."""
    names = sorted({*slots.listed, *slots.fixed, *slots.ordered}, key=len, reverse=True)
    # An empty alternation would match the empty string; `(?!)` matches nothing.
    name = "|".join(map(re.escape, names)) or "(?!)"
    table = "|".join(map(re.escape, sorted(slots.counted, key=len, reverse=True))) or "(?!)"
    found = re.fullmatch(
        rf"(?:count (?P<table>{table})|(?P<measure>list|average|most|least) "
        rf"(?P<asked>(?:{name})(?:, (?:{name})){{0,{MOST_ASKED - 1}}})(?: by (?P<rank>{name}))?)"
        rf"(?P<given>(?:; \d{{1,2}} (?:{'|'.join((*FIXED, *ORDERED))}) (?:{name}))*)[.;]?",
        " ".join(text.split()),
    )
    if found is None:
        raise Unparsed("no_reading: it does not have the form of a reading, or a name is not in the schema")
    measure = cast(ReadMeasure, found["measure"] or "count")
    rank = found["rank"] or ""
    if (measure in ("most", "least")) != bool(rank):
        raise Unparsed(f"no_reading: {measure} must {'not ' if rank else ''}have `by` and a column")
    asked = tuple(re.findall(rf"(?:^|, )({name})(?=, |$)", found["asked"])) if found["asked"] else ()
    if measure != "list" and len(asked) > 1:
        raise Unparsed(f"no_reading: {measure} of {len(asked)} columns; expected one column")
    parts = re.findall(rf"; (\d+) (\w+) ({name})(?=;|$)", found["given"])
    given = {int(number): (column, comparison) for number, comparison, column in parts}
    if len(parts) != values or sorted(given) != list(range(1, values + 1)):
        raise Unparsed(f"no_reading: describes {len(given)} values, but the text has {values}")
    return SlotReading(
        measure, asked or (found["table"],), rank, tuple(given[place] for place in sorted(given))
    )


def _offer(names: Iterable[str]) -> str:
    return " | ".join(map(_quote, names))


def _quote(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


@dataclass(frozen=True)
class ReadQuery:
    """A query for a reading. `names` maps the query's placeholders to the text's placeholders."""

    query: Query
    names: Mapping[str, str]


class ReadingQueries:
    """Converts readings to queries over one schema, and caches the schema's join trees."""

    def __init__(self, schema: Sequence[Column], slots: Slots) -> None:
        self._schema, self._slots = schema, slots
        self._routes: dict[int, list[Route]] = {}

    def list_queries(self, reading: SlotReading, names: Sequence[str]) -> list[ReadQuery]:
        """List a reading's possible queries, via the shortest join paths and via paths with one more table.

        `names` contains the text's placeholders, in the order of the text. Raises BrokenRule if the reading
        has no valid query.
        """
        count = reading.measure == "count"
        asked = (self._slots.counted[reading.asked[0]],) if count else reading.asked
        given = [
            column if comparison == "equals" else f"{column}:{comparison}"
            for column, comparison in reading.given
        ]
        if len(set(given)) < len(given):
            raise BrokenRule("wrong_placeholder", "two values have the same column and comparison")
        ranged = any(comparison in ORDERED for _, comparison in reading.given)
        plain: Measure = "list" if ranged else ""
        measure = plain if reading.measure == "list" else reading.measure
        columns = [*asked, *map(column_of, given), *filter(None, [reading.ranked_by])]
        queries = [
            Query(asked, joins, tuple(sorted(given)), measure, reading.ranked_by)
            for joins in self._list_ways(table_of(asked[0]), frozenset(map(table_of, columns)))
        ]
        if not queries:
            raise BrokenRule("unconnected", f"no foreign keys connect the tables of {', '.join(columns)}")
        renamed = dict(zip(given, names, strict=True))
        problems = [find_problem(query, self._schema) for query in queries]
        if all(problems):
            raise next(filter(None, problems))
        return [
            ReadQuery(query, renamed) for query, wrong in zip(queries, problems, strict=True) if not wrong
        ]

    def _list_ways(self, asked: str, tables: frozenset[str]) -> list[tuple[tuple[str, str], ...]]:
        """List the sets of joins that connect `tables`. All leaf tables of the joins are in `tables`."""
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
        (make_column_id(join.left, left), make_column_id(join.right, other))
        for join in route.tree.joins
        for left, other in join.on
    ]
    return tuple(sorted({(min(pair), max(pair)) for pair in pairs}))
