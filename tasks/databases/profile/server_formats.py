"""SQL that parses a string as a date in a given format on PostgreSQL and MariaDB (SQLite: readings.py).

The servers' conversion functions are not used: for an impossible date such as 30 February, they fail or
return another date.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

# Each month has four characters, so (position + 3) / 4 is the month's number.
MONTHS = ".jan.feb.mar.apr.may.jun.jul.aug.sep.oct.nov.dec"
PATTERNS = {"%Y": "[0-9]{4}", "%d": "[0-9]{1,2}", "%m": "[0-9]{1,2}", "%b": "[A-Za-z]{3,}"}
TIME = "([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?"
MIDNIGHTS = "( 0?0:00(:00([.]0+)?)?)?"
COMPACT = "%Y%m%d"
BY_FOUR = "([02468][048]|[13579][26])"
DATES = (
    "^[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|1[0-9]|2[0-8]))$"
)
LEAP_DAYS = f"^([0-9]{{2}}(0[48]|[2468][048]|[13579][26])|{BY_FOUR}00)-02-29$"
NO_DATES = "^(0001|9999)-"


def write_server_format(cell: str, form: str, clock: str, dialect: str) -> str:
    """Return SQL that converts a cell to an ISO date as text, or NULL. `clock`: CLOCK, MIDNIGHT or ""."""
    server = _POSTGRES if dialect == "postgres" else _MARIADB
    text = f"CAST({cell} AS {server.text})"
    if clock and form == "%Y-%m-%d":
        text = f"REPLACE({text}, 'T', ' ')"
    day = server.cut(text, " ", 1) if clock else text
    years, months, days = (_find_part(part, form, day, server) for part in ("%Y", "%m", "%d"))
    iso = server.join(years, "'-'", server.pad(months), "'-'", server.pad(days))
    pattern = "[0-9]{8}" if form == COMPACT else re.sub(r"%\w", _write_pattern, form.replace(".", "[.]"))
    ending = f" {TIME}" if clock.endswith("%M") else MIDNIGHTS if clock else ""
    read = iso
    if clock.endswith("%M"):
        time = server.cut(text, " ", 2)
        hours = server.pad(server.cut(time, ":", 1))
        rest = f"SUBSTRING({server.join(server.cut_behind(time, ':'), server.zeros)}, 1, 5)"
        read = server.join(iso, "' '", hours, "':'", rest)
    fits = server.match(text, f"^{pattern}{ending}$")
    real = f"({server.match(iso, DATES)} OR {server.match(iso, LEAP_DAYS)})"
    return f"CASE WHEN {fits} AND {real} AND NOT {server.match(iso, NO_DATES)} THEN {read} END"


def _write_pattern(part: re.Match[str]) -> str:
    return PATTERNS[part[0]]


def _find_part(part: str, form: str, day: str, server: _Server) -> str:
    """Return SQL for the year, month or day in a string."""
    if form == COMPACT:
        start, length = {"%Y": (1, 4), "%m": (5, 2), "%d": (7, 2)}[part]
        return f"SUBSTRING({day}, {start}, {length})"
    parts = re.findall(r"%\w", form)
    separator = form.removeprefix(parts[0])[0]
    whole = f"REPLACE({day}, ',', '')" if "," in form else day
    if part == "%m" and "%b" in parts:
        named = server.cut(whole, separator, parts.index("%b") + 1)
        name = server.join("'.'", f"LOWER(SUBSTRING({named}, 1, 3))")
        return server.number(name)
    return server.cut(whole, separator, parts.index(part) + 1)


class _Server(ABC):
    """Writes SQL expressions that split and join strings, for one engine."""

    text, zeros = "", "':00'"

    @abstractmethod
    def match(self, text: str, pattern: str) -> str:
        """Return SQL that tests whether a string matches a pattern."""

    @abstractmethod
    def cut(self, text: str, separator: str, number: int) -> str:
        """Return SQL that splits a string at a separator and returns part `number` (1-based)."""

    def cut_behind(self, text: str, separator: str) -> str:
        """Return SQL for the part of a string after the first separator."""
        return f"SUBSTRING({text}, {self.find(text, separator)} + 1)"

    @abstractmethod
    def find(self, text: str, separator: str) -> str:
        """Return SQL for the 1-based position of a separator in a string."""

    def join(self, *texts: str) -> str:
        """Return SQL that concatenates strings."""
        return f"CONCAT({', '.join(texts)})"

    def pad(self, text: str) -> str:
        """Return SQL that zero-pads a number, given as text, to two digits."""
        padded = self.join("'0'", text)
        return f"RIGHT({padded}, 2)"

    @abstractmethod
    def number(self, name: str) -> str:
        """Return SQL for a month's number as text.

        `name`: SQL for a string that is `.` followed by the month's first three letters.
        """


class _Postgres(_Server):
    text = "TEXT"

    def match(self, text: str, pattern: str) -> str:
        return f"{text} ~ '{pattern}'"

    def cut(self, text: str, separator: str, number: int) -> str:
        return f"SPLIT_PART({text}, '{separator}', {number})"

    def find(self, text: str, separator: str) -> str:
        return f"STRPOS({text}, '{separator}')"

    def number(self, name: str) -> str:
        return f"CAST((STRPOS('{MONTHS}', {name}) + 3) / 4 AS TEXT)"


class _MariaDB(_Server):
    text = "CHAR"

    def match(self, text: str, pattern: str) -> str:
        # Not RLIKE, which sqlglot translates to a function that MariaDB lacks.
        return f"REGEXP_INSTR({text}, '{pattern}') = 1"

    def cut(self, text: str, separator: str, number: int) -> str:
        return f"SUBSTRING_INDEX(SUBSTRING_INDEX({text}, '{separator}', {number}), '{separator}', -1)"

    def find(self, text: str, separator: str) -> str:
        return f"LOCATE('{separator}', {text})"

    def number(self, name: str) -> str:
        return f"CAST(FLOOR((LOCATE({name}, '{MONTHS}') + 3) / 4) AS CHAR)"


_POSTGRES, _MARIADB = _Postgres(), _MariaDB()
