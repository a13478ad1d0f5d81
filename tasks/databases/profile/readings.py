"""SQL expressions that convert a column's cells to dates or numbers; the code calls them readings.

A reading is one of these values of `tasks.databases.columns.Column.reading`:

- `number`: the finite numbers; any other cell counts as empty (NULL).
- `day`: an ISO date; a time of 00:00 after the date is dropped.
- `moment`: an ISO date and time, to the second; a string with a time zone does not fit.
- `%d/%m/%Y`: the ISO date of a cell in this format; `%b` is an English month name, short or full.

A format without spaces may end in ` %H:%M` or ` 00:00`. The time after ` %H:%M` may have seconds and is kept.
A time of ` 00:00` (midnight) is dropped.

A cell that does not fit its reading becomes NULL. A date in the year 1 or 9999 represents a missing date and
also becomes NULL. A dataset's gold SQL contains the expression in SQLite's dialect. For other engines, the
expression is translated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

import sqlglot
from sqlglot import exp

from tasks.databases.columns import Column
from tasks.databases.profile.server_formats import write_server_format
from tasks.databases.quoted_names import quote_column

CANONICAL = "sqlite"
NUMBER, DAY, MOMENT = "number", "day", "moment"
FORMAT = re.compile(
    r"(?P<first>%[dmYb])(?P<one>[ ./-])(?P<second>%[dmb])(?P<two>[ ./-]|, )(?P<third>%[dY])|%Y%m%d"
)
"""Matches date formats: day, month and year with separators, or eight digits."""
CLOCK, MIDNIGHT = " %H:%M", " 00:00"
"""Suffixes of a date format for a time that is kept (CLOCK) or dropped (MIDNIGHT)."""
ISO = "%Y-%m-%d"
ON_SERVERS = {DAY: ISO + MIDNIGHT, MOMENT: ISO + CLOCK}
"""Reading of ISO dates -> the equivalent date format for text columns on servers."""
Readings = Mapping[str, str]
"""Column id -> its reading. Columns without a reading are used unchanged and are not in the mapping."""
DIGIT, LETTER = "[0-9]", "[A-Za-z]"
ISO_DAY = "[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]"
# Each month has four characters, so (position + 3) / 4 is the month's number.
MONTHS = ".jan.feb.mar.apr.may.jun.jul.aug.sep.oct.nov.dec"
SERVERS = {
    "postgres": {
        NUMBER: "CASE WHEN CAST({c} AS TEXT) NOT IN ('NaN', 'Infinity', '-Infinity') THEN {c} END",
        DAY: "CASE WHEN {c} >= '0002-01-01' AND {c} < '9999-01-01' THEN CAST({c} AS DATE) END",
        MOMENT: "CASE WHEN {c} >= '0002-01-01' AND {c} < '9999-01-01' THEN {c} END",
    },
    "mysql": {
        # For an impossible date such as 31 February, the sum is NULL.
        NUMBER: "{c}",
        DAY: "CASE WHEN {c} + INTERVAL 0 DAY >= '0002-01-01' AND {c} < '9999-01-01' "
        "THEN CAST({c} AS DATE) END",
        MOMENT: "CASE WHEN {c} + INTERVAL 0 DAY >= '0002-01-01' AND {c} < '9999-01-01' THEN {c} END",
    },
}
"""Server dialect -> reading -> SQL for a numeric or date column. `{c}` is the cell."""


def list_readings(columns: Iterable[Column]) -> Readings:
    """Map column ids to readings, for the columns that have a reading."""
    return {column.id: column.reading for column in columns if column.reading}


def is_format(reading: str) -> bool:
    """Return whether a reading is a date format that contains day, month and year once each."""
    day, clock = split_clock(reading)
    parts = re.findall(r"%\w", day)
    whole = bool(FORMAT.fullmatch(day)) and not (clock and " " in day)
    return whole and sorted(parts) in (["%Y", "%d", "%m"], ["%Y", "%b", "%d"])


def split_clock(reading: str) -> tuple[str, str]:
    """Split a date format into the format of the day, and CLOCK, MIDNIGHT or ""."""
    clock = next((ending for ending in (CLOCK, MIDNIGHT) if reading.endswith(ending)), "")
    return reading.removesuffix(clock), clock


def apply_readings(tree: exp.Expr, readings: Readings, dialect: str = CANONICAL) -> exp.Expr:
    """Replace each column that has a reading with its reading expression, in place; return the tree."""
    if not readings:
        return tree
    found = {quote_column(name).sql(dialect=CANONICAL).lower(): name for name in readings}
    for node in list(tree.find_all(exp.Column)):
        name = found.get(node.sql(dialect=CANONICAL).lower())
        if name is None:
            continue
        read = write_reading(
            node.sql(dialect=dialect, identify=dialect != CANONICAL), readings[name], dialect
        )
        if node is tree:
            return read
        node.replace(read)
    return tree


def strip_readings(tree: exp.Expr, readings: Readings) -> exp.Expr:
    """Replace each reading expression with the plain column, in place; return the tree.

    This is the inverse of `apply_readings` in SQLite's dialect.
    """
    for name, reading in readings.items():
        column = quote_column(name)
        read = write_reading(column.sql(dialect=CANONICAL), reading)
        for node in list(tree.find_all(type(read))):
            if node == read:
                node.replace(column.copy())
    return tree


def write_reading(cell: str, reading: str, dialect: str = CANONICAL) -> exp.Expr:
    """Return the expression that converts a cell. `cell`: SQL for the column in the dialect."""
    return _parse(_write(cell, reading, dialect), dialect).copy()


@lru_cache(maxsize=1024)
def _parse(sql: str, dialect: str) -> exp.Expr:
    # Parsing twice makes the expression equal to the tree that a parser returns for the expression's SQL.
    return sqlglot.parse_one(sqlglot.parse_one(sql, dialect=dialect).sql(dialect=dialect), dialect=dialect)


def _write(cell: str, reading: str, dialect: str) -> str:
    if dialect != CANONICAL:
        if is_format(reading):
            return write_server_format(cell, *split_clock(reading), dialect)
        return SERVERS.get(dialect, {}).get(reading, "{c}").replace("{c}", cell)
    if reading == NUMBER:
        return f"CASE WHEN typeof({cell}) IN ('integer', 'real') AND {write_finite(cell)} THEN {cell} END"
    form, clock = split_clock(reading)
    if clock:
        return _write_clock(cell, form, clock)
    day, year, shape = _convert(cell, reading)
    read = f"substr(replace({cell}, 'T', ' '), 1, 19)" if reading == MOMENT else day
    return _check_day(day, year, shape, read)


def write_finite(cell: str) -> str:
    """Return SQL that tests whether a number in SQLite is finite."""
    # SQLite has no literal for infinity, but reads 9e999 as infinity.
    return f"{cell} > -9e999 AND {cell} < 9e999"


def _write_clock(cell: str, form: str, clock: str) -> str:
    """Return SQL that converts a date with a time. `form`: the format of the date.

    `clock`: CLOCK keeps the time; MIDNIGHT drops it, and accepts only 00:00.
    """
    cell = f"replace({cell}, 'T', ' ')" if form == ISO else cell
    told = f"({cell} || ' ')"
    day, year, shape = _convert(f"substr({told}, 1, instr({told}, ' ') - 1)", form)
    rest = f"substr({cell}, instr({told}, ' ') + 1)"
    if clock == MIDNIGHT:
        return _check_day(day, year, f"{shape} AND NOT {rest} GLOB '*[^0:.]*'", day)
    time = f"substr('0' || {rest}, 1 + (instr({rest}, ':') = 3))"
    minutes = f"{DIGIT * 2}:[0-5]{DIGIT}"
    seconds = f"{time} GLOB '{minutes}:[0-5]{DIGIT}*' AND NOT {time} GLOB '*[^0-9:.]*'"
    timed = f"({time} GLOB '{minutes}' OR {seconds}) AND {time} < '24'"
    return _check_day(day, year, f"{shape} AND {timed}", f"{day} || ' ' || substr({time} || ':00', 1, 8)")


def _check_day(day: str, year: str, shape: str, read: str) -> str:
    # Without a modifier, `date` returns an impossible date such as 2023-02-30 unchanged.
    return (
        f"CASE WHEN {shape} AND {day} = date({day}, '+0 days') AND NOT {year} IN ('0001', '9999') "
        f"THEN {read} END"
    )


def _convert(cell: str, reading: str) -> tuple[str, str, str]:
    """Return three SQL expressions: a cell's ISO date, its year, and a test of its format.

    The SQL relies on SQLite's conversion of a string to its leading number: 9/3/1999 becomes 9.
    """
    if reading in (DAY, MOMENT):
        if reading == DAY:
            midnight = f"{cell} GLOB '{ISO_DAY}[ T]00:00*' AND NOT substr({cell}, 12) GLOB '*[^0:.Z]*'"
            shape = f"({cell} GLOB '{ISO_DAY}' OR {midnight})"
        else:
            shape = f"{cell} GLOB '{ISO_DAY}[ T][0-2][0-9]:[0-5][0-9]*' AND NOT {cell} GLOB '*:*[-+]*'"
        return f"substr({cell}, 1, 10)", f"substr({cell}, 1, 4)", shape
    found = FORMAT.fullmatch(reading)
    if found is None or found["first"] is None:
        parts = [f"substr({cell}, {start}, {length})" for start, length in ((1, 4), (5, 2), (7, 2))]
        return " || '-' || ".join(parts), parts[0], f"{cell} GLOB '{DIGIT * 8}'"
    one, two = found["one"], found["two"]
    rest = f"substr({cell}, instr({cell}, '{one}') + 1)"
    pieces = {found["first"]: cell, found["second"]: rest, found["third"]: f"substr({cell}, -4)"}
    if found["first"] == "%Y":
        pieces[found["third"]] = f"substr({cell}, 6 + instr(substr({cell}, 6), '{two}'))"
    if "%b" in pieces:
        name = f"'.' || lower(substr({pieces['%b']}, 1, 3))"
        pieces["%m"] = f"(instr('{MONTHS}', {name}) + 3) / 4"
    globs = {"%Y": DIGIT * 4, "%d": f"{DIGIT}*", "%m": f"{DIGIT}*", "%b": f"{LETTER * 3}*"}
    shape = f"{globs[found['first']]}{one}{globs[found['second']]}{two}{globs[found['third']]}"
    letters = "A-Za-z" if "%b" in pieces else ""
    # The hyphen comes last, because GLOB reads a hyphen between two characters as a range.
    allowed = "".join(sorted({*one, *two}, key=lambda separator: (separator == "-", separator)))
    marks = one + two
    most = f"*{one}*{two[0]}*{marks[-1]}*" if len(two) == 1 else "* *,*,*"
    return (
        f"printf('%04d-%02d-%02d', {pieces['%Y']}, {pieces['%m']}, {pieces['%d']})",
        f"substr({cell}, {1 if found['first'] == '%Y' else -4}, 4)",
        f"{cell} GLOB '{shape}' AND NOT {cell} GLOB '*[^0-9{letters}{allowed}]*' "
        f"AND NOT {cell} GLOB '{most}'",
    )
