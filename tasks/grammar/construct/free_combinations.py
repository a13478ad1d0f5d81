"""Fill free-form SQL: sample values for the placeholders, and run the SQL once per combination of values.

No single query returns all answers of a template with free-form SQL, so combinations are enumerated. Values
for several placeholders come from the same row of the joined tables where possible. If there are more
combinations than the maximum, combinations are sampled with a seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from sqlglot import exp

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.dialects import translate
from tasks.databases.execution import SafeDatabase
from tasks.databases.literals import bind
from tasks.databases.quoted_names import quote_column, quote_name
from tasks.databases.values import Value, rank_value
from tasks.grammar.construct.combinations import OVER, Combination, Rows
from tasks.grammar.construct.free_reading import WHOLE, find_column, list_sources, name_source, parse_free
from tasks.grammar.construct.queries import DIALECT, FilledSql, FreeQuery, table_of

NO_ROWS, EMPTY, TIED, UNTRIED = "no_rows", "empty_answer", "tied", "not_tried"
"""The drop reasons of a combination.

`NO_ROWS`: the SQL returns no row. `EMPTY`: a cell of the answer is empty. `TIED`: the first row beyond the
LIMIT ties with the last row. `UNTRIED`: the SQL was not run.
"""


@dataclass(frozen=True)
class _Unit:
    """Placeholders whose values are sampled together, and the SQL that selects the combinations of values."""

    placeholders: tuple[str, ...]
    sql: str


def enumerate_combinations(
    query: FreeQuery,
    schema: Sequence[Column],
    database: SafeDatabase,
    *,
    seed: tuple[object, ...],
    tries: int,
    most: int | None,
) -> Iterator[Combination]:
    """Yield combinations of values with the rows that the filled SQL returns.

    The function runs the SQL for at most `tries` combinations, and stops after `most` combinations with an
    answer (None: no limit). Up to `tries` of the remaining combinations are yielded without values. The
    problem of these combinations is `over_cap` if `most` was reached, otherwise `not_tried`. Two placeholders
    for the same column get different values. Rows are sorted if the SQL has no ORDER BY. Raises SqlError.
    """
    units: list[_Unit] = []
    values: list[Rows] = []
    for unit in list_units(query, schema):
        rows = _read_values(unit, schema, database)
        # If the joined tables have no row, sample each value separately: a count is then 0 for all values.
        parts = [unit] if rows else [_Unit((name,), _write_single(name)) for name in unit.placeholders]
        units += parts
        values += [rows] if rows else [_read_values(part, schema, database) for part in parts]
    names = [name for unit in units for name in unit.placeholders]
    places = [names.index(name) for name in query.placeholders]
    total = prod(map(len, values))
    runner = _Runner(query, schema, database)
    tried = answered = 0
    # Combinations are numbered and decoded one by one, because all combinations may not fit into memory.
    for number in _draw(total, min(total, tries), seed):
        if most is not None and answered >= most:
            break
        tried += 1
        drawn: list[Value] = []
        for rows in reversed(values):
            number, place = divmod(number, len(rows))
            drawn[:0] = rows[place]
        given = tuple(drawn[place] for place in places)
        if _repeats(query, given):
            continue
        combination = runner.run(given)
        answered += not combination.problem
        yield combination
    reason = OVER if most is not None and answered >= most else UNTRIED
    # The product of the values may be huge, so at most `tries` untried combinations are counted.
    for _ in range(min(total - tried, tries)):
        yield Combination((), (), 0, reason)


def _draw(total: int, count: int, seed: tuple[object, ...]) -> Iterator[int]:
    """Yield `count` distinct numbers below `total`, sampled with a seed and identical on every machine."""
    # If every number is needed, random draws would mostly repeat earlier numbers towards the end.
    if count == total:
        yield from sorted(range(total), key=lambda number: make_id(*seed, number))
        return
    seen: set[int] = set()
    turn = 0
    while len(seen) < count:
        number = int(make_id(*seed, turn), 16) % total
        turn += 1
        if number not in seen:
            seen.add(number)
            yield number


def _repeats(query: FreeQuery, values: Sequence[Value]) -> bool:
    """Return whether two placeholders for one column have the same value."""
    given = [(name_source(name), value) for name, value in zip(query.placeholders, values, strict=True)]
    return len(set(given)) < len(given)


class _Runner:
    """Runs the SQL of one template with given values."""

    def __init__(self, query: FreeQuery, schema: Sequence[Column], database: SafeDatabase) -> None:
        self._filled = FilledSql(query)
        self._schema, self._database = schema, database
        statement = parse_free(query.sql)
        self._ordered = bool(statement.args.get("order"))
        ranking = _write_ranking(query, statement)
        self._width = len(statement.selects)
        self._ranking = FilledSql(ranking) if ranking else None

    def run(self, values: tuple[Value, ...]) -> Combination:
        given = [value for value in values if value is not None]
        rows = self._query(self._filled.write(given))
        if not rows:
            return Combination(values, (), 0, NO_ROWS)
        if any(cell is None or cell == "" for row in rows for cell in row):
            return Combination(values, (), len(rows), EMPTY)
        problem = TIED if self._ranking and self._is_tied(self._ranking.write(given), len(rows)) else ""
        return Combination(values, rows if self._ordered else _sort(rows), len(rows), problem)

    def _is_tied(self, sql: str, count: int) -> bool:
        """Return whether the first row beyond the LIMIT ties with the last row but differs from it.

        Rows tie if their ORDER BY values are equal.
        """
        rows = self._query(sql)
        if len(rows) <= count:
            return False
        last, after = rows[count - 1 : count + 1]
        return last[self._width :] == after[self._width :] and last != after

    def _query(self, sql: str) -> Rows:
        statement, bound = bind(sql, self._database.dialect, self._schema)
        return tuple(self._database.query(statement, bound).rows)


def _write_ranking(query: FreeQuery, statement: exp.Query) -> FreeQuery | None:
    """Return the query with its LIMIT increased by one row, and with the ORDER BY values as extra columns.

    Returns None unless the SQL is a SELECT with ORDER BY and LIMIT, and without DISTINCT or `*`.
    """
    order, limit = statement.args.get("order"), statement.args.get("limit")
    plain = isinstance(statement, exp.Select) and not statement.args.get("distinct") and not statement.is_star
    if not (plain and order and limit and isinstance(limit.expression, exp.Literal)):
        return None
    selected = {expression.alias_or_name.lower(): expression.unalias() for expression in statement.selects}
    ranks: list[exp.Expr] = []
    for ordered in order.expressions:
        rank = ordered.this
        if isinstance(rank, exp.Literal) and not rank.is_string:  # ORDER BY 2
            rank = statement.selects[int(rank.this) - 1].unalias()
        elif isinstance(rank, exp.Column) and not rank.table:
            rank = selected.get(rank.name.lower(), rank)
        ranks.append(rank.copy())
    longer = statement.copy()
    longer.set("expressions", [*longer.expressions, *ranks])
    longer = longer.limit(int(limit.expression.this) + 1)
    return replace(query, sql=longer.sql(dialect=DIALECT))


def list_units(query: FreeQuery, schema: Sequence[Column]) -> list[_Unit]:
    """Split the placeholders into units; the values of a unit are sampled together."""
    statement = parse_free(query.sql)
    together: dict[int, tuple[exp.Select, dict[str, exp.Column]]] = {}
    alone: list[str] = []
    for literal in statement.find_all(exp.Literal):
        name = literal.this[1:-1]
        if not literal.is_string or not WHOLE.fullmatch(literal.this) or name in alone:
            continue
        if any(name in columns for _, columns in together.values()):
            continue
        select = literal.find_ancestor(exp.Select)
        cell = _find_cell(literal, name, select, schema) if select else None
        if select is None or cell is None or not _stands_alone(select, schema):
            alone.append(name)
            continue
        _, columns = together.setdefault(id(select), (select, {}))
        if cell in columns.values():
            alone.append(name)
        else:
            columns[name] = cell
    units = [_Unit(tuple(columns), _write_joint(select, columns)) for select, columns in together.values()]
    return [*units, *(_Unit((name,), _write_single(name)) for name in alone)]


def _find_cell(
    literal: exp.Expr, name: str, select: exp.Select, schema: Sequence[Column]
) -> exp.Column | None:
    """Return the column that a placeholder is named after, with its table alias.

    The alias comes from the column that the placeholder is compared with. If the placeholder is not compared
    with this column, the alias is the first alias of the column's table. Returns None if the SELECT does not
    read the column's table.
    """
    source = name_source(name)
    for node in literal.parent.find_all(exp.Column) if literal.parent else ():
        if (found := find_column(node, schema)) and found == (source, select):
            break
    else:
        table = table_of(source)
        aliases = [alias for alias, table_name in list_sources(select, schema).items() if table_name == table]
        if not aliases:
            return None
        column = quote_column(source)
        column.set("table", quote_name(aliases[0]))
        return column
    copied: exp.Column = node.copy()
    return copied


def _stands_alone(select: exp.Select, schema: Sequence[Column]) -> bool:
    """Return whether a SELECT reads only tables (no subquery), and no column of an enclosing SELECT."""
    joins = select.args.get("joins") or []
    plain = len(list_sources(select, schema)) == 1 + len(joins)
    found = [find_column(node, schema) for node in select.find_all(exp.Column)]
    inner = {id(node) for node in select.find_all(exp.Select)}
    return (
        plain and not select.args.get("with_") and all(part is None or id(part[1]) in inner for part in found)
    )


def _write_joint(select: exp.Select, columns: Mapping[str, exp.Column]) -> str:
    """Write SQL that selects the distinct rows of `columns` from the tables of a SELECT."""
    joint = select.copy()
    for part in ("group", "having", "order", "limit", "offset", "distinct", "windows", "with", "with_"):
        joint.set(part, None)
    if where := joint.args.get("where"):
        kept = [condition for condition in _split(where.this) if not _has_placeholder(condition)]
        joint.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
    for join in joint.args.get("joins") or []:
        if on := join.args.get("on"):
            kept = [condition for condition in _split(on) if not _has_placeholder(condition)]
            # PostgreSQL and MariaDB reject a LEFT JOIN without ON.
            join.set("on", exp.and_(*kept) if kept else exp.true())
    joint.set("expressions", [column.copy() for column in columns.values()])
    for column in columns.values():
        joint = joint.where(exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())))
    return joint.distinct().sql(dialect=DIALECT)


def _split(tree: exp.Expr) -> list[exp.Expr]:
    return list(tree.flatten()) if isinstance(tree, exp.And) else [tree]


def _has_placeholder(tree: exp.Expr) -> bool:
    return any(literal.is_string and WHOLE.fullmatch(literal.this) for literal in tree.find_all(exp.Literal))


def _write_single(placeholder: str) -> str:
    column = name_source(placeholder)
    cell = quote_column(column)
    select = exp.select(cell).distinct().from_(exp.Table(this=quote_name(table_of(column))))
    return select.where(exp.Not(this=exp.Is(this=cell.copy(), expression=exp.Null()))).sql(dialect=DIALECT)


def _read_values(unit: _Unit, schema: Sequence[Column], database: SafeDatabase) -> Rows:
    sql = translate(unit.sql, database.dialect, schema)
    return _sort(row for batch in database.stream(sql) for row in batch)


def _sort(rows: Iterable[tuple[Value, ...]]) -> Rows:
    return tuple(sorted(rows, key=lambda row: list(map(rank_value, row))))
