"""Show the result of a query in a prompt, with the statistics of it."""

from __future__ import annotations

import json

from tasks.longform.solve.rows import AgentQuery, AgentStatistic


def show_result(query: AgentQuery | None, *, rows: bool = True) -> str:
    """Write a query's result for a prompt: its columns and rows, or its error; then its statistics.

    The text is to be quoted: cells are data of anyone's. rows: False leaves the rows out and counts them.
    """
    if query is None:
        return "nothing: there was no query in the reply"
    statistics = (f"-- {show_statistic(statistic)}" for statistic in query.statistics)
    return "\n".join([*_show_rows(query, rows), *statistics])


def _show_rows(query: AgentQuery, rows: bool) -> list[str]:
    if query.error:
        return [query.error]
    if not query.n_rows:
        return ["no rows"]
    shown = json.loads(query.rows) if rows else []
    lines = [
        json.dumps(list(query.columns), ensure_ascii=False),
        *(json.dumps(row, ensure_ascii=False) for row in shown),
    ]
    if more := query.n_rows - len(shown):
        lines.append(f"-- {more} {'more ' if shown else ''}row{'s' * (more > 1)} not shown")
    return lines


def show_statistic(statistic: AgentStatistic) -> str:
    """Write a statistic on one line: its request, then its figures or its error."""
    if statistic.error:
        return f"{statistic.request}: error: {statistic.error}"
    figures = json.loads(statistic.figures)
    return f"{statistic.request}: {', '.join(f'{name} = {value:.6g}' for name, value in figures.items())}"
