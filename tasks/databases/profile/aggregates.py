"""SQL aggregates that profile the columns of a table, for SQLite, PostgreSQL and MariaDB.

On other engines, there are only counts, a minimum and a maximum per column.
"""

from __future__ import annotations

from collections.abc import Sequence

from tasks.databases.columns import Column
from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.readings import (
    DAY,
    MOMENT,
    NUMBER,
    ON_SERVERS,
    is_format,
    write_finite,
    write_reading,
)
from tasks.databases.profile.texts import COMPACT, propose_formats

Aggregates = dict[str, str]
"""Name of an aggregate -> its SQL expression."""
SERVER_TEXT = {"postgres": "CAST({c} AS TEXT)", "mysql": "CAST({c} AS CHAR)"}
MATCHES = {"postgres": "~", "mysql": "REGEXP"}
SERVER_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}( 00:00:00([.]0+)?([+]00)?)?$"
SERVER_MOMENT = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([+]00)?$"
SERVER_TIME = "^([01][0-9]|2[0-3]):"
NO_DAY = {"mysql": "({c} + INTERVAL 0 DAY IS NULL)"}
"""Dialect -> SQL condition for impossible dates such as 31 February, which MariaDB can store."""
SERVER_NONE = "^(0000|0001|9999)-"
SERVER_OUTSIDE = "infinity|BC|^24:"
NO_YEARS = "('0000', '0001', '9999')"
"""Years of placeholder dates, which represent a missing date."""
NO_LAST_YEARS = "(' 0000', ' 0001', ' 9999')"
"""The years of placeholder dates at the end of a cell, as in `Dec 31, 9999`. The space excludes times that
end with `.0000`."""


def write_text(cell: str, dialect: str) -> str:
    """Return SQL that converts a cell to text on a server; on SQLite, return the cell unchanged."""
    return SERVER_TEXT[dialect].replace("{c}", cell) if dialect in SERVER_TEXT else cell


def list_cell_counts(column: Column, cell: str, dialect: str) -> Aggregates:
    """Return the aggregates that every column needs. `cell`: SQL for the column."""
    own = {"rows": "COUNT(*)", "filled": f"COUNT({cell})"}
    if dialect != "sqlite":
        return own | _list_server(column, cell, dialect)
    own |= {"distinct": f"COUNT(DISTINCT {cell})", "least": f"MIN({cell})", "greatest": f"MAX({cell})"}
    own["not_finite"] = f"SUM(typeof({cell}) = 'real' AND NOT ({write_finite(cell)}))"
    return own | {name: f"SUM(typeof({cell}) = '{name}')" for name in ("integer", "real", "text", "blob")}


def list_text_counts(
    column: Column, cell: str, dialect: str, rules: ColumnRules, sample: Sequence[str], override: str
) -> Aggregates:
    """Return the aggregates for a column's strings and their date formats.

    On a server, the result is empty unless the column's type is text.
    `sample`: some of the strings, from which date formats are proposed. `override`: the kind or date format
    from params.yaml, if any.
    """
    readings = propose_formats(sample)
    if override == "date" or is_format(override):
        readings = [*dict.fromkeys([*readings, DAY, MOMENT, *filter(is_format, [override])])]
    if dialect == "sqlite":
        return _list_sqlite_texts(cell, rules, readings or [COMPACT] * (column.type == "date"))
    if column.type != "text" or dialect not in MATCHES:
        return {}
    text = write_text(cell, dialect)
    own = {
        "no_value": _count_if(f"LOWER(TRIM({text})) IN ({_list_none(rules)})"),
        "length": f"AVG(CHAR_LENGTH({text}))",
    }
    if readings:
        own["lengths"] = f"COUNT(DISTINCT CHAR_LENGTH({text}))"
        own["plain_days"] = _count_if(
            f"CHAR_LENGTH({text}) = 10 AND {text} {MATCHES[dialect]} '{SERVER_DAY}'"
        )
        own["with_t"] = _count_if(f"POSITION('T' IN {text}) > 0")
        first = f"SPLIT_PART({text}, ' ', 1)" if dialect == "postgres" else f"SUBSTRING_INDEX({text}, ' ', 1)"
        ends = (
            f"LEFT({text}, 4) IN {NO_YEARS} OR RIGHT({first}, 4) IN {NO_YEARS} "
            f"OR RIGHT({text}, 5) IN {NO_LAST_YEARS}"
        )
        own["no_dates"] = _count_if(ends)
    for reading in readings:
        read = write_reading(cell, ON_SERVERS.get(reading, reading), dialect)
        own[f"fits {reading}"] = f"COUNT({read.sql(dialect=dialect)})"
    return own


def _list_sqlite_texts(cell: str, rules: ColumnRules, readings: Sequence[str]) -> Aggregates:
    own = {
        "no_value": f"SUM(typeof({cell}) = 'text' AND lower(trim({cell})) IN ({_list_none(rules)}))",
        "length": f"AVG(CASE WHEN typeof({cell}) = 'text' THEN length({cell}) END)",
    }
    if readings:
        first = f"substr({cell}, 1, instr({cell} || ' ', ' ') - 1)"
        no_dates = (
            f"substr({cell}, 1, 4) IN {NO_YEARS} OR substr({first}, -4) IN {NO_YEARS} "
            f"OR substr({cell}, -5) IN {NO_LAST_YEARS}"
        )
        own["no_dates"] = f"SUM(typeof({cell}) = 'text' AND ({no_dates}))"
    if DAY in readings:
        own["plain_days"] = f"SUM({cell} GLOB '????-??-??')"
        own["lengths"] = f"COUNT(DISTINCT length({cell}))"
        own["with_t"] = f"SUM({cell} LIKE '%T%')"
    for reading in readings:
        own[f"fits {reading}"] = f"COUNT({write_reading(cell, reading).sql(dialect='sqlite')})"
    return own


def _list_server(column: Column, cell: str, dialect: str) -> Aggregates:
    if column.type == "other":
        return {}
    text = write_text(cell, dialect)
    own = {"distinct": f"COUNT(DISTINCT {cell})"}
    if column.type == "text":
        own["text"] = f"COUNT({cell})"
    if column.type != "boolean":
        own |= {"least": f"MIN({text})", "greatest": f"MAX({text})"}
    if dialect not in MATCHES:
        return own
    if column.type in ("integer", "real"):
        own["least"], own["greatest"] = f"MIN({cell})", f"MAX({cell})"
        if dialect == "postgres":
            own["least"], own["greatest"] = f"CAST(MIN({cell}) AS TEXT)", f"CAST(MAX({cell}) AS TEXT)"
            own["not_finite"] = _count_if(f"{text} IN ('NaN', 'Infinity', '-Infinity')")
        return own
    if column.type == "date":
        matches = MATCHES[dialect]
        none = f"{text} {matches} '{SERVER_NONE}'"
        no_day = NO_DAY.get(dialect, "FALSE").replace("{c}", cell)
        own["lengths"] = f"COUNT(DISTINCT CHAR_LENGTH({text}))"
        own["plain_days"] = _count_if(f"CHAR_LENGTH({text}) = 10 AND {text} {matches} '{SERVER_DAY}'")
        own["no_dates"] = _count_if(none)
        for reading, pattern in ((DAY, SERVER_DAY), (MOMENT, SERVER_MOMENT)):
            own[f"fits {reading}"] = _count_if(
                f"{text} {matches} '{pattern}' AND NOT {none} AND NOT {no_day}"
            )
        if dialect == "postgres":
            own["outside"] = _count_if(f"{text} ~ '{SERVER_OUTSIDE}'")
    return own


def find_odd(column: Column, cell: str, dialect: str, rules: ColumnRules, reading: str) -> str:
    """Return the SQL condition for cells that do not fit a column's kind; "" if the kind is not tested."""
    if dialect == "sqlite":
        wanted = reading or (DAY if column.type == "date" else NUMBER)
        read = write_reading(cell, wanted).sql(dialect="sqlite")
        return f"{cell} IS NOT NULL AND ({read}) IS NULL AND NOT lower(trim({cell})) IN ({_list_none(rules)})"
    text = write_text(cell, dialect)
    if dialect in MATCHES and column.type == "date":
        matches, day = MATCHES[dialect], NO_DAY.get(dialect, "FALSE").replace("{c}", cell)
        shaped = " OR ".join(
            f"{text} {matches} '{pattern}'" for pattern in (SERVER_DAY, SERVER_MOMENT, SERVER_TIME)
        )
        return f"(NOT ({shaped}) OR {day}) AND NOT {text} {matches} '{SERVER_NONE}'"
    if dialect in MATCHES and column.type == "text" and reading:
        read = write_reading(cell, reading, dialect).sql(dialect=dialect)
        return f"{cell} IS NOT NULL AND ({read}) IS NULL AND NOT LOWER(TRIM({text})) IN ({_list_none(rules)})"
    return ""


def _list_none(rules: ColumnRules) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in rules.no_value)


def _count_if(condition: str) -> str:
    return f"SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)"
