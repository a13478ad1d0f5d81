"""Show a judge the queries of an agent with their results, in a limited room."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tasks.judging.prompt_room import estimate_tokens
from tasks.judging.quoting import quote
from tasks.longform.solve.rows import AgentQuery

SQL, ERROR, LINE = 600, 240, 300
"""In characters: how much of a statement, of an error and of one row of a result is shown."""
NO_QUERY = "(the agent ran no query)"


def show_queries(queries: Sequence[AgentQuery], tokens: float) -> str:
    """Show queries with their results within a number of tokens, each text quoted by itself.

    Every result keeps its first rows, equally many of each and as many as there is room for; after the last
    row, the last queries go. What is left out is said, and how much it is.
    """
    if not queries:
        return NO_QUERY
    results = [json.loads(query.rows) for query in queries]
    lines = [
        [json.dumps(line, ensure_ascii=False)[:LINE] for line in (query.columns, *rows)]
        for query, rows in zip(queries, results, strict=True)
    ]
    for limit in range(max(map(len, results)), -1, -1):
        shown = [_show(*pair, limit) for pair in zip(enumerate(queries, 1), lines, strict=True)]
        if estimate_tokens(text := "\n".join(shown)) <= tokens:
            return text
    for count in range(len(shown) - 1, 0, -1):
        text = "\n".join([*shown[:count], f"({_count(len(shown) - count, 'more query')} left out here)"])
        if estimate_tokens(text) <= tokens:
            return text
    return f"({_count(len(shown), 'query')} left out here)"


def _show(numbered: tuple[int, AgentQuery], lines: Sequence[str], limit: int) -> str:
    """Show a query and, under its columns, the first `limit` rows. lines: the columns, then the rows."""
    (number, query), rows = numbered, len(lines) - 1
    head = f"Query {number}:\n{quote(query.sql, limit=SQL)}\n"
    if query.error:
        return f"{head}It failed:\n{quote(query.error, limit=ERROR)}"
    if not query.n_rows:
        return f"{head}Its result has no rows."
    seen = f", the agent was shown {rows}" if rows < query.n_rows else ""
    cut = f", {rows - limit} of them left out here" if limit < rows else ""
    table = quote("\n".join(lines[: limit + 1])).text
    return f"{head}Its result ({_count(query.n_rows, 'row')}{seen}{cut}):\n{table}"


def _count(number: int, what: str) -> str:
    plural = f"{what}s" if not what.endswith("y") else f"{what[:-1]}ies"
    return f"{number} {what if number == 1 else plural}"
