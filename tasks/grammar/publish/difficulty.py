"""Measure the difficulty of sets of queries, for a comparison with the dev sets of Spider and BIRD."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import comb
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

KNOWN = Path(__file__).with_name("known_sets.json")
"""The file with the figures of public sets, which `python -m bench.difficulty` measures."""
DRAWN = 100
"""The sample size for counting distinct skeletons, equal for all sets, so that sets are comparable."""


@dataclass(frozen=True)
class QueryShape:
    """The structure of a query. `skeleton` is the query with literals, names and aliases masked.

    `joins` is the number of joins in all parts of the query. `nested` states whether there is a subquery; the
    parts of a set operation do not count. `combined` states whether there is a set operation, and `ranked`
    whether a query has both ORDER BY and LIMIT.
    """

    skeleton: str
    joins: int
    aggregated: bool
    grouped: bool
    nested: bool
    combined: bool
    ranked: bool


@dataclass(frozen=True)
class SetDifficulty:
    """The difficulty of a set of queries. All fields from `joined` to `ranked` are shares, 0 to 1.

    `skeletons` is the expected number of distinct skeletons in a sample of `DRAWN` queries; None if the set
    has fewer queries. `combined` is the share of queries with UNION, INTERSECT or EXCEPT. `unread` is the
    number of queries that cannot be parsed; the shares exclude these queries.
    """

    name: str
    queries: int
    unread: int
    joined: float
    joined_twice: float
    aggregated: float
    grouped: float
    nested: float
    combined: float
    ranked: float
    skeletons: float | None


SHARES: Mapping[str, str] = {
    "joined": "a join",
    "joined_twice": "two joins or more",
    "aggregated": "an aggregate",
    "grouped": "GROUP BY",
    "nested": "a nested query",
    "combined": "UNION, INTERSECT or EXCEPT",
    "ranked": "ORDER BY and LIMIT",
}
"""The label of each share."""


@cache
def measure_query(sql: str, dialect: str = "sqlite") -> QueryShape | None:
    """Return the structure of a query, or None if the query cannot be parsed."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (SqlglotError, RecursionError):
        return None
    selects = list(tree.find_all(exp.Select))
    return QueryShape(
        mask(tree, dialect),
        joins=sum(1 for _ in tree.find_all(exp.Join)),
        aggregated=any(True for _ in tree.find_all(exp.AggFunc)),
        grouped=any(select.args.get("group") for select in selects),
        nested=any(select.find_ancestor(exp.Select) for select in selects),
        combined=any(True for _ in tree.find_all(exp.SetOperation)),
        ranked=any(query.args.get("limit") and query.args.get("order") for query in tree.find_all(exp.Query)),
    )


def mask(tree: exp.Expr, dialect: str = "sqlite") -> str:
    """Return a query's SQL with masked literals, names and aliases."""
    masked = tree.copy()
    for literal in list(masked.find_all(exp.Literal)):
        literal.replace(exp.Literal.number(0))
    for name in masked.find_all(exp.Identifier):
        name.set("this", "x")
        name.set("quoted", False)
    return masked.sql(dialect=dialect)


def measure_set(name: str, queries: Iterable[str], dialect: str = "sqlite") -> SetDifficulty:
    """Return the difficulty of a set of queries."""
    found = [measure_query(sql, dialect) for sql in queries]
    shapes = [shape for shape in found if shape is not None]
    return SetDifficulty(
        name,
        len(found),
        len(found) - len(shapes),
        joined=_share([shape.joins >= 1 for shape in shapes]),
        joined_twice=_share([shape.joins >= 2 for shape in shapes]),
        aggregated=_share([shape.aggregated for shape in shapes]),
        grouped=_share([shape.grouped for shape in shapes]),
        nested=_share([shape.nested for shape in shapes]),
        combined=_share([shape.combined for shape in shapes]),
        ranked=_share([shape.ranked for shape in shapes]),
        skeletons=count_expected([shape.skeleton for shape in shapes], DRAWN),
    )


def count_expected(skeletons: Sequence[str], drawn: int) -> float | None:
    """Compute the expected number of distinct skeletons among `drawn` queries sampled without replacement.

    The formula is the sum over skeletons of 1 - C(n - n_s, drawn) / C(n, drawn): rarefaction (Hurlbert 1971).
    Returns None if the sample is larger than the set.
    """
    n = len(skeletons)
    if n < drawn:
        return None
    missed = sum(comb(n - count, drawn) / comb(n, drawn) for count in Counter(skeletons).values())
    return len(set(skeletons)) - missed


def tabulate_difficulty(sets: Sequence[SetDifficulty]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table with one column per set."""
    rows = [["queries", *(f"{measured.queries:,}" for measured in sets)]]
    if any(measured.unread for measured in sets):
        rows.append(["not parsed, excluded from the shares", *(f"{measured.unread:,}" for measured in sets)])
    for field, words in SHARES.items():
        rows.append([f"with {words}", *(f"{getattr(measured, field):.0%}" for measured in sets)])
    shown = ["-" if measured.skeletons is None else f"{measured.skeletons:.0f}" for measured in sets]
    rows.append([f"different skeletons in a sample of {DRAWN} queries", *shown])
    return ["", *(measured.name for measured in sets)], rows


def read_known(path: Path = KNOWN) -> list[SetDifficulty]:
    """Read the figures of public sets."""
    return [SetDifficulty(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def write_known(sets: Sequence[SetDifficulty]) -> str:
    """Return the content of the file `KNOWN`, with the figures of public sets."""
    return json.dumps([asdict(measured) for measured in sets], indent=1) + "\n"


def _share(values: Sequence[bool]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0
