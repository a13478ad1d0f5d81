"""Implement the statistics tool: correlation, regression and quantiles of a query's result.

Section 4.5 of the paper reports that agents with only SQL fail to compute these statistics. A request for a
statistic is a line after its query, such as `Statistic: pearson(seats, concerts)`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.databases.values import Value
from tasks.longform.solve.interaction import AgentStatistic
from tasks.scoring.correlation import correlate, rank
from tasks.scoring.metric import FloatArray

QUANTILES = "quantiles"
MOST = 3
"""Maximum number of statistics per query."""
REQUEST_CHARACTERS = 160
"""Maximum number of characters in a request for a statistic."""
LEAST_ROWS, DIGITS = 3, 6
"""Minimum number of rows for a statistic, and the number of significant digits of its figures."""
QUARTILES = (0.25, 0.5, 0.75)
"""The quantiles that are computed if a request names no quantiles."""
Shares = Sequence[float]
Figures = Mapping[str, float]
FORM = re.compile(r"([A-Za-z]+)\s*\((.*)\)\s*[.;]?")
"""Matches a request for a statistic: the kind of statistic, and its arguments in parentheses."""
QUOTES = {'"': '"', "`": "`", "[": "]"}
"""Map the opening quote of a column name to the closing quote."""


class BadRequest(ValueError):
    """Raised for a statistic that cannot be computed; the message is shown to the agent."""


@dataclass(frozen=True)
class StatisticRequest:
    """A parsed request for a statistic.

    shares: the quantiles to compute, 0 to 1; empty for other kinds of statistic.
    """

    kind: str
    columns: tuple[str, ...]
    shares: tuple[float, ...]


def compute_statistic(
    request: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]
) -> AgentStatistic:
    """Compute a requested statistic from all rows of a result; if impossible, return the error.

    Rows in which one of the named columns is NULL are skipped and counted.
    """
    shown = " ".join(request.split())[:REQUEST_CHARACTERS]
    try:
        figures = _compute(shown, columns, rows)
    except BadRequest as error:
        return AgentStatistic(shown, "{}", str(error))
    return AgentStatistic(shown, json.dumps(figures), "")


def _compute(text: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> dict[str, float]:
    request = _read_request(text)
    places = [_find_column(name, columns) for name in request.columns]
    if len(set(places)) < len(places):
        raise BadRequest("both columns are the same")
    named = [columns[place] for place in places]
    cells = [[row[place] for place in places] for row in rows]
    numbers = [_read_row(row, named) for row in cells if None not in row]
    if len(numbers) < LEAST_ROWS:
        raise BadRequest(
            f"{len(numbers)} rows have a number in every named column; expected at least {LEAST_ROWS}"
        )
    values = [np.array(column, dtype=float) for column in zip(*numbers, strict=True)]
    if request.kind != QUANTILES:
        _check_variation(named, values)
    # An overflow gives an infinite figure or NaN, which is refused below.
    with np.errstate(all="ignore"):
        figures = KINDS[request.kind].describe(values, request.shares)
    if not all(map(math.isfinite, figures.values())):
        raise BadRequest("not defined, because the numbers are too large or too close to each other")
    left_out = len(rows) - len(numbers)
    # The digits beyond DIGITS differ between machines. Adding zero converts a negative zero to zero.
    rounded = {name: float(f"{value:.{DIGITS}g}") + 0.0 for name, value in figures.items()}
    return {**rounded, "n": len(numbers), **({"rows left out": left_out} if left_out else {})}


def _read_request(text: str) -> StatisticRequest:
    found = FORM.fullmatch(text)
    kind = found[1].lower() if found else ""
    if found is None or kind not in KINDS:
        forms = (f"{name}({', '.join(known.columns)})" for name, known in KINDS.items())
        raise BadRequest(f"unknown statistic; expected one of {', '.join(forms)}")
    arguments, wanted = _split(found[2]), len(KINDS[kind].columns)
    shares = arguments[wanted:] if kind == QUANTILES else []
    if len(arguments) - len(shares) != wanted:
        raise BadRequest(f"{kind} needs {wanted} column{'s' * (wanted > 1)}, got {len(arguments)}")
    return StatisticRequest(kind, tuple(arguments[:wanted]), _read_shares(shares))


def _split(text: str) -> list[str]:
    """Split a list of columns at its commas, except commas in parentheses, as in `round(a, 2)`."""
    depth, pieces = 0, [""]
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += character
    return [_unquote(piece.strip()) for piece in pieces if piece.strip()]


def _unquote(name: str) -> str:
    return name[1:-1] if len(name) > 1 and QUOTES.get(name[0]) == name[-1] else name


def _read_shares(texts: Sequence[str]) -> tuple[float, ...]:
    try:
        shares = tuple(sorted({float(text) for text in texts}))
    except ValueError:
        shares = (math.nan,)  # fails the test below, like a number outside 0 to 1
    if not all(0 <= share <= 1 for share in shares):
        raise BadRequest("quantiles expects numbers from 0 to 1 after the column")
    return shares or QUARTILES


def _check_variation(columns: Sequence[str], values: Sequence[FloatArray]) -> None:
    for column, numbers in zip(columns, values, strict=True):
        if numbers.min() == numbers.max():
            raise BadRequest(f"column {column!r} is constant")


def _find_column(name: str, columns: Sequence[str]) -> int:
    exact = [place for place, column in enumerate(columns) if column == name]
    found = exact or [place for place, column in enumerate(columns) if column.lower() == name.lower()]
    if not found:
        raise BadRequest(f"the result has no column {name!r}; its columns are {', '.join(columns)}")
    if len(found) > 1:
        raise BadRequest(f"the result has {len(found)} columns {name!r}; rename them with AS")
    return found[0]


def _read_row(row: Sequence[Value], columns: Sequence[str]) -> list[float]:
    for cell, column in zip(row, columns, strict=True):
        if not isinstance(cell, int | float):
            raise BadRequest(f"column {column!r} is not numeric: it contains {str(cell)[:40]!r}")
    return [float(cell) for cell in row if isinstance(cell, int | float)]


def _correlate(x: FloatArray, y: FloatArray) -> float:
    return float(correlate(x, y, np.ones((1, len(x))))[0])


def _rank(x: FloatArray) -> FloatArray:
    ranks: FloatArray = rank(x, np.ones((1, len(x))))[0]
    return ranks


def _describe_pearson(values: Sequence[FloatArray], _: Shares) -> Figures:
    return {"r": _correlate(values[0], values[1])}


def _describe_spearman(values: Sequence[FloatArray], _: Shares) -> Figures:
    return {"rho": _correlate(_rank(values[0]), _rank(values[1]))}


def _describe_line(values: Sequence[FloatArray], _: Shares) -> Figures:
    """Fit y = slope x + intercept by least squares; r2 is the squared correlation."""
    y, x = values
    slope = float(np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2))
    return {"slope": slope, "intercept": float(y.mean() - slope * x.mean()), "r2": _correlate(x, y) ** 2}


def _describe_quantiles(values: Sequence[FloatArray], shares: Shares) -> Figures:
    """Compute quantiles by linear interpolation between the ordered values."""
    found = np.quantile(values[0], shares)
    return {f"q{share:g}": float(value) for share, value in zip(shares, found, strict=True)}


@dataclass(frozen=True)
class Kind:
    """A kind of statistic: the names of its column arguments, and the function that computes its figures."""

    columns: tuple[str, ...]
    describe: Callable[[Sequence[FloatArray], Shares], Figures]


KINDS: Mapping[str, Kind] = {
    "pearson": Kind(("x", "y"), _describe_pearson),
    "spearman": Kind(("x", "y"), _describe_spearman),
    "regression": Kind(("y", "x"), _describe_line),
    QUANTILES: Kind(("x",), _describe_quantiles),
}
