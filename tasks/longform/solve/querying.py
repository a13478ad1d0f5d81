"""Run the queries that an agent wrote, and compute the requested statistics of their results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.errors import SqlError
from tasks.longform.solve.describe_database import truncate_cells
from tasks.longform.solve.interaction import AgentQuery, AgentStatistic
from tasks.longform.solve.replies import WrittenQuery
from tasks.longform.solve.statistic import compute_statistic

ERROR = 240
"""Maximum number of characters in an error message."""
NO_RESULT = "its query has no result"


def run_queries(
    file: Path, queries: Sequence[WrittenQuery], limits: QueryLimits, shown_rows: int
) -> list[AgentQuery]:
    """Run queries one after the other on a SQLite file; a failed query is returned with its error.

    shown_rows: the number of rows to keep of each result. Statistics are computed from all rows.
    """
    # The queries run one after the other, so one process suffices.
    with SafeDatabase(file, limits, children=1) as safe:
        return [_run_query(safe, query, shown_rows) for query in queries]


def _run_query(safe: SafeDatabase, query: WrittenQuery, shown_rows: int) -> AgentQuery:
    try:
        result = safe.query(query.sql)
    except SqlError as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        failed = tuple(AgentStatistic(request, "{}", NO_RESULT) for request in query.statistics)
        return AgentQuery(query.sql, (), "[]", 0, line[:ERROR], failed)
    shown = [truncate_cells(row) for row in result.rows[:shown_rows]]
    statistics = tuple(
        compute_statistic(request, result.columns, result.rows) for request in query.statistics
    )
    rows = json.dumps(shown, ensure_ascii=False)
    return AgentQuery(query.sql, result.columns, rows, len(result.rows), "", statistics)
