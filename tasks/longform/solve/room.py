"""Fit databases and results into a prompt of limited size, and list the names of omitted parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.judging.prompt_room import estimate_tokens, quote_data
from tasks.longform.solve.describe_database import SAMPLES, Database, describe_database
from tasks.longform.solve.interaction import AgentQuery, AgentStatistic

INSTRUCTIONS = 240
"""Maximum number of tokens in an agent's prompt file, not counting the values of its fields."""
STATISTICS = 120
"""Maximum number of tokens that the statistics tool adds to a prompt."""


@dataclass(frozen=True)
class Fitted:
    """A quoted text that fits into a prompt. left_out: the names of the parts that do not fit."""

    text: str
    left_out: tuple[str, ...]


def fit_description(database: Database, tokens: float, samples: int = SAMPLES) -> Fitted:
    """Describe a database within a token limit.

    If the description is too long, the sample rows of tables are omitted first, and then whole tables, in
    each case starting with the last table.
    """
    tables, shown = list(database.tables), {table.name: samples for table in database.tables}
    left_out: list[str] = []
    sampled = [table for table in database.tables if samples and table.rows]
    while estimate_tokens(text := quote_data(describe_database(tables, shown))) > tokens and tables:
        if sampled:
            name = sampled.pop().name
            shown[name] = 0
            left_out.append(f"sample rows of {name}")
        else:
            left_out.append(f"table {tables.pop().name}")
    return Fitted(text, tuple(left_out))


def fit_results(queries: Sequence[AgentQuery | None], tokens: float) -> list[Fitted]:
    """Show results within a token limit, by omitting all rows of the largest results first.

    In `queries`, None represents a round without a query.
    """
    shown = [Fitted(quote_data(show_result(query)), ()) for query in queries]
    while sum(estimate_tokens(fitted.text) for fitted in shown) > tokens:
        sizes = {
            place: estimate_tokens(fitted.text)
            for place, (fitted, query) in enumerate(zip(shown, queries, strict=True))
            if query is not None and query.n_rows and not fitted.left_out
        }
        if not sizes:
            break
        place = max(sizes, key=lambda place: sizes[place])
        number = sum(query is not None for query in queries[: place + 1])
        text = show_result(queries[place], rows=False)
        shown[place] = Fitted(quote_data(text), (f"all rows of query {number}",))
    return shown


def show_result(query: AgentQuery | None, *, rows: bool = True) -> str:
    """Write a query's result for a prompt: columns and rows, or the error, and then the statistics.

    Quote the text, because cells are untrusted data. If `rows` is False, the rows are omitted and their
    number is stated.
    """
    if query is None:
        return "no result: the reply contained no query"
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
    """Write a statistic on one line: the request, then its figures or its error."""
    if statistic.error:
        return f"{statistic.request}: error: {statistic.error}"
    figures = json.loads(statistic.figures)
    return f"{statistic.request}: {', '.join(f'{name} = {value:.6g}' for name, value in figures.items())}"
