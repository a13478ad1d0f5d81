"""Write the queries that a question's answer depends on, and compute the figures from their results."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.databases.execution import SafeDatabase
from tasks.databases.scratch.scratch import write_database
from tasks.longform.build.analyses.kinds import GAP, MEDIAN_GAP
from tasks.longform.build.analyses.outcomes import find_outcome
from tasks.longform.build.analyses.queries import QUERIES, read_analysis, write_analysis
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.designs import FigureDesign
from tasks.longform.build.sql import quote_column, write_literal

YES, NO = "yes", "no"
FURTHER = 4
"""Number of extra decimal places if two groups would be equal after rounding to the measure's `digits`."""


@dataclass(frozen=True)
class FoundFigure:
    """The result of a figure's query.

    values: the value of each group, or of each side in an analysis. A share has one value, 0 to 1, for the
    first group.
    """

    design: FigureDesign
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    values: dict[str, float]
    counts: dict[str, int]
    """For each group, the number of rows that have the measure."""
    totals: dict[str, int]
    """For each group, the number of all rows, with or without the measure."""

    @property
    def ahead(self) -> str:
        """The group with the highest value; empty on a tie, or if fewer than two groups have a value.

        For a share, the result is `yes` if the share is above 0.5, otherwise `no`. If `outcomes.find_outcome`
        has an outcome for the kind of figure, the result is that outcome.
        """
        outcome = find_outcome(self.design.kind, self.values)
        if outcome is not None:
            return outcome
        if self.design.kind == "share":
            return "" if not self.values else YES if next(iter(self.values.values())) > 0.5 else NO
        ranked = sorted(self.values, key=lambda name: -self.values[name])
        return ranked[0] if len(ranked) > 1 and self.values[ranked[0]] > self.values[ranked[1]] else ""

    def is_ahead(self, group: str) -> bool:
        """Return whether a group or outcome equals `ahead`."""
        return self.ahead == group


def write_query(question: ControlledQuestion, figure: FigureDesign, further: int = 0) -> str:
    """Write the query of a figure.

    further: the number of decimal places in addition to the measure's `digits`.
    """
    focus = question.focus
    group, amount = quote_column(focus.group), quote_column(figure.measure)
    digits = focus.find(figure.measure).digits + further
    if figure.kind in QUERIES:
        return write_analysis(focus, question.groups, figure, digits)
    named = ", ".join(map(write_literal, question.groups))
    some = f" AND {quote_column(figure.over)} > {figure.threshold:g}" if figure.over else ""
    source = f"FROM {focus.source} WHERE {group} IN ({named}){some}"
    if figure.kind in ("mean", GAP):
        return (
            f"SELECT {group}, COUNT(*), COUNT({amount}), ROUND(AVG({amount}), {digits}), MIN({amount}), "
            f"MAX({amount}) {source} GROUP BY {group} ORDER BY {group}"
        )
    if figure.kind == "highest":
        return (
            f"SELECT {group}, COUNT(*), COUNT({amount}), MAX({amount}) {source} "
            f"GROUP BY {group} ORDER BY {group}"
        )
    if figure.kind in ("median", MEDIAN_GAP):
        # NULLs come last, so the places 1 to n have amounts. By integer division, the two middle places of an
        # odd n are the same place.
        return (
            f"WITH ranked AS (SELECT {group} AS name, {amount} AS amount, "  # noqa: S608 (quoted names)
            f"ROW_NUMBER() OVER (PARTITION BY {group} ORDER BY {amount} NULLS LAST) AS place, "
            f"COUNT(*) OVER (PARTITION BY {group}) AS total, "
            f"COUNT({amount}) OVER (PARTITION BY {group}) AS n {source}) "
            f"SELECT name, MAX(total), MAX(n), ROUND(AVG(amount), {digits}) FROM ranked "
            "WHERE place IN ((n + 1) / 2, (n + 2) / 2) GROUP BY name ORDER BY name"
        )
    one, other = (write_literal(name) for name in question.groups)
    average = f"SELECT AVG({amount}) FROM {focus.source} WHERE {group} = {other}"  # noqa: S608
    mean = f"({average})"
    above = f"SUM(CASE WHEN {amount} > {mean} THEN 1 ELSE 0 END)"
    return (
        f"SELECT COUNT({amount}), {above}, ROUND({mean}, {digits}) "  # noqa: S608 (quoted names)
        f"FROM {focus.source} WHERE {group} = {one} AND {amount} IS NOT NULL"
    )


def _read_apart(question: ControlledQuestion, figure: FigureDesign, database: SafeDatabase) -> FoundFigure:
    """Read a figure; use more decimal places if two groups are equal only because of rounding."""
    found = _read_figure(question, figure, database)
    if figure.kind in QUERIES:
        return found
    if len(set(found.values.values())) == len(found.values):
        return found
    finer = _read_figure(question, figure, database, FURTHER)
    return finer if len(set(finer.values.values())) > len(set(found.values.values())) else found


def read_script(script: str, question: ControlledQuestion) -> list[FoundFigure]:
    """Compute a question's figures on its database. Raises SqlError if a query does not run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "synthetic.sqlite"
        write_database(script, path)
        with SafeDatabase(path) as database:
            return [_read_apart(question, figure, database) for figure in question.figures]


def _read_figure(
    question: ControlledQuestion, figure: FigureDesign, database: SafeDatabase, further: int = 0
) -> FoundFigure:
    sql = write_query(question, figure, further)
    result = database.query(sql)
    values: dict[str, float] = {}
    counts: dict[str, int] = {}
    totals: dict[str, int] = {}
    if figure.kind in QUERIES:
        values, counts, totals = read_analysis(figure.kind, result.rows)
    elif figure.kind == "share":
        ((count, above, mean),) = result.rows
        if int(str(count)) and mean is not None:
            values[question.groups[0]] = int(str(above)) / int(str(count))
            counts[question.groups[0]] = totals[question.groups[0]] = int(str(count))
    else:
        for group, total, known, value, *_ in result.rows:
            if value is not None:
                values[str(group)] = float(str(value))
                counts[str(group)] = int(str(known))
                totals[str(group)] = int(str(total))
    return FoundFigure(figure, sql, result.columns, tuple(result.rows), values, counts, totals)


def find_missing(figures: Sequence[FoundFigure], question: ControlledQuestion) -> str:
    """Describe the first group without a value for one of the figures; empty if no value is missing."""
    for figure in figures:
        wanted = question.groups[:1] if figure.design.kind == "share" else question.groups
        if lost := [name for name in wanted if name not in figure.values]:
            design, focus = figure.design, question.focus
            some = (
                f" whose {focus.find(design.over).name} is above {design.threshold:g}" if design.over else ""
            )
            return f"{focus.say_rows(lost[0])}{some}: no row has a known {focus.find(design.measure).name}"
    return ""
