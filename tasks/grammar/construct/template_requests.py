"""Make the requests for SQL templates: the tables to join, the columns to ask for, and the lookup columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column, make_column_id
from tasks.grammar.construct.measured_words import find_kind
from tasks.grammar.construct.names import (
    IDENTIFYING,
    KEY_WORDS,
    MANY,
    NAMES,
    find_last_word,
    is_identifying,
    name_column,
    split_words,
    tells_year,
)
from tasks.grammar.construct.queries import Measure, Query, column_of, table_of
from tasks.grammar.construct.routes import Route, find_routes, rank_routes
from tasks.grammar.construct.sql_rules import find_problem, fits_placeholder, has_mean, has_order
from tasks.grammar.construct.verbalisation import list_used_relations
from tasks.settings import Settings

Compared = Literal["", "over", "under", "from", "to", "between", "pair"]
"""A comparison other than `=`: with one bound, two bounds (`between`), or two names (`pair`)."""
SUFFIXES: Mapping[Compared, tuple[str, ...]] = {
    "": (), "over": (":over",), "under": (":under",), "from": (":from",), "to": (":to",),
    "between": (":from", ":to"), "pair": ("", ":other"),
}  # fmt: skip

MONEY = frozenset(["usd", "eur", "gbp", "dollars", "euros", "pounds"])
"""The units that mark a column as an amount of money."""
NARROWING = IDENTIFYING | frozenset(["year", "month", "day", "date", "code"])
"""The last words in the names of integer columns that people use to identify a row."""


class TemplateShape(Settings):
    """The common properties of all templates of a kind."""

    tables: tuple[int, int]
    """The minimum and maximum number of tables; link tables are not counted."""
    placeholders: int = Field(ge=1, le=4)
    """The number of placeholders; each bound counts as one."""
    measure: Measure = ""
    """The measure that the query computes from several rows (an extension of the GRAMMAR paper)."""
    compared: Compared = ""
    """The comparison other than `=`; empty if there is none."""
    projected: int = Field(default=1, ge=1, le=3)
    """The maximum number of projected columns."""

    @property
    def equal(self) -> int:
        """The number of placeholders that are compared with `=`."""
        return self.placeholders - len(SUFFIXES[self.compared])

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.equal < 0:
            raise ValueError(f"{self.compared} needs {-self.equal} more placeholders")
        if self.compared and not self.measure:
            raise ValueError(f"{self.compared} needs a measure")
        if (self.compared == "pair") > (self.measure in ("most", "least")):
            raise ValueError("pair needs the measure most or least")
        return self


@dataclass(frozen=True)
class TemplateRequest:
    """A request for a SQL template."""

    id: str
    joins: tuple[tuple[str, str], ...]
    """The pairs of columns that join the tables."""
    projections: tuple[tuple[str, ...], ...]
    """The combinations of columns that a query may return; the template uses one combination."""
    placeholders: tuple[tuple[str, ...], ...]
    """The columns that each placeholder may be compared with."""
    measure: Measure = ""
    ranked_by: tuple[str, ...] = ()
    """The columns that `most` or `least` may rank rows by."""
    varied: tuple[tuple[str, ...], ...] = ()
    """Sets of placeholders with a comparison other than `=`; the template uses one set."""
    queries: tuple[Query, ...] = ()
    """Every query that the request allows, in a fixed order."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the request offers, sorted."""
        groups = (*self.projections, *self.placeholders, self.ranked_by, *self.varied)
        return tuple(sorted({column_of(name) for group in groups for name in group}))


def list_template_requests(
    columns: Sequence[Column], shape: TemplateShape, offered: int, requests: int, seed: int
) -> list[TemplateRequest]:
    """List up to `requests` requests for templates of one shape, the most promising requests first.

    `offered` is the maximum number of columns that a request offers for each use (see
    `SqlTemplates.offered`).
    """
    routes = rank_routes(find_routes(columns, shape.tables, max(shape.equal, 1)), seed)
    if shape.measure:
        # A measure is computed over the many rows that belong to one given name.
        routes = [route for route in routes if route.spread or len(route.tree.tables) == 1]
        routes = [route for route in routes if shape.equal or len(route.tree.tables) == 1]
    spreads = sorted({route.spread for route in routes}) if not shape.measure else [None]
    found: list[TemplateRequest] = []
    seen: set[str] = set()
    for spread in spreads:
        for turn in range(requests):
            before = len(seen)
            for route in routes:
                if spread not in (None, route.spread):
                    continue
                request = _make_request(route, columns, shape, offered, seed, turn)
                if request and request.id not in seen:
                    seen.add(request.id)
                    found.append(request)
            if len(seen) == before:
                break
    return found[:requests]


def tables_of(request: TemplateRequest) -> tuple[str, ...]:
    """Return all tables of a request, including link tables, sorted."""
    joined = (side for pair in request.joins for side in pair)
    return tuple(sorted({table_of(column) for column in (*request.columns, *joined)}))


def list_identifying_columns(table: str, columns: Sequence[Column]) -> list[str]:
    """List the columns that identify a table's rows.

    The list contains only columns that fit a placeholder: the keys and names, or the text columns if there
    are no keys or names. If there are no text columns either, all columns that fit a placeholder are
    listed. Bare primary keys are omitted if there is a name column.
    """
    usable = _leave_bare_keys(
        [column for column in columns if column.table == table and fits_placeholder(column)]
    )
    identifying = [column for column in usable if column.primary_key or is_identifying(column)]
    texts = [column for column in usable if column.type == "text"]
    return [column.id for column in identifying or texts or usable]


def _list_called(table: str, columns: Sequence[Column]) -> list[str]:
    """List the keys and names by which people refer to a table's rows."""
    return _list_names([column for column in columns if column.table == table])


def list_narrowing_columns(columns: Sequence[Column]) -> list[str]:
    """List the columns that people use to narrow a question to one row.

    The list contains text columns, date columns, and number columns that serve as names. A time of day is
    listed only if there is no other column, because people are more likely to know the day. A date is listed
    only if there is no year column for the same event, because people remember the year.
    """
    usable = [column for column in columns if fits_placeholder(column)]
    usable = [column for column in usable if not _has_year(column, columns)] or usable
    usable = [column for column in usable if find_last_word(column) != "time"] or usable
    narrowing = [
        column
        for column in usable
        if column.type != "integer" or tells_year(column) or find_last_word(column) in NARROWING
    ]
    return [column.id for column in narrowing or usable]


def _make_request(
    route: Route, columns: Sequence[Column], shape: TemplateShape, offered: int, seed: int, turn: int
) -> TemplateRequest | None:
    """Return the request for a route and round, or None if no query is possible."""
    joins = tuple(
        (make_column_id(join.left, a), make_column_id(join.right, b))
        for join in route.tree.joins
        for a, b in join.on
    )
    if shape.measure:
        request = _make_measured(route, joins, columns, shape, offered, seed, turn)
    else:
        request = _make_plain(route, joins, columns, shape, offered, seed, turn)
    if request is None:
        return None
    queries = [query for query in dict.fromkeys(_list_queries(request)) if _is_sensible(query, columns)]
    return replace(request, queries=tuple(queries)) if queries else None


def _make_plain(
    route: Route, joins: tuple[tuple[str, str], ...], columns: Sequence[Column], shape: TemplateShape,
    offered: int, seed: int, turn: int,
) -> TemplateRequest | None:  # fmt: skip
    identifying = [tuple(list_identifying_columns(table, columns)) for table in route.given]
    fixed = {column for group in identifying for column in group}
    asked = [column.id for column in columns if column.table == route.asked and column.descriptive]
    if len(route.tree.tables) == 1:
        asked = [column for column in asked if column not in fixed] or asked
    elif route.spread:
        # If a question matches several rows, people ask for the rows' names rather than for details.
        asked = [column for column in asked if column in _list_called(route.asked, columns)]
    asked = _choose_share(asked, offered, turn, f"{seed} asked {joins}")
    # A time of day without a date identifies no event, and a code does not identify one of many rows.
    bare = ("time", "code") if route.spread else ("time",)
    ends = [{name_column(name, columns).split()[-1] for name in group} for group in identifying]
    if not asked or not all(identifying) or any({word} == words for words in ends for word in bare):
        return None
    spare = shape.placeholders - len(identifying)
    usable = [column for column in columns if column.table in route.tree.tables]
    further = [name for name in list_narrowing_columns(usable) if name not in asked]
    # To specify one of several rows with the same name, people usually give a date or number.
    telling = [name for name in further if name_column(name, columns).split()[-1] in NARROWING]
    narrowing = tuple(_choose_share(telling or further, offered, turn, f"{seed} given {joins}"))
    groups = tuple(identifying) + (narrowing,) * spare
    choices = tuple(choice for size in range(1, shape.projected + 1) for choice in combinations(asked, size))
    return TemplateRequest(make_id(joins, choices, groups), joins, choices, groups)


def _make_measured(
    route: Route, joins: tuple[tuple[str, str], ...], columns: Sequence[Column], shape: TemplateShape,
    offered: int, seed: int, turn: int,
) -> TemplateRequest | None:  # fmt: skip
    """Return a request for a measure over rows of one table, or None if no query is possible.

    The measure is computed from the rows of `route.asked` that match the given values.
    """
    own = [column for column in columns if column.table == route.asked]
    key = tuple(column.id for column in own if column.primary_key)
    names = _list_names(own)
    # Ranking by a date would leave out rows for which only the year is known.
    ordered = [column.id for column in own if has_order(column) and not _has_year(column, own)]
    salt = f"{seed} {shape.measure} {shape.compared} {joins}"
    tables = [table for table in route.given if table != route.asked]
    given = [tuple(_list_called(table, columns)) for table in tables]
    if len(given) > shape.equal or not all(given):
        return None
    sorting = [name for name in list_narrowing_columns(own) if name not in (*names, *key)]
    groups = (*given, *((tuple(sorting),) * (shape.equal - len(given))))
    ranked: Sequence[str] = ()
    asked = [[name] for name in names[:1]]
    if shape.measure == "count":
        asked = [list(key)]
    elif shape.measure == "average":
        # For counts and amounts of money, people ask for the total rather than the mean.
        means = [
            column.id
            for column in own
            if has_mean(column)
            and find_kind(column.id, columns) != "number"
            and not MONEY.intersection(split_words(name_column(column.id, columns)))
        ]
        asked = [[name] for name in _choose_share(means, offered, turn, f"{salt} asked")]
    elif shape.measure in ("most", "least"):
        ranked = _choose_share(ordered, offered, turn, f"{salt} ranked")
    if shape.compared == "pair":
        called = [name for name in names[:1] if name_column(name, columns).split()[-1] in NAMES]
        varied = [tuple(f"{name}{suffix}" for suffix in SUFFIXES["pair"]) for name in called]
    else:
        # People limit times by `between`, `from` or `to`, and amounts by one bound.
        timed = [column.id for column in own if column.id in ordered and _is_time(column)]
        wanted = timed if shape.compared in ("between", "from", "to") else set(ordered).difference(timed)
        preferred = [name for name in ordered if name in wanted] or ordered
        bounds = _choose_share(preferred, offered, turn, f"{salt} bound")
        suffixes = SUFFIXES[shape.compared]
        varied = [tuple(f"{name}{suffix}" for suffix in suffixes) for name in bounds if suffixes]
    lacking = shape.measure in ("most", "least") and not ranked
    if not key or not names or not asked or (shape.compared and not varied) or lacking or not all(groups):
        return None
    choices = tuple(map(tuple, asked))
    return TemplateRequest(
        make_id(joins, choices, groups, shape.measure, ranked, varied),
        joins, choices, groups, shape.measure, tuple(ranked), tuple(varied),
    )  # fmt: skip


def _list_names(own: Sequence[Column]) -> list[str]:
    """List the columns by which people refer to a row, names before numbers."""
    found = [
        column
        for column in _leave_bare_keys(own)
        if fits_placeholder(column) and (column.primary_key or is_identifying(column))
    ]
    return [column.id for column in sorted(found, key=lambda column: find_last_word(column) not in NAMES)]


def _leave_bare_keys(own: Sequence[Column]) -> list[Column]:
    """Return the columns; if there is a name column, omit primary keys with names such as `id` or `code`."""
    named = any(find_last_word(column) in NAMES and not column.primary_key for column in own)
    return [
        column
        for column in own
        if not (named and column.primary_key and KEY_WORDS.issuperset(split_words(column.name)))
    ]


def _is_time(column: Column) -> bool:
    return column.type == "date" or tells_year(column)


def _has_year(column: Column, columns: Sequence[Column]) -> bool:
    """Return whether a date column has a matching year column, such as release_year for release_date."""
    *event, last = split_words(column.name)
    return last == "date" and any(split_words(other.name) == [*event, "year"] for other in columns)


def _is_sensible(query: Query, columns: Sequence[Column]) -> bool:
    times = {column.id for column in columns if _is_time(column)}
    if times & {query.ranked_by, *query.projection} and times & {*map(column_of, query.placeholders)}:
        return False  # the query would ask for the year of a given date, or the first date in a given year
    if not query.measure and _find_role(query, columns) in MANY:
        return False
    return find_problem(query, columns) is None


def _find_role(query: Query, columns: Sequence[Column]) -> str:
    """Return the role of the row that a query asks for, such as actor, or "" if there is no role."""
    asked = table_of(query.projection[0])
    relations = list_used_relations(query, columns)
    return next(
        (relation.noun for relation in relations if relation.tables[1] == asked and relation.words), ""
    )


def _list_queries(request: TemplateRequest) -> Iterator[Query]:
    joins = tuple(sorted((min(pair), max(pair)) for pair in request.joins))
    ranks, ranges = request.ranked_by or ("",), request.varied or ((),)
    for projection, ranked_by, varied in product(request.projections, ranks, ranges):
        for given in product(*request.placeholders):
            names = tuple(sorted({*given, *varied}))
            if len(names) < len(given) + len(varied):
                continue
            if {column_of(name) for name in given} & {*projection, *map(column_of, varied), ranked_by}:
                continue
            yield Query(projection, joins, names, request.measure, ranked_by)


def _choose_share(names: Sequence[str], count: int, turn: int, salt: str) -> list[str]:
    """Return up to `count` names for the round `turn`. Every pass over the names has its own seeded order."""
    shares = max(-(-len(names) // count), 1)
    order = sorted(names, key=lambda name: make_id(salt, turn // shares, name))
    return sorted(order[turn % shares * count :][:count])
