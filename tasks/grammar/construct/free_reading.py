"""Parse free-form SQL as a template: one SELECT that SQLite can run.

The rules of `sql_rules.py` apply to a small model's SQL. A user-written template is kept even if it breaks
one of these rules. SQL that cannot run is an error. The reasons are `unreadable`, `not_select`, `clock`,
`unknown_name` and `wrong_placeholder`, as in `sql_reading.py`, and `cannot_run` if SQLite rejects the SQL.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from sqlglot import exp

from tasks.databases.clock import find_clock
from tasks.databases.columns import Column, make_column_id
from tasks.grammar.construct.queries import (
    DIALECT,
    PLACEHOLDER,
    QUOTED_PLACEHOLDER,
    FreeQuery,
    Query,
    column_of,
    table_of,
    write_template,
)
from tasks.grammar.construct.sql_reading import BrokenRule, parse_select, parse_statements
from tasks.grammar.construct.sql_rules import read_template

NUMBERED = re.compile(r"#([2-9]|[1-9][0-9]+)$")
"""Matches the suffix of a placeholder for another value of the same column: `stadium.Capacity#2`."""
QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`")
"""Matches a quoted string or name in SQL."""
WHOLE = re.compile(r"\[[^\[\]]*\]")
"""Matches one placeholder; `fullmatch` tests whether a string consists of one placeholder."""


def read_stored(sql: str, columns: Sequence[Column]) -> Query:
    """Parse the SQL of a stored template: a plain query, or free-form SQL.

    Raises BrokenRule if the SQL is neither.
    """
    try:
        query = read_template(sql, columns)
    except BrokenRule:
        return read_free(sql, columns)
    # Plain queries are stored in canonical form. SQL that differs from this form may have another meaning.
    return query if write_template(query) == sql else read_free(sql, columns)


def read_own(sql: str, columns: Sequence[Column]) -> tuple[Query, BrokenRule | None]:
    """Parse user-written SQL as a plain query if the meaning stays the same, otherwise as free-form SQL.

    If the SQL breaks a rule for model-written SQL, the second element is this rule, otherwise None. Raises
    BrokenRule if the SQL cannot run.
    """
    try:
        query = read_template(sql, columns)
    except BrokenRule as broken:
        return read_free(sql, columns), broken
    free = read_free(sql, columns)
    return (query if _is_same(query, free) else free), None


def _is_same(query: Query, free: FreeQuery) -> bool:
    """Return whether a plain query has the same answers and placeholders as the SQL that it was parsed from.

    The result is false for SQL with AVG, MAX or MIN. A plain query rounds means. For MAX or MIN, a plain
    query finds the row with the extreme value, but several rows may share this value.
    """
    select = parse_select(free.sql)
    computed = {type(expression.unalias()) for expression in select.expressions}
    return set(query.placeholders) == set(free.placeholders) and not computed & {exp.Avg, exp.Max, exp.Min}


def read_free(sql: str, columns: Sequence[Column]) -> FreeQuery:
    """Parse one free-form SELECT, and check that SQLite can run it on this schema. Raises BrokenRule."""
    statement = parse_free(quote_placeholders(sql, columns))
    known = {column.id.lower(): column.id for column in columns}
    _check_names(statement, columns)
    _try(statement.sql(dialect=DIALECT), columns)
    names = _spell_placeholders(statement, known)
    text = statement.sql(dialect=DIALECT)
    # Placeholders are later replaced by a regular expression, which would also match inside other strings.
    if QUOTED_PLACEHOLDER.findall(text) != [
        f"'[{literal.this[1:-1]}]'" for literal in _find_placeholders(parse_free(text))
    ]:
        raise BrokenRule("wrong_placeholder", "a placeholder is inside a longer text")
    used = set(map(name_source, names)) | set(_list_columns(statement, columns))
    tables = {column.table.lower(): column.table for column in columns}
    found = {table.name.lower() for table in statement.find_all(exp.Table)}
    read = {tables[name] for name in found & tables.keys()}
    return FreeQuery(
        _list_projection(statement, columns), (), tuple(sorted(names)),
        sql=text, used=tuple(sorted(used)), read=tuple(sorted(read | set(map(table_of, used)))),
    )  # fmt: skip


def name_source(placeholder: str) -> str:
    """Return the id of the column whose values replace a free query's placeholder."""
    return column_of(NUMBERED.sub("", placeholder))


def quote_placeholders(sql: str, columns: Sequence[Column]) -> str:
    """Convert all placeholders in user-written SQL to strings in single quotes.

    `[table.column]` may be unquoted, in double quotes, or within a string: `'%[table.column]%'`.
    """
    names = {column.id.lower() for column in columns}
    parts, end = [], 0
    for quoted in [*QUOTED.finditer(sql), None]:
        start = quoted.start() if quoted else len(sql)
        parts.append(
            PLACEHOLDER.sub(
                lambda found: f"'{found[0]}'" if name_source(found[0][1:-1].lower()) in names else found[0],
                sql[end:start],
            )
        )
        if quoted:
            parts.append(_quote_within(quoted[0], names))
            end = quoted.end()
    return "".join(parts)


def _quote_within(text: str, names: set[str]) -> str:
    """Convert a quoted string that contains placeholders to SQL that concatenates its parts."""
    inner = text[1:-1]
    found = [part[0] for part in PLACEHOLDER.finditer(inner) if name_source(part[0][1:-1].lower()) in names]
    # Backquotes always quote a name. SQLite also accepts double quotes around a string.
    if text[0] == "`" or not found:
        return text
    plain = inner.replace('""', '"').replace("''", "'")
    pieces = re.split(f"({'|'.join(map(re.escape, found))})", plain)
    literals = ["'" + piece.replace("'", "''") + "'" for piece in pieces if piece]
    return literals[0] if len(literals) == 1 else f"({' || '.join(literals)})"


def parse_free(sql: str) -> exp.Query:
    """Parse one free-form SELECT whose answer does not depend on the clock. Raises BrokenRule."""
    statements = parse_statements(sql.strip().rstrip(";"))
    if len(statements) != 1 or statements[0] is None:
        raise BrokenRule("unreadable", f"expected one statement, got {len(statements)}")
    if not isinstance(statements[0], (exp.Select, exp.SetOperation)):
        raise BrokenRule("not_select", type(statements[0]).__name__)
    if clock := find_clock(sql, DIALECT):
        raise BrokenRule("clock", f"the answer depends on {clock}")
    return statements[0]


def _find_placeholders(statement: exp.Expr) -> list[exp.Literal]:
    # Depth-first search yields the literals in the order of the text.
    return [
        literal
        for literal in statement.find_all(exp.Literal, bfs=False)
        if literal.is_string and WHOLE.fullmatch(literal.this)
    ]


def _spell_placeholders(statement: exp.Expr, known: Mapping[str, str]) -> list[str]:
    """Change placeholders in place to the schema's spelling; return the distinct names. Raises BrokenRule."""
    names: dict[str, None] = {}
    for literal in _find_placeholders(statement):
        name = literal.this[1:-1].strip()
        source = name_source(name)
        if source.lower() not in known:
            raise BrokenRule("wrong_placeholder", f"[{name}] is not the name of a column of the schema")
        spelt = known[source.lower()] + name[len(source) :]
        literal.set("this", f"[{spelt}]")
        names[spelt] = None
    return list(names)


def _check_names(statement: exp.Expr, columns: Sequence[Column]) -> None:
    tables = {column.table.lower() for column in columns}
    made = {table.alias.lower() for table in statement.find_all(exp.CTE)}
    for table in statement.find_all(exp.Table):
        if table.name.lower() not in tables | made or table.db:
            raise BrokenRule("unknown_name", f"table {table.sql(dialect=DIALECT)}")
    if statement.find(exp.Placeholder, exp.Parameter):
        raise BrokenRule("wrong_placeholder", "expected '[table.column]' as the placeholder")


def _try(sql: str, columns: Sequence[Column]) -> None:
    """Compile the SQL in SQLite over empty tables of this schema.

    Raises BrokenRule if SQLite rejects the SQL.
    """
    tables: dict[str, list[str]] = {}
    for column in columns:
        tables.setdefault(column.table, []).append(column.name)
    with closing(sqlite3.connect(":memory:")) as empty:
        for table, names in tables.items():
            cells = ", ".join(map(_quote, names))
            empty.execute(f"CREATE TABLE {_quote(table)} ({cells})")
        try:
            empty.execute(f"EXPLAIN {sql}").close()
        # Text that UTF-8 cannot encode raises UnicodeEncodeError, a ValueError.
        except (sqlite3.Error, ValueError) as error:
            said = str(error)
            if said.startswith("no such column: "):
                raise BrokenRule("unknown_name", said.replace("no such column:", "column")) from error
            raise BrokenRule("cannot_run", said) from error


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def list_sources(select: exp.Select, columns: Sequence[Column]) -> dict[str, str]:
    """Return the tables in a SELECT's FROM and JOIN clauses, by lower-case alias."""
    spelling = {column.table.lower(): column.table for column in columns}
    start = select.args.get("from_") or select.args.get("from")
    sources = [start.this] if start else []
    sources += [join.this for join in select.args.get("joins") or []]
    return {
        source.alias_or_name.lower(): spelling[source.name.lower()]
        for source in sources
        if isinstance(source, exp.Table) and source.name.lower() in spelling
    }


def find_column(node: exp.Column, columns: Sequence[Column]) -> tuple[str, exp.Select] | None:
    """Return a column's id and the SELECT that reads the column's table; None if a subquery computes it."""
    known = {column.id.lower(): column.id for column in columns}
    select = node.find_ancestor(exp.Select)
    while select is not None:
        sources = list_sources(select, columns)
        tables = [sources.get(node.table.lower())] if node.table else list(sources.values())
        for table in filter(None, tables):
            if found := known.get(make_column_id(table, node.name).lower()):
                return found, select
        select = select.find_ancestor(exp.Select)
    return None


def _list_columns(statement: exp.Expr, columns: Sequence[Column]) -> Iterator[str]:
    for node in statement.find_all(exp.Column):
        if found := find_column(node, columns):
            yield found[0]


def _list_projection(statement: exp.Query, columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the selected columns; empty if the SQL selects a column twice, or an expression."""
    names: list[str] = []
    for expression in statement.selects:
        node = expression.unalias()
        found = find_column(node, columns) if isinstance(node, exp.Column) else None
        if found is None or found[0] in names:
            return ()
        names.append(found[0])
    return tuple(names)
