"""Run the queries that an agent wrote, and show what came of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import SqlError
from tasks.longform.rows import AgentQuery
from tasks.longform.solve.describe_database import truncate_cells

ERROR = 240
"""Maximum length of an error in characters."""


def run_queries(file: Path, queries: Sequence[str], limits: QueryLimits, shown_rows: int) -> list[AgentQuery]:
    """Run queries one after the other on a SQLite file; one that fails is kept with its error."""
    with SafeDatabase(file, limits, children=1) as safe:
        return [_run_query(safe, sql, shown_rows) for sql in queries]


def _run_query(safe: SafeDatabase, sql: str, shown_rows: int) -> AgentQuery:
    try:
        result = safe.query(sql)
    except SqlError as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        return AgentQuery(sql, (), "[]", 0, line[:ERROR])
    shown = [truncate_cells(row) for row in result.rows[:shown_rows]]
    return AgentQuery(sql, result.columns, json.dumps(shown, ensure_ascii=False), len(result.rows), "")


def show_result(query: AgentQuery | None, *, rows: bool = True) -> str:
    """Write a query's result for a prompt: its columns and rows, or its error.

    The text is to be quoted: cells are data of anyone's. rows: False leaves the rows out and counts them.
    """
    if query is None:
        return "nothing: there was no query in the reply"
    if query.error:
        return query.error
    if not query.n_rows:
        return "no rows"
    shown = json.loads(query.rows) if rows else []
    lines = [
        json.dumps(list(query.columns), ensure_ascii=False),
        *(json.dumps(row, ensure_ascii=False) for row in shown),
    ]
    if more := query.n_rows - len(shown):
        lines.append(f"-- {more} {'more ' if shown else ''}row{'s' * (more > 1)} not shown")
    return "\n".join(lines)
