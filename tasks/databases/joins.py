"""List the join trees of a schema: groups of tables that foreign keys connect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks.databases.columns import Column, split_column_id


@dataclass(frozen=True, order=True)
class Join:
    """One join: `JOIN right ON left.a = right.b AND ...`; `left` is already in the FROM clause."""

    left: str
    right: str
    on: tuple[tuple[str, str], ...]
    """Pairs of (column of `left`, column of `right`)."""


@dataclass(frozen=True, order=True)
class JoinTree:
    """Tables, and the joins that connect them.

    A link table has two foreign keys and no column that questions could use. A link table is in `joins` but
    not in `tables`. Each table occurs once, so two foreign keys to the same table result in two trees.
    """

    tables: tuple[str, ...]
    joins: tuple[Join, ...]

    @property
    def root(self) -> str:
        """Return the first table of the FROM clause."""
        return self.tables[0]

    @property
    def route(self) -> tuple[str, ...]:
        """Return all tables, including link tables, in the order of the FROM clause."""
        return (self.root, *(join.right for join in self.joins))


@dataclass(frozen=True, order=True)
class _JoinKey:
    """A foreign key from `table` to `target`, as pairs of columns."""

    table: str
    target: str
    on: tuple[tuple[str, str], ...]


@dataclass(frozen=True, order=True)
class _Hop:
    """A connection between two tables: one foreign key, or the two foreign keys of a link table."""

    tables: tuple[str, str]
    keys: tuple[_JoinKey, ...]
    link: str = ""


def list_join_trees(columns: Sequence[Column], max_tables: int) -> list[JoinTree]:
    """List every tree of 1 to `max_tables` connected tables, smallest first, in a fixed order.

    Link tables do not count towards `max_tables`: films - film_genres - genres is a tree of films and genres.
    """
    keys = _collect_keys(columns)
    links = _find_links(columns, keys)
    hops = _collect_hops(keys, links)
    tables = sorted({column.table for column in columns} - links)
    layer: set[tuple[frozenset[str], frozenset[_Hop]]] = {
        (frozenset([table]), frozenset()) for table in tables
    }
    found: list[JoinTree] = []
    for _ in range(max_tables):
        found.extend(sorted(_order_joins(members, chosen) for members, chosen in layer))
        layer = {grown for members, chosen in layer for grown in _grow(members, chosen, hops)}
    return found


def _collect_keys(columns: Iterable[Column]) -> list[_JoinKey]:
    pairs: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for column in columns:
        target, name = split_column_id(column.references or "")
        if target and target != column.table:
            pairs[column.table, target].append((column.name, name))
    keys: list[_JoinKey] = []
    for (table, target), on in pairs.items():
        # Keys to different columns of a table form one composite key; keys to the same column are
        # alternatives.
        composite = len({theirs for _, theirs in on}) == len(on)
        keys.extend(
            _JoinKey(table, target, part)
            for part in ([tuple(sorted(on))] if composite else [(p,) for p in on])
        )
    return sorted(keys)


def _find_links(columns: Iterable[Column], keys: Iterable[_JoinKey]) -> set[str]:
    telling = {column.table for column in columns if column.descriptive}
    targets: defaultdict[str, list[str]] = defaultdict(list)
    pointed: set[str] = set()
    for key in keys:
        targets[key.table].append(key.target)
        pointed.add(key.target)
    return {
        table
        for table, tables in targets.items()
        if len(tables) == 2 and len(set(tables)) == 2 and table not in telling and table not in pointed
    }


def _collect_hops(keys: Sequence[_JoinKey], links: set[str]) -> list[_Hop]:
    direct = [_Hop(_sort_pair(key.table, key.target), (key,)) for key in keys if key.table not in links]
    linked = []
    for link in links:
        first, second = (key for key in keys if key.table == link)
        linked.append(_Hop(_sort_pair(first.target, second.target), (first, second), link))
    return sorted(direct + linked)


def _sort_pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def _grow(
    members: frozenset[str], chosen: frozenset[_Hop], hops: Sequence[_Hop]
) -> Iterator[tuple[frozenset[str], frozenset[_Hop]]]:
    for hop in hops:
        new = set(hop.tables) - members
        if len(new) == 1:
            yield members | new, chosen | {hop}


def _order_joins(members: frozenset[str], chosen: frozenset[_Hop]) -> JoinTree:
    """Return the join tree of some hops; the alphabetically first table is its root."""
    tables = tuple(sorted(members))
    reached, waiting, joins = {tables[0]}, sorted(chosen), []
    while waiting:
        hop = next(candidate for candidate in waiting if len(reached & set(candidate.tables)) == 1)
        waiting.remove(hop)
        start, end = hop.tables if hop.tables[0] in reached else hop.tables[::-1]
        joins.extend(_make_joins(hop, start, end))
        reached.add(end)
    return JoinTree(tables, tuple(joins))


def _make_joins(hop: _Hop, start: str, end: str) -> list[Join]:
    if not hop.link:
        key = hop.keys[0]
        on = key.on if key.table == start else _swap_sides(key.on)
        return [Join(start, end, on)]
    near, far = sorted(hop.keys, key=lambda key: key.target != start)
    return [Join(start, hop.link, _swap_sides(near.on)), Join(hop.link, end, far.on)]


def _swap_sides(on: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((theirs, ours) for ours, theirs in on)
