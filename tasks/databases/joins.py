"""Which tables can be asked about together: groups that foreign keys connect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks.databases.columns import Column


@dataclass(frozen=True, order=True)
class Join:
    """`JOIN right ON left.a = right.b AND ...`; `left` already stands in the FROM clause."""

    left: str
    right: str
    on: tuple[tuple[str, str], ...]
    """Pairs of columns: of `left`, of `right`."""


@dataclass(frozen=True, order=True)
class JoinTree:
    """Tables that belong together, and how SQL gets from the first to all others.

    A link table (two foreign keys and nothing to ask about) stands in `joins` but not in `tables`.
    Each table is used once, so two foreign keys to one table give two trees.
    """

    tables: tuple[str, ...]
    joins: tuple[Join, ...]

    @property
    def root(self) -> str:
        """The table that FROM names."""
        return self.tables[0]

    @property
    def route(self) -> tuple[str, ...]:
        """All tables of the SQL, link tables included, in the order of its FROM clause."""
        return (self.root, *(join.right for join in self.joins))


@dataclass(frozen=True, order=True)
class _Key:
    """One foreign key: `table` points at `target`."""

    table: str
    target: str
    on: tuple[tuple[str, str], ...]


@dataclass(frozen=True, order=True)
class _Hop:
    """How two tables meet: by one key, or by the two keys of a link table."""

    ends: tuple[str, str]
    keys: tuple[_Key, ...]
    link: str = ""


def join_paths(columns: Sequence[Column], max_tables: int) -> list[JoinTree]:
    """List every tree of 1 to `max_tables` connected tables, smallest first, in a fixed order.

    A link table is a free hop: films - film_genres - genres is a tree over films and genres.
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
        found.extend(sorted(_lay_out(members, chosen) for members, chosen in layer))
        layer = {grown for members, chosen in layer for grown in _grow(members, chosen, hops)}
    return found


def _collect_keys(columns: Iterable[Column]) -> list[_Key]:
    pairs: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for column in columns:
        target, _, name = (column.references or "").partition(".")
        if target and target != column.table:
            pairs[column.table, target].append((column.name, name))
    keys: list[_Key] = []
    for (table, target), on in pairs.items():
        # Keys to different columns of one table are one composite key; keys to the same column are rivals.
        composite = len({theirs for _, theirs in on}) == len(on)
        keys.extend(
            _Key(table, target, part) for part in ([tuple(sorted(on))] if composite else [(p,) for p in on])
        )
    return sorted(keys)


def _find_links(columns: Iterable[Column], keys: Iterable[_Key]) -> set[str]:
    telling = {column.table for column in columns if column.descriptive}
    targets: defaultdict[str, list[str]] = defaultdict(list)
    pointed: set[str] = set()
    for key in keys:
        targets[key.table].append(key.target)
        pointed.add(key.target)
    return {
        table
        for table, ends in targets.items()
        if len(ends) == 2 and len(set(ends)) == 2 and table not in telling and table not in pointed
    }


def _collect_hops(keys: Sequence[_Key], links: set[str]) -> list[_Hop]:
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
        new = set(hop.ends) - members
        if len(new) == 1:
            yield members | new, chosen | {hop}


def _lay_out(members: frozenset[str], chosen: frozenset[_Hop]) -> JoinTree:
    """Put a set of hops into the order of a FROM clause, from the first table by name."""
    tables = tuple(sorted(members))
    reached, waiting, joins = {tables[0]}, sorted(chosen), []
    while waiting:
        hop = next(each for each in waiting if len(reached & set(each.ends)) == 1)
        waiting.remove(hop)
        start, end = hop.ends if hop.ends[0] in reached else hop.ends[::-1]
        joins.extend(_step(hop, start, end))
        reached.add(end)
    return JoinTree(tables, tuple(joins))


def _step(hop: _Hop, start: str, end: str) -> list[Join]:
    if not hop.link:
        key = hop.keys[0]
        on = key.on if key.table == start else _flip(key.on)
        return [Join(start, end, on)]
    near, far = sorted(hop.keys, key=lambda key: key.target != start)
    return [Join(start, hop.link, _flip(near.on)), Join(hop.link, end, far.on)]


def _flip(on: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((theirs, own) for own, theirs in on)
