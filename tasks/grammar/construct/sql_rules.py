"""Check the query of a SQL template against the rules (GRAMMAR, section 4.1 and appendix D).

`sql_reading.py` lists the drop reasons for SQL that cannot be parsed as a query. This module adds:

- `not_descriptive`: the query uses a key, or another column that people would not ask about.
- `unfit_placeholder`: people do not look up rows by the placeholder's column (a measurement, for example),
  or the SQL has a range for a column whose values have no order.
- `unfit_measure`: the query counts something other than rows, averages a column without suitable numbers, or
  ranks by a column without suitable numbers or dates.
- `other_operator`: the query has a range without a measure or list, or more than one range or pair.
- `answer_given`: the query asks for a column whose value is given.
- `unconnected`: foreign keys do not connect the tables.
- `idle_table`: the query joins a leaf table but uses none of its columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.databases.columns import Column
from tasks.grammar.construct.names import find_last_word, tells_year
from tasks.grammar.construct.queries import Query, column_of, comparison_of, table_of
from tasks.grammar.construct.sql_reading import BrokenRule, parse_select, read_query

RANGES = (("over",), ("under",), ("from",), ("to",), ("from", "to"))
"""The combinations of comparisons that are allowed as a column's range."""
PAIR = ("", "other")
"""The comparisons for a pair of names: equal to the first name, or to the second name."""
COUNTED_BY = frozenset(["year", "month", "day", "number", "code", "zip", "phone", "extension",
                        "latitude", "longitude", "degrees"])  # fmt: skip
"""Words that end the name of a number column whose mean is meaningless."""


def read_template(sql: str, columns: Sequence[Column]) -> Query:
    """Parse a SQL template and check it against every rule. Raises BrokenRule."""
    query = read_query(parse_select(sql, columns), columns)
    check_question(query, columns)
    return query


def check_question(query: Query, columns: Sequence[Column]) -> None:
    """Check a query against the rules of this module. Raises BrokenRule for the first broken rule."""
    known = {column.id: column for column in columns}
    asked = [*query.projection, *filter(None, [query.ranked_by])] if query.measure != "count" else []
    for column in (*asked, *map(column_of, query.placeholders)):
        if not known[column].descriptive:
            raise BrokenRule("not_descriptive", column)
    for column in query.equal:
        if not fits_placeholder(known[column]):
            raise BrokenRule(
                "unfit_placeholder",
                f"{column} is {known[column].type}; rows are not looked up by such a column",
            )
    _check_varied(query, known)
    _check_measure(query, known)
    _check_connected(query, known)
    representative = _equal_columns(query)
    given = {representative.get(name, name) for name in map(column_of, query.placeholders)}
    if tuple(map(comparison_of, query.varied)) == PAIR:
        given.discard(column_of(query.varied[0]))
    for column in asked:
        if representative.get(column, column) in given:
            raise BrokenRule("answer_given", column)


def find_problem(query: Query, schema: Sequence[Column]) -> BrokenRule | None:
    """Return the first rule that a query breaks, or None."""
    try:
        check_question(query, schema)
    except BrokenRule as broken:
        return broken
    return None


def _check_varied(query: Query, known: Mapping[str, Column]) -> None:
    """Check that placeholders with a comparison other than `=` form one range, or one pair of names."""
    if not query.varied:
        return
    column, suffixes = column_of(query.varied[0]), tuple(map(comparison_of, query.varied))
    if any(comparison_of(name) and column_of(name) != column for name in query.placeholders):
        raise BrokenRule("other_operator", "comparisons other than = with two columns")
    if suffixes == PAIR:
        if query.measure not in ("most", "least") or query.projection != (column,):
            raise BrokenRule(
                "other_operator",
                "OR is allowed only for the question which of two things has the most or least",
            )
        if not fits_placeholder(known[column]):
            raise BrokenRule(
                "unfit_placeholder",
                f"{column} is {known[column].type}; rows are not looked up by such a column",
            )
    elif suffixes not in RANGES:
        raise BrokenRule(
            "other_operator", f"{column} has an unsupported combination of comparisons: {', '.join(suffixes)}"
        )
    elif not query.measure:
        raise BrokenRule(
            "other_operator", f"{column} has a range, but the query has neither a measure nor ORDER BY"
        )
    elif not has_order(known[column]):
        raise BrokenRule("unfit_placeholder", f"{column} is {known[column].type}: its values have no order")


def _check_measure(query: Query, known: Mapping[str, Column]) -> None:
    """Check that a count uses the key of its rows, and that means and ranks use numbers or dates."""
    if query.measure and query.measure != "list" and len(query.projection) != 1:
        raise BrokenRule(
            "other_operator", f"{query.measure} of {len(query.projection)} columns; expected one column"
        )
    if query.measure:
        keys = {name for name, column in known.items() if column.primary_key}
        table = table_of(query.projection[0])
        key = sorted(name for name in keys if known[name].table == table)
        if not key or (query.measure == "count" and [*query.projection] != key):
            raise BrokenRule("unfit_measure", f"{query.projection[0]}: a measure needs the key of its rows")
    if query.measure == "average" and not has_mean(known[query.projection[0]]):
        raise BrokenRule("unfit_measure", f"{query.projection[0]} has no meaningful average")
    if query.measure in ("most", "least"):
        if not has_order(known[query.ranked_by]):
            raise BrokenRule("unfit_measure", f"ranked by {query.ranked_by}, whose values have no order")
        if table_of(query.ranked_by) != table_of(query.projection[0]):
            raise BrokenRule(
                "unfit_measure",
                f"{query.projection[0]} is ranked by a column of another table: {query.ranked_by}",
            )


def has_order(column: Column) -> bool:
    """Return whether a column's values can be ranked: numbers and dates, but not codes."""
    named = find_last_word(column) in COUNTED_BY - {"year", "day"}
    return column.descriptive and column.type in ("integer", "real", "date") and not named


def has_mean(column: Column) -> bool:
    """Return whether a column's mean is meaningful: its values are numbers, but neither codes nor years."""
    named = tells_year(column) or find_last_word(column) in COUNTED_BY
    return column.descriptive and column.type in ("integer", "real") and not named


def fits_placeholder(column: Column) -> bool:
    """Return whether people look up rows by a column: it is descriptive, and neither real nor boolean."""
    return column.descriptive and column.type not in ("real", "boolean")


def _check_connected(query: Query, known: Mapping[str, Column]) -> None:
    keys = {tuple(sorted((column.id, column.references))) for column in known.values() if column.references}
    for pair in query.joins:
        if pair not in keys:
            raise BrokenRule("unconnected", " = ".join(pair))
    edges = [{table_of(a), table_of(b)} for a, b in query.joins]
    reached = {query.tables[0]}
    while grown := [edge for edge in edges if edge & reached and not edge <= reached]:
        reached = reached.union(*grown)
    if reached != set(query.tables):
        raise BrokenRule("unconnected", ", ".join(sorted(set(query.tables) - reached)))
    used = {table_of(column) for column in query.columns}
    for table in query.tables:
        if table not in used and sum(table in edge for edge in edges) < 2:
            raise BrokenRule("idle_table", table)


def _equal_columns(query: Query) -> dict[str, str]:
    """Map each joined column to the alphabetically first column that the joins make it equal to."""
    least = {side: side for pair in query.joins for side in pair}
    # Each pass carries the first column over at least one more join.
    for _ in query.joins:
        for a, b in query.joins:
            least[a] = least[b] = min(least[a], least[b])
    return least
