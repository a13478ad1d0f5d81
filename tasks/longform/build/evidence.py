"""The queries that a question's answer stands on, and what their rows say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.databases.execution import SafeDatabase
from tasks.longform.build.sql import quote_column, write_literal
from tasks.longform.build.words import say_amount, say_mean, say_rows
from tasks.longform.rows import Claim, ControlledQuestion, Focus


@dataclass(frozen=True)
class GroupMeans:
    """A measure's means by the two groups, as a query found them."""

    measure: str
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    means: dict[str, float]
    counts: dict[str, int]

    @property
    def ahead(self) -> str:
        """The group with the higher mean; empty if they are equal or one has none."""
        ranked = sorted(self.means, key=lambda name: -self.means[name])
        return ranked[0] if len(ranked) > 1 and self.means[ranked[0]] > self.means[ranked[1]] else ""


def write_query(focus: Focus, groups: Sequence[str], measure: str) -> str:
    """Write the query of a measure's mean, count, least and greatest value by group."""
    group, amount = quote_column(focus.group), quote_column(measure)
    named = ", ".join(map(write_literal, groups))
    return (
        f"SELECT {group}, COUNT({amount}), ROUND(AVG({amount}), 2), MIN({amount}), MAX({amount}) "  # noqa: S608 (quoted names)
        f"FROM {focus.source} WHERE {group} IN ({named}) GROUP BY {group} ORDER BY {group}"
    )


def read_figures(question: ControlledQuestion, database: SafeDatabase) -> list[GroupMeans]:
    """Run the query of every measure. Raises SqlError if one does not run."""
    found = []
    for measure in question.focus.measures:
        sql = write_query(question.focus, question.groups, measure)
        result = database.query(sql)
        counts = {str(row[0]): int(str(row[1])) for row in result.rows}
        means = {str(row[0]): float(str(row[2])) for row in result.rows if row[2] is not None}
        found.append(GroupMeans(measure, sql, result.columns, tuple(result.rows), means, counts))
    return found


def state_figure(figure: GroupMeans, question: ControlledQuestion) -> str:
    """State a figure plainly: both means with the rows behind them, and which is higher."""
    focus, (first, second) = question.focus, question.groups
    words = say_amount(figure.measure)[0]
    if len(figure.means) < 2:
        have = next(iter(figure.means), "")
        return (
            f"The rows have the {words} of {say_rows(focus, have)} only."
            if have
            else f"No row has the {words}."
        )
    one, other = (
        (figure.ahead, second if figure.ahead == first else first) if figure.ahead else (first, second)
    )
    relation = "higher than" if figure.ahead else "equal to"
    return (
        f"The average {words} of {say_rows(focus, one)} is {say_mean(figure.means[one], figure.measure)} "
        f"over {figure.counts[one]} {focus.table_words}, {relation} that of {say_rows(focus, other)}, "
        f"{say_mean(figure.means[other], figure.measure)} over {figure.counts[other]}."
    )


def make_claim(figure: GroupMeans, question: ControlledQuestion) -> Claim:
    """Make the claim that states a figure, with its query and rows."""
    rows = json.dumps([list(row) for row in figure.rows], ensure_ascii=False)
    return Claim(state_figure(figure, question), figure.sql, figure.columns, rows)


def state_conclusion(figures: Sequence[GroupMeans], question: ControlledQuestion) -> str:
    """State what the figures come to: yes or no to a definite question, else by which figure who is ahead."""
    first, second = question.groups
    won = [figure for figure in figures if figure.ahead == first]
    if not question.keyword:
        if len(won) == len(figures):
            return f"Yes: {first} is ahead of {second} in {_list(figures)}."
        if not won:
            return f"No: {first} is not ahead of {second} in {_list(figures, 'or')}."
        return f"No, not in all: {first} is ahead of {second} in {_list(won)} only."
    lost = [figure for figure in figures if figure.ahead == second]
    if won and lost:
        return (
            f"Which of the two {question.keyword} depends on what counts: by {_list(won)} it is {first}, "
            f"by {_list(lost)} it is {second}."
        )
    if won or lost:
        return f"So {first if won else second} {question.keyword}, by {_list(won or lost)}."
    return f"By these figures neither {question.keyword} than the other."


def _list(figures: Sequence[GroupMeans], word: str = "and") -> str:
    return f" {word} ".join(f"average {say_amount(figure.measure)[0]}" for figure in figures)
