"""Write the queries that compute the figures of an analysis from the rows of its database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite

from tasks.databases.values import Value
from tasks.longform.build.analyses.kinds import (
    CORRELATED,
    FIRST_VALUE,
    HALVES,
    PART,
    PERIOD_COUNTS,
    PERIODS,
    SLOPE,
    YEARLY,
)
from tasks.longform.build.designs import FigureDesign
from tasks.longform.build.foci import Focus
from tasks.longform.build.sql import quote_column, write_literal

ABOVE, BELOW, EARLIER, LATER = "above", "below", "earlier", "later"
SIDES: Mapping[str, tuple[str, ...]] = {
    HALVES: (ABOVE, BELOW), PERIODS: (LATER, EARLIER), PERIOD_COUNTS: (LATER, EARLIER),
}  # fmt: skip
"""Kind of figure -> the names of the two sides that the figure compares, instead of groups."""
VALUE, CHANGE, FIRST, LAST, BORDER = "value", "change", "first", "last", "border"
Found = tuple[dict[str, float], dict[str, int], dict[str, int]]
"""Three maps with groups or sides as keys: the value, the number of rows with the amount, and the number of
all rows."""


def write_year(column: str) -> str:
    """Write the SQL for the year of a date column, or of a column of year numbers."""
    return f"CAST(substr({quote_column(column)}, 1, 4) AS INTEGER)"


def write_analysis(focus: Focus, groups: Sequence[str], figure: FigureDesign, digits: int) -> str:
    """Write the query of a figure whose kind is in `QUERIES`. digits: decimal places of the measure."""
    return QUERIES[figure.kind](focus, groups, figure, digits)


def _select(what: str, source: str) -> str:
    return f"SELECT {what} {source}"


def _write_correlation(focus: Focus, groups: Sequence[str], figure: FigureDesign, digits: int) -> str:
    del groups, digits
    size = "SQRT(SUM((x - mx) * (x - mx)) * SUM((y - my) * (y - my)))"
    points = _write_points(focus, quote_column(figure.over), quote_column(figure.measure))
    return f"{points} {_select(f'{COUNTS}, ROUND(SUM((x - mx) * (y - my)) / {size}, 2)', FIT)}"


def _write_slope(focus: Focus, groups: Sequence[str], figure: FigureDesign, digits: int) -> str:
    del groups
    points = _write_points(focus, write_year(figure.over), quote_column(figure.measure))
    return _write_fit(points, digits)


def _write_yearly(focus: Focus, groups: Sequence[str], figure: FigureDesign, digits: int) -> str:
    del groups, digits
    year = write_year(figure.over)
    counted = f"FROM {focus.source} WHERE {year} IS NOT NULL GROUP BY 1"
    return _write_fit(_name_points(_select(f"{year} AS x, COUNT(*) AS y", counted)), 1)


COUNTS = "(SELECT COUNT(*) FROM points), COUNT(*)"
FIT = "FROM known, means"


def _write_fit(points: str, digits: int) -> str:
    """Write the query of a least-squares fit.

    The query returns the number of all points and of known points, the slope, the first and last year, and
    the fitted change over these years relative to the mean.
    """
    slope = "SUM((x - mx) * (y - my)) / SUM((x - mx) * (x - mx))"
    change = f"ROUND({slope} * (MAX(x) - MIN(x)) / ABS(MAX(my)), 2)"
    return f"{points} {_select(f'{COUNTS}, ROUND({slope}, {digits + 1}), MIN(x), MAX(x), {change}', FIT)}"


def _write_points(focus: Focus, across: str, up: str) -> str:
    return _name_points(_select(f"{across} AS x, {up} AS y", f"FROM {focus.source}"))


def _name_points(select: str) -> str:
    """Write the WITH clause of a query: `points`, `known` (points with both amounts) and `means`.

    Queries sum deviations from `means`, to keep large amounts exact.
    """
    known = "SELECT x, y FROM points WHERE x IS NOT NULL AND y IS NOT NULL"
    means = "SELECT AVG(x) AS mx, AVG(y) AS my FROM known"
    return f"WITH points AS ({select}), known AS ({known}), means AS ({means})"


def _write_halves(focus: Focus, groups: Sequence[str], figure: FigureDesign, digits: int) -> str:
    del groups
    over, amount = quote_column(figure.over), quote_column(figure.measure)
    points = _select(f"{over} AS x, {amount} AS y", f"FROM {focus.source}")
    border = "SELECT AVG(x) AS border FROM points"
    side = f"CASE WHEN x > border THEN '{ABOVE}' ELSE '{BELOW}' END"
    shown = focus.find(figure.over).digits
    return _write_sides(points, border, side, f"COUNT(y), ROUND(AVG(y), {digits})", shown)


def _write_periods(focus: Focus, groups: Sequence[str], figure: FigureDesign, digits: int) -> str:
    del groups
    year, amount = write_year(figure.over), quote_column(figure.measure)
    points = _select(f"{year} AS x, {amount} AS y", f"FROM {focus.source}")
    return _write_sides(points, MIDDLE, PERIOD, f"COUNT(y), ROUND(AVG(y), {digits})", 0)


def _write_period_counts(focus: Focus, groups: Sequence[str], figure: FigureDesign, digits: int) -> str:
    del groups, digits
    points = _select(f"{write_year(figure.over)} AS x", f"FROM {focus.source}")
    return _write_sides(points, MIDDLE, PERIOD, "COUNT(*), COUNT(*)", 0)


MIDDLE = "SELECT (MIN(x) + MAX(x)) / 2 AS border FROM points"
PERIOD = f"CASE WHEN x > border THEN '{LATER}' ELSE '{EARLIER}' END"


def _write_sides(points: str, border: str, side: str, values: str, digits: int) -> str:
    """Write a query that compares rows above and below a threshold.

    values: the SQL expressions for a side's number of rows with the amount, and for the side's figure.
    """
    told = f"{side} AS side, COUNT(*), {values}, ROUND(MAX(border), {digits})"
    sides = _select(told, "FROM points, middle WHERE x IS NOT NULL GROUP BY side ORDER BY side")
    return f"WITH points AS ({points}), middle AS ({border}) {sides}"


def _write_part(focus: Focus, groups: Sequence[str], figure: FigureDesign, digits: int) -> str:
    del digits
    group, part = quote_column(focus.group), quote_column(figure.measure)
    value = write_literal(groups[int(figure.threshold)])
    named = ", ".join(map(write_literal, groups[:FIRST_VALUE]))
    share = f"AVG(CASE WHEN {part} = {value} THEN 1.0 WHEN {part} IS NOT NULL THEN 0.0 END)"
    told = f"COUNT(*), COUNT({part}), ROUND({share}, 4), SUM(CASE WHEN {part} = {value} THEN 1 ELSE 0 END)"
    grouped = f"WHERE {group} IN ({named}) GROUP BY {group} ORDER BY {group}"
    return _select(f"{group}, {told}", f"FROM {focus.source} {grouped}")


QUERIES: Mapping[str, Callable[[Focus, Sequence[str], FigureDesign, int], str]] = {
    CORRELATED: _write_correlation, SLOPE: _write_slope, YEARLY: _write_yearly, HALVES: _write_halves,
    PERIODS: _write_periods, PERIOD_COUNTS: _write_period_counts, PART: _write_part,
}  # fmt: skip
"""Map each kind of figure to the function that writes its query.

The module `evidence` has the functions for all other kinds of figures.
"""


def read_analysis(kind: str, rows: Sequence[Sequence[Value]]) -> Found:
    """Read the result of a query that `write_analysis` wrote.

    A correlation, a slope and a yearly trend have one side, `VALUE`. The values of a fit over years also
    contain `FIRST`, `LAST` and `CHANGE`. The values of two sides also contain the threshold, `BORDER`.
    Missing and infinite values are left out.
    """
    values: dict[str, float] = {}
    counts: dict[str, int] = {}
    totals: dict[str, int] = {}
    sides = rows if kind in SIDES or kind == PART else [(VALUE, *row) for row in rows]
    for side, total, known, value, *more in sides:
        name = str(side)
        counts[name], totals[name] = int(str(known)), int(str(total))
        if (number := read_number(value)) is not None and counts[name]:
            values[name] = number
        names = (FIRST, LAST, CHANGE) if kind in (SLOPE, YEARLY) else (BORDER,) if kind in SIDES else ()
        read = zip(names, more, strict=False)
        values |= {name: number for name, cell in read if (number := read_number(cell)) is not None}
    return values, counts, totals


def read_number(value: Value) -> float | None:
    """Return a finite number as float; None for any other value."""
    return float(value) if isinstance(value, int | float) and isfinite(value) else None
