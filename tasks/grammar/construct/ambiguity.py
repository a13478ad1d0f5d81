"""Find another query that a text fits as well: what people could take it for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tasks.databases.columns import Column
from tasks.english import make_singular
from tasks.grammar.construct.names import LOOSE, NAMES, UNITS, name_column, name_table, split_words
from tasks.grammar.construct.queries import PLACEHOLDER, Query, table_of
from tasks.grammar.construct.text_rules import LINKS, parse_text
from tasks.grammar.construct.verbalisation import Verbalisation, find_relations, verbalise_query
from tasks.models.ask import Unparsed


def find_rival(
    text: str,
    query: Query,
    columns: Sequence[Column],
    verbalise: Callable[[Query, Sequence[Column]], Verbalisation] = verbalise_query,
) -> Query | None:
    """Find a query with the same given columns that a text fits by the same rules; None if there is none."""
    length = len(text.split())
    said = Counter(_list_said(text))
    for rival in list_rivals(query, columns):
        if not _explains(rival, query, said, columns):
            continue
        try:
            parse_text(text, rival, verbalise(rival, columns), columns, 1, length)
        except Unparsed:
            continue
        return rival
    return None


def _explains(rival: Query, query: Query, said: Counter[str], columns: Sequence[Column]) -> bool:
    """Tell whether a text says every word of a rival's columns, and none that only the query has.

    The rules for texts alone would take `airport code` for the airport's name, as they let weak words go.
    """
    needed = Counter(_list_words(rival.columns, columns))
    weak = NAMES | UNITS | LINKS | (LOOSE if said["when"] else set())
    if any(said[word] < count for word, count in needed.items() if word not in weak):
        return False
    known = {
        make_singular(word) for table in rival.tables for word in split_words(name_table(table, columns))
    }
    return not any(said[word] for word in {*_list_words(query.projection, columns)} - known - {*needed})


def _list_words(names: Sequence[str], columns: Sequence[Column]) -> list[str]:
    words = [word for name in names for word in split_words(name_column(name, columns))]
    return [make_singular(word) for word in words]


def _list_said(text: str) -> list[str]:
    bare = PLACEHOLDER.sub(" ", text).lower()
    return [make_singular(word) for word in re.findall(r"[^\W\d_]+", bare)]


def list_rivals(query: Query, columns: Sequence[Column]) -> Iterator[Query]:
    """List the queries that the same given columns allow: other projections, relations and both."""
    used = set(query.columns)
    asked = [
        column.id
        for column in columns
        if column.table in query.tables and column.descriptive and column.id not in used
    ]
    for shape in (query, *_list_relations(query, columns)):
        if shape != query:
            yield shape
        if len(query.projection) == 1 and query.measure in ("", "list"):
            others = (replace(shape, projection=(name,)) for name in asked if table_of(name) in shape.tables)
            yield from (rival for rival in others if not _has_idle_table(rival))


def _has_idle_table(query: Query) -> bool:
    """Tell whether a query joins a table at its end of which it asks nothing and is given nothing."""
    used = {table_of(name) for name in query.columns}
    joined = Counter(table for pair in query.joins for table in {*map(table_of, pair)})
    return any(count == 1 and table not in used for table, count in joined.items())


def _list_relations(query: Query, columns: Sequence[Column]) -> Iterator[Query]:
    """List the query with one relation exchanged for another between the same two tables."""
    joined = set(query.joins)
    relations = [
        (set(ends), {_sort_pair(key.id, key.references or "") for key in keys})
        for ends, keys in find_relations(columns)
    ]
    for ends, pairs in relations:
        if not pairs <= joined:
            continue
        for other_ends, other_pairs in relations:
            if other_ends == ends and other_pairs != pairs:
                yield replace(query, joins=tuple(sorted(joined - pairs | other_pairs)))


def _sort_pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
