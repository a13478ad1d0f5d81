"""Choose bounds and pairs of names for measures over several rows, and compute the answers.

With this module, the fill-in computes the answers of all groups of a template from one query. The contracts
compare every answer with the result of its SQL on the database.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from tasks.artifacts.rows import make_id
from tasks.databases.profile.look_alikes import fold
from tasks.databases.rendering import round_bound
from tasks.databases.values import Value
from tasks.grammar.construct.queries import Query, comparison_of

SETTINGS, ALONE = 3, 60
"""The maximum number of ranges or pairs for one query.

`SETTINGS` applies to each combination of values for `Query.equal`. `ALONE` applies if `Query.equal` is
empty.
"""

COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "over": operator.gt,
    "under": operator.lt,
    "from": operator.ge,
    "to": operator.le,
}
"""The comparison of a cell with a bound, by the placeholder's suffix.

The cell and the bound have the same type, and are not NULL.
"""


class MeasuredRow(NamedTuple):
    """A row that matches the values of `Query.equal`.

    `varied` is the cell in the column with a range or pair, and `ranked` is the cell in the ranking column.
    """

    key: tuple[Value, ...]
    varied: Value
    ranked: Value
    projected: tuple[Value, ...]
    further: tuple[Value, ...] = ()
    """Cells that are not used in the computation."""


@dataclass(frozen=True)
class MeasuredAnswer:
    """An answer's sorted rows, or the drop reason if the answer is not usable."""

    rows: tuple[tuple[Value, ...], ...]
    problem: str = ""


def measure_rows(query: Query, rows: Sequence[MeasuredRow]) -> MeasuredAnswer:
    """Compute a query's measure.

    Drop reasons are `empty_answer`, `tied` (several rows have the extreme value), `rounding` (a mean is
    halfway between two decimals) and `no_spread` (all averaged numbers are equal).
    """
    found = {row.key: row for row in rows}.values()
    if query.measure == "count":
        return MeasuredAnswer(((len(found),),))
    if query.measure == "average":
        return _average([row.projected[0] for row in found])
    if query.measure in ("most", "least"):
        extreme = _find_extreme(query, rows)
        found_rows = {row.projected for row in found if row.ranked is not None and row.ranked == extreme}
        if len(found_rows) > 1:
            return MeasuredAnswer((), "tied")
    else:
        found_rows = {row.projected for row in found}
    if not found_rows or any(cell is None or cell == "" for row in found_rows for cell in row):
        return MeasuredAnswer((), "empty_answer")
    return MeasuredAnswer(tuple(sorted(found_rows, key=lambda row: [str(cell) for cell in row])))


def count_rows(query: Query, rows: Sequence[MeasuredRow]) -> int:
    """Return the number of rows that a measure is computed from; means and extremes skip empty cells."""
    if query.measure == "average":
        rows = [row for row in rows if row.projected[0] is not None]
    elif query.ranked_by:
        rows = [row for row in rows if row.ranked is not None]
    return len({row.key for row in rows})


def _find_extreme(query: Query, rows: Sequence[MeasuredRow]) -> Value:
    ranked = (row.ranked for row in rows if row.ranked is not None)
    return (max if query.measure == "most" else min)(ranked, default=None)


def _average(cells: Sequence[Value]) -> MeasuredAnswer:
    numbers = [cell for cell in cells if isinstance(cell, (int, float))]
    if not numbers:
        return MeasuredAnswer((), "empty_answer")
    if len(numbers) > 1 and len(set(numbers)) == 1:
        return MeasuredAnswer((), "no_spread")
    tenths = 10 * math.fsum(numbers) / len(numbers)
    # Engines round halves differently, and floating-point numbers may not represent decimal halves exactly.
    if abs(tenths - math.floor(tenths) - 0.5) < 1e-6:
        return MeasuredAnswer((), "rounding")
    return MeasuredAnswer(((round(tenths) / 10,),))


def find_alterations(
    query: Query, rows: Sequence[MeasuredRow], answer: tuple[tuple[Value, ...], ...]
) -> Callable[[MeasuredRow], bool]:
    """Return a function that tests whether one more row would change `answer`, the answer of `rows`."""
    keys = {row.key for row in rows}
    if query.measure == "count":
        return lambda row: row.key not in keys
    if query.measure == "average":
        return lambda row: row.key not in keys and row.projected[0] is not None
    if query.measure == "list":
        return lambda row: row.projected not in answer
    extreme = _find_extreme(query, rows)
    beyond = COMPARE["over" if query.measure == "most" else "under"]
    return lambda row: (
        row.ranked is not None
        and (beyond(row.ranked, extreme) or (row.ranked == extreme and row.projected not in answer))
    )


def is_pair(query: Query) -> bool:
    """Return whether a query asks which of two named rows has the larger value."""
    return any(comparison_of(name) == "other" for name in query.varied)


def list_settings(
    query: Query, rows: Sequence[MeasuredRow], salt: object
) -> Iterator[tuple[Mapping[str, Value], list[MeasuredRow]]]:
    """Yield values for a query's varied placeholders, each time with the matching rows.

    Bounds are chosen so that they exclude some of the rows. Without varied placeholders, yield one empty
    mapping of values with all rows. The choice of values depends on `salt`.
    """
    most = SETTINGS if query.equal else ALONE
    suffixes = tuple(map(comparison_of, query.varied))
    if not suffixes:
        yield {}, list(rows)
    elif is_pair(query):
        yield from _list_pairs(query, rows, salt, most)
    else:
        values = sorted({row.varied for row in rows if row.varied is not None})
        for given in _list_ranges(suffixes, values, salt, most):
            named = dict(zip(query.varied, given, strict=True))
            yield named, list(filter(make_test(named), rows))


def make_test(given: Mapping[str, Value]) -> Callable[[MeasuredRow], bool]:
    """Return a function that tests whether a row's varied cell is within the bounds, or is one of the names.

    `given` contains the bounds or names, by placeholder.
    """
    if not given:
        return lambda row: True
    bounds = [
        (COMPARE[comparison_of(name)], value)
        for name, value in given.items()
        if comparison_of(name) in COMPARE
    ]
    if not bounds:
        names = set(given.values())
        return lambda row: row.varied is not None and row.varied in names
    return lambda row: row.varied is not None and all(fits(row.varied, value) for fits, value in bounds)


def _list_pairs(
    query: Query, rows: Sequence[MeasuredRow], salt: object, most: int
) -> Iterator[tuple[Mapping[str, Value], list[MeasuredRow]]]:
    """Yield up to `most` pairs of names, each with the rows that have these names.

    The names are unique, and the named rows differ in the ranking column. No row is in two pairs. A hash of
    the name and `salt` sets the order of the rows.
    """
    by_key = {row.key: row for row in rows if row.ranked is not None and row.varied not in (None, "")}
    counts = Counter(fold(str(row.varied)) for row in by_key.values())
    single = [row for row in by_key.values() if counts[fold(str(row.varied))] == 1]
    single.sort(key=lambda row: make_id("pair", salt, row.varied))
    # Only every second pair is used, so that no row is in two pairs.
    chosen = [(first, other) for first, other in list(pairwise(single))[::2] if first.ranked != other.ranked]
    keep = {
        row.key: [further for further in rows if further.key == row.key]
        for pair in chosen[:most]
        for row in pair
    }
    for first, other in chosen[:most]:
        named = dict(zip(query.varied, (first.varied, other.varied), strict=True))
        yield named, [*keep[first.key], *keep[other.key]]


def _choose_bound(suffix: str, low: Value, high: Value) -> Value:
    """Return a bound between `low` and `high`.

    For integers, the bound is 0 if possible, otherwise a multiple of the largest possible step: 1, 5, 10, 50
    and so on. For other types, the bound is `low` or `high`. A float is rounded to the precision of its plain
    text.
    """
    low_fits = suffix in ("over", "to")
    if not (isinstance(low, int) and isinstance(high, int)):
        return round_bound(low if low_fits else high)
    least, most = (low, high - 1) if low_fits else (low + 1, high)
    if least <= 0 <= most:
        return 0
    step = 1
    while most // (10 * step) * (10 * step) >= least:
        step *= 10
    half = most // (5 * step) * (5 * step)
    return half if half >= least else most // step * step


def _is_span(low: Value, high: Value) -> bool:
    """Return False only for integers without an integer between them, such as 1951 and 1952."""
    return not (isinstance(low, int) and isinstance(high, int)) or high - low > 1


def _list_ranges(
    suffixes: tuple[str, ...], values: Sequence[Value], salt: object, most: int
) -> list[tuple[Value, ...]]:
    """Return up to `most` bounds or ranges that include some of a column's values and exclude others.

    A single bound is never 0.
    """
    if len(values) < 2:
        return []
    if len(suffixes) == 1:
        # A bound is between two values, because beyond the ends it would exclude all values or none.
        gaps = list(pairwise(values))
        chosen = sorted(gaps, key=lambda gap: make_id("bound", salt, gap[0]))[:most]
        return [(bound,) for bound in (_choose_bound(suffixes[0], *gap) for gap in chosen) if bound != 0]
    found: dict[tuple[Value, ...], None] = {}
    # Some draws repeat a range or are not usable, so there are more draws than ranges.
    for number in range(4 * most):
        drawn = int(make_id("range", salt, number), 16)
        low, high = sorted((drawn % len(values), drawn // len(values) % len(values)))
        if low < high and (low, high) != (0, len(values) - 1) and _is_span(values[low], values[high]):
            found[round_bound(values[low]), round_bound(values[high])] = None
    return list(found)[:most]
