"""What SQL templates are asked for: which tables, which of them is asked about, which columns may be used.

No row is read here: what makes a lookup likely to have one answer is seen in names, types and keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product, zip_longest

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.joins import JoinTree, join_paths
from tasks.grammar.construct.names import split_words
from tasks.grammar.construct.queries import Query, table_of, write_template
from tasks.grammar.construct.sql_rules import fits_placeholder

IDENTIFYING = frozenset(["name", "title", "number", "label", "surname", "email"])
NARROWING = IDENTIFYING | frozenset(["year", "month", "day", "date", "code"])


@dataclass(frozen=True)
class Wish:
    """One request for a SQL template."""

    id: str
    joins: tuple[tuple[str, str], ...]
    """Pairs of columns that connect the tables."""
    projections: tuple[tuple[str, ...], ...]
    """What may be asked for: one of these."""
    placeholders: tuple[tuple[str, ...], ...]
    """For each placeholder, the columns it may be."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are on offer, sorted."""
        return tuple(sorted({each for group in (*self.projections, *self.placeholders) for each in group}))


@dataclass(frozen=True)
class Route:
    """A join tree with the table that is asked about and the tables whose values are given."""

    tree: JoinTree
    asked: str
    given: tuple[str, ...]
    spread: int
    """How often the way from what is given to what is asked meets a one-to-many step."""


def make_wishes(
    columns: Sequence[Column],
    tables: tuple[int, int],
    placeholders: int,
    projected: int,
    offered: int,
    requests: int,
    seed: int,
) -> list[Wish]:
    """List the requests for templates over so many tables, the most promising ones first.

    tables: least and greatest number of tables, link tables not counted; projected: most columns
    that are asked for; offered: columns among which the model chooses.
    """
    routes = _rank_routes(find_routes(columns, tables, placeholders), seed)
    wishes: list[Wish] = []
    seen: set[str] = set()
    for spread in sorted({route.spread for route in routes}):
        for turn in range(requests):
            before = len(seen)
            for route in routes:
                wish = _make_wish(route, columns, placeholders, projected, offered, seed, turn)
                if route.spread == spread and wish and wish.id not in seen:
                    seen.add(wish.id)
                    wishes.append(wish)
            if len(seen) == before:
                break
    return wishes[:requests]


def find_routes(columns: Sequence[Column], tables: tuple[int, int], placeholders: int) -> list[Route]:
    """Find who can be asked about, given what: each table at a tree's edge takes part in the question."""
    least, most = tables
    routes = []
    for tree in join_paths(columns, most):
        if len(tree.tables) < least:
            continue
        for asked in tree.tables:
            edges = [each for each in tree.tables if each != asked and _count_joins(tree, each) < 2]
            given = tuple(edges) or (asked,)
            if len(given) <= placeholders:
                routes.append(
                    Route(
                        tree, asked, given, min(_guess_spread(tree, columns, each, asked) for each in given)
                    )
                )
    return routes


def identify_by(table: str, columns: Sequence[Column]) -> list[str]:
    """Choose the columns that people name a table's rows by."""
    own = [each for each in columns if each.table == table and fits_placeholder(each)]
    telling = [each for each in own if each.primary_key or _names_rows(each)]
    texts = [each for each in own if each.type == "text"]
    return [each.id for each in telling or texts or own]


def narrow_by(columns: Sequence[Column]) -> list[str]:
    """Choose the columns that people add to say which one they mean: words, dates, numbers that are names."""
    fit = [each for each in columns if fits_placeholder(each)]
    said = [each for each in fit if each.type != "integer" or split_words(each.name)[-1] in NARROWING]
    return [each.id for each in said or fit]


def _make_wish(
    route: Route,
    columns: Sequence[Column],
    placeholders: int,
    projected: int,
    offered: int,
    seed: int,
    turn: int,
) -> Wish | None:
    joins = tuple((f"{join.left}.{a}", f"{join.right}.{b}") for join in route.tree.joins for a, b in join.on)
    firsts = [tuple(identify_by(each, columns)) for each in route.given]
    fixed = {each for group in firsts for each in group}
    asked = [each.id for each in columns if each.table == route.asked and each.descriptive]
    if len(route.tree.tables) == 1:
        asked = [each for each in asked if each not in fixed] or asked
    asked = _take(asked, offered, turn, f"{seed} asked {joins}")
    if not asked or not all(firsts):
        return None
    spare = placeholders - len(firsts)
    usable = [each for each in columns if each.table in route.tree.tables and each.id not in asked]
    seconds = tuple(_take(narrow_by(usable), offered, turn, f"{seed} given {joins}"))
    groups = tuple(firsts) + (seconds,) * spare
    choices = tuple(pick for size in range(1, projected + 1) for pick in combinations(asked, size))
    wish = Wish(make_id(joins, choices, groups), joins, choices, groups)
    return wish if any(True for _ in _list_queries(wish)) else None


def list_templates(wish: Wish) -> list[str]:
    """List every SQL template that a wish allows, in its order."""
    return list(dict.fromkeys(write_template(query) for query in _list_queries(wish)))


def _list_queries(wish: Wish) -> Iterator[Query]:
    joins = tuple(sorted((min(pair), max(pair)) for pair in wish.joins))
    for projection in wish.projections:
        for given in product(*wish.placeholders):
            if len(set(given)) == len(given) and not set(given) & set(projection):
                yield Query(projection, joins, tuple(sorted(given)))


def _take(names: Sequence[str], count: int, turn: int, salt: str) -> list[str]:
    """Take the turn's share of the names in a seeded order; each time around the order is another one."""
    shares = max(-(-len(names) // count), 1)
    order = sorted(names, key=lambda name: make_id(salt, turn // shares, name))
    return sorted(order[turn % shares * count :][:count])


def _rank_routes(routes: Sequence[Route], seed: int) -> list[Route]:
    """Put likely single answers first, and let the tables that are asked about take turns."""
    by_spread: defaultdict[int, defaultdict[str, list[Route]]] = defaultdict(lambda: defaultdict(list))
    for route in sorted(
        routes, key=lambda each: (len(each.tree.tables), make_id(seed, each.asked, repr(each.tree)))
    ):
        by_spread[route.spread][route.asked].append(route)
    ranked: list[Route] = []
    for spread in sorted(by_spread):
        turns: Mapping[str, list[Route]] = by_spread[spread]
        asked = sorted(turns, key=lambda table: make_id(seed, table))
        ranked += [route for turn in zip_longest(*(turns[each] for each in asked)) for route in turn if route]
    return ranked


def _count_joins(tree: JoinTree, table: str) -> int:
    return sum(table in (join.left, join.right) for join in tree.joins)


def _guess_spread(tree: JoinTree, columns: Sequence[Column], given: str, asked: str) -> int:
    # Rows that go by no name of their own share what they are looked up by.
    own = [each for each in columns if each.table == given and each.descriptive]
    return _spread(tree, columns, given, asked) + (
        not any(each.primary_key or _names_rows(each) for each in own)
    )


def _names_rows(column: Column) -> bool:
    """Tell whether a column's last word is that of a name: flight_number, but not number_of_engines."""
    return split_words(column.name)[-1] in IDENTIFYING


def _spread(tree: JoinTree, columns: Sequence[Column], given: str, asked: str) -> int:
    points = {(each.id, each.references) for each in columns if each.references}
    steps: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for join in tree.joins:
        a, b = f"{join.left}.{join.on[0][0]}", f"{join.right}.{join.on[0][1]}"
        forward = (a, b) in points
        steps[join.left].append((join.right, 0 if forward else 1))
        steps[join.right].append((join.left, 1 if forward else 0))
    cost, last, waiting = {given: 0}, {given: 0}, [given]
    while waiting:
        here = waiting.pop()
        for table, step in steps[here]:
            if table not in cost:
                cost[table], last[table] = cost[here] + step, step
                waiting.append(table)
    # A question about the many rows of a last one-to-many step seldom has one answer.
    return cost[asked] + last[asked]


def tables_of(wish: Wish) -> tuple[str, ...]:
    """Name all tables of a wish, link tables included, sorted."""
    return tuple(
        sorted({table_of(each) for each in (*wish.columns, *(s for pair in wish.joins for s in pair))})
    )
