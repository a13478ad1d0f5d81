"""Compute a question's answer in plain Python from the raw cells of its tables, without Benchloom's SQL."""

import datetime as dt
import math
import re
import sqlite3
from collections import defaultdict
from contextlib import closing

from sqlalchemy import text

from tasks.databases.columns import split_column_id
from tasks.databases.values import to_plain
from tasks.grammar.construct.queries import column_of, comparison_of

NO_YEARS = (1, 9999)
BLANK_PADDED = 1042
"""The type number (OID) of PostgreSQL's CHAR(n)."""
ISO_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T]00:00(?::00(?:\.0+)?)?)?Z?")
ISO_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?Z?")
UTC = re.compile(r"(\d\d:\d\d:\d\d)\+00(:00)?$")
"""Suffix with which drivers write the time zone of every connection."""
COMPARE = {
    "over": lambda cell, bound: cell > bound,
    "under": lambda cell, bound: cell < bound,
    "from": lambda cell, bound: cell >= bound,
    "to": lambda cell, bound: cell <= bound,
}


def read_tables(entry, tables):
    """Read tables: table -> rows, each as column -> cell."""
    if entry.url is None:
        with closing(sqlite3.connect(entry.file)) as connection:
            connection.text_factory = lambda cell: cell.decode("utf-8", "replace")
            connection.row_factory = sqlite3.Row
            return {
                table: [dict(row) for row in connection.execute(_select(table, listed_table, _quote))]
                for table, listed_table in tables.items()
            }
    engine = entry.connect()
    quote = engine.dialect.identifier_preparer.quote_identifier
    with engine.connect() as connection:
        return {
            table: _read_server(connection.execute(text(_select(table, listed_table, quote))))
            for table, listed_table in tables.items()
        }


def _select(table, columns, quote):
    return f"SELECT {', '.join(quote(column.name) for column in columns)} FROM {quote(table)}"


def _quote(name):
    return '"' + name.replace('"', '""') + '"'


def _read_server(result):
    """Read rows as column -> cell, without the padding of PostgreSQL's CHAR(n)."""
    padded = {column[0] for column in result.cursor.description if column[1] == BLANK_PADDED}
    return [
        {
            name: cell.rstrip(" ") if name in padded and cell is not None else cell
            for name, cell in row._mapping.items()
        }
        for row in result
    ]


def read_cell(cell, reading):
    """Convert a cell according to its column's profile, in Python."""
    cell = to_plain(cell)
    cell = UTC.sub(r"\1", cell) if isinstance(cell, str) else cell
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    if not reading or cell is None:
        return cell
    if reading == "number":
        return cell if isinstance(cell, (int, float)) else None
    if not isinstance(cell, str):
        cell = str(cell)
    if reading == "day":
        found = ISO_DAY.fullmatch(cell)
        return _read_day(found[1], "%Y-%m-%d") if found else None
    if reading == "moment":
        found = ISO_MOMENT.fullmatch(cell)
        return f"{day} {found[2]}" if found and (day := _read_day(found[1], "%Y-%m-%d")) else None
    form, clock = (reading[:-6], reading[-6:]) if reading.endswith(("%H:%M", " 00:00")) else (reading, "")
    if not clock:
        return _read_day(cell, form)
    day, _, time = (cell.replace("T", " ") if form == "%Y-%m-%d" else cell).partition(" ")
    if clock == " 00:00":
        return _read_day(day, form) if not time.strip("0:.") else None
    for shape in ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f"):
        try:
            moment = dt.datetime.strptime(time, shape).time().isoformat("seconds")  # noqa: DTZ007 (cells have no zone)
        except ValueError:
            continue
        return f"{found} {moment}" if (found := _read_day(day, form)) else None
    return None


def _read_day(cell, form):
    if "%b" in form:  # the full name of a month
        cell = re.sub(r"([A-Za-z]{3})[A-Za-z]*", r"\1", cell)
    try:
        day = dt.datetime.strptime(cell, form).date()  # noqa: DTZ007 (cells have no zone)
    except ValueError:
        return None
    return None if day.year in NO_YEARS else day.isoformat()


class Plain:
    """The tables of a database with converted cells."""

    def __init__(self, entry, schema):
        self.columns = {column.id: column for column in schema}
        names = defaultdict(list)
        for column in schema:
            names[column.table].append(column)
        raw = read_tables(entry, names)
        self.tables = {
            table: [
                {column.id: read_cell(row[column.name], column.reading) for column in name}
                for row in raw[table]
            ]
            for table, name in names.items()
        }

    def answer(self, query, fillings):
        """Return the rows that answer a query. fillings: placeholder -> text."""
        rows = [row for row in self._join(query) if self._fits(row, query, fillings)]
        cells = [[row[name] for name in query.projection] for row in rows]
        if query.measure == "count":
            return [[len({repr(row) for row in cells if None not in row})]]
        if query.measure == "average":
            known = [row[0] for row in cells if row[0] is not None]
            return [[math.fsum(known) / len(known)]]
        if query.measure in ("most", "least"):
            ranks = [row[query.ranked_by] for row in rows]
            best = (max if query.measure == "most" else min)(rank for rank in ranks if rank is not None)
            cells = [row for row, rank in zip(cells, ranks, strict=True) if rank == best]
        return list({repr(row): row for row in cells}.values())

    def _join(self, query):
        first, *others = sorted(query.tables, key=lambda table: table != _table(query.projection[0]))
        rows, seen = self.tables[first], {first}
        while others:
            table = next(name for name in others if self._pairs(query, seen, name))
            pairs = self._pairs(query, seen, table)
            index = defaultdict(list)
            for row in self.tables[table]:
                index[tuple(row[theirs] for _, theirs in pairs)].append(row)
            rows = [
                {**row, **other}
                for row in rows
                if None not in (key := tuple(row[pair] for pair, _ in pairs))
                for other in index[key]
            ]
            seen.add(table)
            others.remove(table)
        return rows

    def _pairs(self, query, seen, table):
        both = [*query.joins, *((b, a) for a, b in query.joins)]
        return [(a, b) for a, b in both if _table(a) in seen and _table(b) == table]

    def _fits(self, row, query, fillings):
        varied = []
        for name in query.placeholders:
            cell, given = row[column_of(name)], fillings[name]
            if cell is None:
                return False
            comparison = comparison_of(name)
            if comparison in COMPARE:
                number = isinstance(cell, (int, float))
                if not COMPARE[comparison](cell, float(given) if number else UTC.sub(r"\1", given)):
                    return False
            elif len(query.varied) == 2 and name in query.varied:
                varied.append(_says(cell, given))
            elif not _says(cell, given):
                return False
        return not varied or any(varied)


def _table(column):
    return split_column_id(column)[0]


def _says(cell, given):
    if isinstance(cell, (int, float)) and re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", given):
        return math.isclose(cell, float(given), rel_tol=1e-9)
    return str(cell) == UTC.sub(r"\1", given)


def same_rows(found, due, measure):
    """Return whether an answer has the expected rows in any order; means are compared to one decimal."""
    if measure == "average":
        return abs(found[0][0] - due[0][0]) <= 0.05 + 1e-9
    return sorted(map(_compare, found)) == sorted(map(_compare, due))


def _compare(row):
    return repr(
        [
            float(f"{cell:.9g}") if isinstance(cell, (int, float)) else UTC.sub(r"\1", cell or "")
            for cell in row
        ]
    )
