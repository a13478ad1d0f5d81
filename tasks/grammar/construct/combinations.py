"""Read all combinations of values for a SQL template's placeholders, with their answers, in one query."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, product, repeat
from tempfile import TemporaryFile

from tasks.artifacts.rows import make_id
from tasks.artifacts.spool import read_pages, write_pages
from tasks.databases.columns import Column
from tasks.databases.dialects import translate
from tasks.databases.execution import SafeDatabase
from tasks.databases.profile.readings import list_readings
from tasks.databases.values import Value
from tasks.grammar.construct.measures import (
    SETTINGS,
    MeasuredRow,
    count_rows,
    find_alterations,
    is_pair,
    list_settings,
    make_test,
    measure_rows,
)
from tasks.grammar.construct.queries import NOT_LIMITED, Among, Query, column_of, table_of, write_rows

Rows = tuple[tuple[Value, ...], ...]
IDLE, FEW, OVER = "idle_value", "few_rows", "over_cap"
"""The drop reasons of combinations.

IDLE: without one of the values, the answer is the same. FEW: the answer is computed from too few rows. OVER:
the number of combinations exceeds the cap.
"""


@dataclass(frozen=True)
class Combination:
    """Values for a query's placeholders, in placeholder order, and the sorted distinct answer rows."""

    values: tuple[Value, ...]
    rows: Rows
    fitting: int = 1
    """The number of rows that the answer is computed from."""
    problem: str = ""
    """The drop reason, or an empty string if the combination is usable."""


class DrawnCombinations:
    """A sample of at most `cap` combinations: those whose salted values have the lowest hashes.

    The order of the calls of `add` has no effect, unless `ordered` is set.
    """

    def __init__(self, salt: tuple[object, ...], cap: int) -> None:
        self._salt, self._cap = salt, cap
        self._kept: list[tuple[int, int, Combination]] = []
        self._seen = 0

    def rank(self, values: tuple[Value, ...]) -> str:
        """Return the hash that ranks a combination with these values; the lowest hashes are kept."""
        return make_id(*self._salt, values)

    def is_full(self) -> bool:
        """Return whether the number of combinations has reached the cap."""
        return len(self._kept) >= self._cap

    def add(self, combination: Combination, *, ordered: bool) -> bool:
        """Add a combination; return False if the sample was already full.

        A full sample discards the combination with the last rank, possibly the new combination. `ordered`
        means that the caller adds combinations in the order of their ranks.
        """
        self._seen += 1
        rank = -self._seen if ordered else -int(self.rank(combination.values), 16)
        entry = (rank, self._seen, combination)
        if not self.is_full():
            heapq.heappush(self._kept, entry)
            return True
        heapq.heappushpop(self._kept, entry)
        return False

    def list_all(self) -> list[Combination]:
        """List the kept combinations, by rank."""
        return [combination for _, _, combination in sorted(self._kept, key=lambda e: (-e[0], e[1]))]


@dataclass(frozen=True)
class Sources:
    """The values of a combination, and cells of the rows that its answer is computed from.

    `cells` contains only the columns that the caller of `read_sources` requested.
    """

    values: tuple[Value, ...]
    cells: Rows


def read_combinations(
    query: Query,
    schema: Sequence[Column],
    database: SafeDatabase,
    limits: tuple[int, int | None] = (1, None),
    draw: DrawnCombinations | None = None,
    *,
    idle: bool = True,
) -> Iterator[Combination]:
    """Stream every combination of values with its answer, in the same order on all engines.

    - `limits`: the minimum and maximum number of rows that a measure may be computed from. Combinations
      outside these limits are not checked for values that do not change the answer.
    - `draw`: the sample, if a cap applies. Measures are then computed in the order of the sample's ranks
      until the cap is reached. The remaining combinations have the problem `over_cap`.
    - `idle`: whether combinations with a value that does not change the answer get the problem `idle_value`.

    For a measure, all rows are kept in memory. For other templates with several placeholders, memory grows by
    a few bytes per combination. Raises SqlError.
    """
    if query.measure:
        yield from _measure_combinations(query, schema, database, limits, draw, idle=idle)
        return
    groups = _read_groups(query, query.projection, schema, database)
    if not (idle and len(query.placeholders) > 1):
        for values, cells in groups:
            yield Combination(values, cells)
        return
    known = _IdleValues(len(query.placeholders))
    # Only the last combination shows which values are idle, so all combinations wait in a file.
    with TemporaryFile() as file:
        write_pages(file, _note_each(groups, known))
        file.seek(0)
        for values, cells in read_pages(file):
            yield Combination(values, cells, 1, IDLE if known.has(values) else "")


def read_sources(
    query: Query,
    columns: Sequence[str],
    schema: Sequence[Column],
    database: SafeDatabase,
    among: Among = NOT_LIMITED,
) -> Iterator[Sources]:
    """Stream every combination of values with the cells of `columns` in the rows that the answer comes from.

    Raises SqlError.
    """
    if not query.measure:
        for values, cells in _read_groups(query, columns, schema, database, among=among):
            yield Sources(values, cells)
        return
    measured = _lay_out(query, columns, schema)
    distinct = query.measure != "average" or bool(columns)
    for values, cells in _read_groups(
        query, measured.columns, schema, database, distinct=distinct, among=among
    ):
        for given, fitting in list_settings(query, measured.read(cells), values):
            yield Sources(_order(query, values, given), tuple(dict.fromkeys(row.further for row in fitting)))


def _read_groups(
    query: Query,
    columns: Sequence[str],
    schema: Sequence[Column],
    database: SafeDatabase,
    *,
    distinct: bool = True,
    among: Among = NOT_LIMITED,
) -> Iterator[tuple[tuple[Value, ...], Rows]]:
    """Stream each combination of values for `query.equal`, with the cells of `columns` in its rows."""
    count = len(query.equal)
    rows = write_rows(query, columns, distinct=distinct, among=among, readings=list_readings(schema))
    sql = translate(rows, database.dialect, schema)
    values: tuple[Value, ...] | None = None
    cells: list[tuple[Value, ...]] = []
    for batch in database.stream(sql):
        for row in batch:
            given = row[:count]
            # Also compare types, because 1 and 1.0 are different SQL literals.
            if given == values and list(map(type, given)) == list(map(type, values)):
                cells.append(row[count:])
                continue
            if values is not None:
                yield values, tuple(cells)
            values, cells = given, [row[count:]]
    if values is not None:
        yield values, tuple(cells)


@dataclass(frozen=True)
class _Measured:
    """The columns that the query for a measure reads.

    A row has five parts: the key, varied, ranked, projected and other cells. `ends` contains the end
    positions of the first four parts. The varied column has a range or a pair of names (see `Query.varied`).
    """

    columns: tuple[str, ...]
    ends: tuple[int, int, int, int]

    def read(self, cells: Rows) -> list[MeasuredRow]:
        """Split the cells of each row into key, varied, ranked, projected and other cells."""
        key, varied, ranked, projected = self.ends
        return [
            MeasuredRow(
                row[:key],
                row[key] if varied > key else None,
                row[varied] if ranked > varied else None,
                row[ranked:projected],
                row[projected:],
            )
            for row in cells
        ]


def _lay_out(query: Query, further: Sequence[str], schema: Sequence[Column]) -> _Measured:
    table = table_of(query.projection[0])
    key = [column.id for column in schema if column.table == table and column.primary_key]
    varied = [column_of(name) for name in query.varied[:1]]
    ranked = [query.ranked_by] if query.ranked_by else []
    parts = [key, varied, ranked, query.projection]
    first, second, third, fourth = accumulate(map(len, parts))
    return _Measured((*chain(*parts), *further), (first, second, third, fourth))


def _measure_combinations(
    query: Query,
    schema: Sequence[Column],
    database: SafeDatabase,
    limits: tuple[int, int | None],
    draw: DrawnCombinations | None,
    *,
    idle: bool,
) -> Iterator[Combination]:
    least, most = limits
    measured = _lay_out(query, (), schema)
    distinct = query.measure != "average"
    groups = dict(_read_groups(query, measured.columns, schema, database, distinct=distinct))
    wider = _group_without_one(groups) if len(query.placeholders) > 1 else {}
    large = [values for values, cells in groups.items() if len(cells) >= least]
    yield from repeat(Combination((), (), 0, FEW), len(groups) - len(large))
    order = large if draw is None else sorted(large, key=draw.rank)
    # With a cap, all combinations of equal values get a first range before any of them gets a second range.
    turns = range(SETTINGS if draw is not None and query.varied and query.equal else 1)
    for turn, (number, values) in product(turns, enumerate(order)):
        if draw is not None and draw.is_full():
            yield from repeat(Combination((), (), 0, OVER), len(order) - number)
            return
        rows = measured.read(groups[values])
        # SQL counts a row twice in a mean if two rows of a joined table match the row.
        multiplied = query.measure == "average" and len({row.key for row in rows}) < len(rows)
        whole = measure_rows(query, rows).rows if query.varied else None
        settings = list(list_settings(query, rows, values))
        for given, fitting in settings[turn : turn + 1] if len(turns) > 1 else settings:
            answer = measure_rows(query, fitting)
            problem = "multiplied" if multiplied else answer.problem
            count = count_rows(query, fitting)
            wanted = count >= least and (most is None or count <= most)
            if (idle and wanted and not problem) and (
                (answer.rows == whole and not is_pair(query))
                or _is_idle(
                    values,
                    given,
                    find_alterations(query, fitting, answer.rows),
                    lambda other: measured.read(groups[other]),
                    wider,
                )
            ):
                problem = IDLE
            yield Combination(_order(query, values, given), answer.rows, count, problem)


def _group_without_one(
    groups: Mapping[tuple[Value, ...], object],
) -> Mapping[tuple[object, ...], list[tuple[Value, ...]]]:
    """Map (position of a value, all other values) to the combinations that differ only in this value."""
    wider: defaultdict[tuple[object, ...], list[tuple[Value, ...]]] = defaultdict(list)
    for values in groups:
        for place in range(len(values)):
            wider[place, *values[:place], *values[place + 1 :]].append(values)
    return wider


def _is_idle(
    values: tuple[Value, ...],
    given: Mapping[str, Value],
    alters: Callable[[MeasuredRow], bool],
    read: Callable[[tuple[Value, ...]], list[MeasuredRow]],
    wider: Mapping[tuple[object, ...], list[tuple[Value, ...]]],
) -> bool:
    """Return whether the answer remains the same without one of the values."""
    fits = make_test(given)
    for place in range(len(values)):
        others = wider.get((place, *values[:place], *values[place + 1 :]), [])
        rows = (row for other in others for row in read(other))
        if others and not any(alters(row) for row in rows if fits(row)):
            return True
    return False


def _order(query: Query, values: Sequence[Value], given: Mapping[str, Value]) -> tuple[Value, ...]:
    named = {**dict(zip(query.equal, values, strict=True)), **given}
    return tuple(named[name] for name in query.placeholders)


def _note_each(
    groups: Iterable[tuple[tuple[Value, ...], Rows]], known: _IdleValues
) -> Iterator[tuple[tuple[Value, ...], Rows]]:
    for values, cells in groups:
        known.add(values, cells)
        yield values, cells


class _IdleValues:
    """Finds combinations with an idle value.

    A value is idle if the answer is the same with any other value in its place.
    """

    def __init__(self, placeholders: int) -> None:
        self._places = range(placeholders)
        self._answers: dict[int, int | None] = {}
        """Maps the hash of (position, other values) to the hash of the only answer, or to None if there are
        several answers."""

    def add(self, values: tuple[Value, ...], rows: Rows) -> None:
        """Record the answer of one combination."""
        answer = _digest(rows) if len(rows) == 1 else None
        for key in self._list_keys(values):
            if self._answers.setdefault(key, answer) != answer:
                self._answers[key] = None

    def has(self, values: tuple[Value, ...]) -> bool:
        """Return whether one of the values does not change the answer."""
        return any(self._answers[key] is not None for key in self._list_keys(values))

    def _list_keys(self, values: tuple[Value, ...]) -> list[int]:
        return [_digest((place, values[:place], values[place + 1 :])) for place in self._places]


def _digest(cells: tuple[object, ...]) -> int:
    """Hash the `repr` of the cells, because in Python hash(-1) == hash(-2) and hash(1) == hash(1.0)."""
    return hash(repr(cells))
