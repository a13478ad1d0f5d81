"""Requests for SQL templates: which tables to join, what to ask about, and which columns may be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column, make_column_id
from tasks.grammar.construct.names import IDENTIFYING, is_identifying, split_words
from tasks.grammar.construct.queries import Query, table_of, write_template
from tasks.grammar.construct.routes import Route, find_routes, rank_routes
from tasks.grammar.construct.sql_rules import fits_placeholder

NARROWING = IDENTIFYING | frozenset(["year", "month", "day", "date", "code"])
"""Last words of integer columns that people use to specify which thing they mean."""


@dataclass(frozen=True)
class TemplateRequest:
    """One request for a SQL template."""

    id: str
    joins: tuple[tuple[str, str], ...]
    """Pairs of columns that connect the tables."""
    projections: tuple[tuple[str, ...], ...]
    """The combinations of columns that may be asked for; the template uses one of them."""
    placeholders: tuple[tuple[str, ...], ...]
    """For each placeholder, the columns it may be."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are on offer, sorted."""
        groups = (*self.projections, *self.placeholders)
        return tuple(sorted({column for group in groups for column in group}))


def list_template_requests(
    columns: Sequence[Column],
    tables: tuple[int, int],
    placeholders: int,
    projected: int,
    offered: int,
    requests: int,
    seed: int,
) -> list[TemplateRequest]:
    """List the requests for templates of one kind, the most promising ones first.

    tables: minimum and maximum number of tables, link tables not counted; projected: maximum number of
    projected columns; offered: number of columns that the model may choose from; requests: how many to list
    at most.
    """
    routes = rank_routes(find_routes(columns, tables, placeholders), seed)
    found: list[TemplateRequest] = []
    seen: set[str] = set()
    for spread in sorted({route.spread for route in routes}):
        for turn in range(requests):
            before = len(seen)
            for route in routes:
                request = _make_request(route, columns, placeholders, projected, offered, seed, turn)
                if route.spread == spread and request and request.id not in seen:
                    seen.add(request.id)
                    found.append(request)
            if len(seen) == before:
                break
    return found[:requests]


def list_templates(request: TemplateRequest) -> list[str]:
    """List every SQL template that a request allows, in a fixed order."""
    return list(dict.fromkeys(write_template(query) for query in _list_queries(request)))


def tables_of(request: TemplateRequest) -> tuple[str, ...]:
    """List all tables of a request, link tables included, sorted."""
    joined = (side for pair in request.joins for side in pair)
    return tuple(sorted({table_of(column) for column in (*request.columns, *joined)}))


def list_identifying_columns(table: str, columns: Sequence[Column]) -> list[str]:
    """List the columns that people identify a table's rows by: keys and names, else texts, else any."""
    usable = [column for column in columns if column.table == table and fits_placeholder(column)]
    identifying = [column for column in usable if column.primary_key or is_identifying(column)]
    texts = [column for column in usable if column.type == "text"]
    return [column.id for column in identifying or texts or usable]


def list_narrowing_columns(columns: Sequence[Column]) -> list[str]:
    """List the columns that people add to specify one thing: texts, dates, and numbers used as names."""
    usable = [column for column in columns if fits_placeholder(column)]
    narrowing = [
        column for column in usable if column.type != "integer" or split_words(column.name)[-1] in NARROWING
    ]
    return [column.id for column in narrowing or usable]


def _make_request(
    route: Route,
    columns: Sequence[Column],
    placeholders: int,
    projected: int,
    offered: int,
    seed: int,
    turn: int,
) -> TemplateRequest | None:
    """Make a route's request for one turn; None if no query is possible."""
    joins = tuple(
        (make_column_id(join.left, a), make_column_id(join.right, b))
        for join in route.tree.joins
        for a, b in join.on
    )
    identifying = [tuple(list_identifying_columns(table, columns)) for table in route.given]
    fixed = {column for group in identifying for column in group}
    asked = [column.id for column in columns if column.table == route.asked and column.descriptive]
    if len(route.tree.tables) == 1:
        asked = [column for column in asked if column not in fixed] or asked
    asked = _choose_share(asked, offered, turn, f"{seed} asked {joins}")
    if not asked or not all(identifying):
        return None
    spare = placeholders - len(identifying)
    usable = [column for column in columns if column.table in route.tree.tables and column.id not in asked]
    narrowing = tuple(_choose_share(list_narrowing_columns(usable), offered, turn, f"{seed} given {joins}"))
    groups = tuple(identifying) + (narrowing,) * spare
    choices = tuple(choice for size in range(1, projected + 1) for choice in combinations(asked, size))
    request = TemplateRequest(make_id(joins, choices, groups), joins, choices, groups)
    return request if any(True for _ in _list_queries(request)) else None


def _list_queries(request: TemplateRequest) -> Iterator[Query]:
    joins = tuple(sorted((min(pair), max(pair)) for pair in request.joins))
    for projection in request.projections:
        for given in product(*request.placeholders):
            if len(set(given)) == len(given) and not set(given) & set(projection):
                yield Query(projection, joins, tuple(sorted(given)))


def _choose_share(names: Sequence[str], count: int, turn: int, salt: str) -> list[str]:
    """Take the turn's share of the names in a seeded order; each pass over all names has another order."""
    shares = max(-(-len(names) // count), 1)
    order = sorted(names, key=lambda name: make_id(salt, turn // shares, name))
    return sorted(order[turn % shares * count :][:count])
