"""The queries of agents as tools, for endpoints that have them; the labels are those of replies as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.longform.solve.replies import ENOUGH, NEED, SQL, STATISTIC
from tasks.longform.solve.statistic import KINDS
from tasks.models.ask import Tool


def offer_queries(*, statistics: bool) -> tuple[Tool, ...]:
    """Offer the sequential agent a tool that takes all its queries at once."""
    query = _make_object(_describe_query(statistics), required=["sql"])
    queries = {"queries": {"type": "array", "items": query}}
    return (Tool("run_queries", "Run SQLite SELECT queries.", _make_object(queries, required=["queries"])),)


def offer_round(*, statistics: bool) -> tuple[Tool, ...]:
    """Offer the iterative agent a tool that takes a need and its query, and one that ends the rounds."""
    need = {"type": "string", "title": NEED, "description": "What has to be known"}
    query = _make_object({"need": need, **_describe_query(statistics)}, required=["need", "sql"])
    enough = {**_make_object({}, required=[]), "title": ENOUGH}
    return (
        Tool("run_query", "Run one SQLite SELECT query for what is most needed now.", query),
        Tool("enough", "Say that what is known is enough for the answer.", enough),
    )


def _describe_query(statistics: bool) -> Mapping[str, object]:
    sql = {"type": "string", "title": SQL, "description": "One SELECT statement"}
    if not statistics:
        return {"sql": sql}
    forms = " or ".join(f"{kind}({', '.join(known.columns)})" for kind, known in KINDS.items())
    about = f"{forms}, of numeric columns of the query's result"
    one = {"type": "string", "title": STATISTIC, "description": about}
    return {"sql": sql, "statistics": {"type": "array", "items": one}}


def _make_object(properties: Mapping[str, object], required: Sequence[str]) -> dict[str, object]:
    known = {"properties": properties, "required": list(required), "additionalProperties": False}
    return {"type": "object", **known}
