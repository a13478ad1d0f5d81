"""Find conversions of text to dates or times on PostgreSQL, because the text may be `now`.

PostgreSQL's clock cannot be replaced. A conversion is therefore allowed only if the operand's type is already
a date or time, or if the operand is a constant in ISO 8601 format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import sqlglot
from sqlglot import Dialect, TokenType, exp
from sqlglot.errors import SqlglotError

DIALECT = "postgres"
Times = Mapping[str, frozenset[str]]
"""Column name -> kinds of the columns with that name: `date` (also for timestamps), `time` or `other`."""
DAYS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "TIMESTAMPLTZ", "DATETIME"})
TIMED = re.compile(r"DATE|TIME|^TS|USERDEFINED|UNKNOWN|OBJECT|STRUCT|NULLABLE")
"""Matches the names of types that may contain a date or time; casts to these types are checked.

The element types of ranges and arrays are also checked.
"""
DAY = r"\d{4}-\d\d-\d\d"
CLOCK = r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?"
ISO_DAY = re.compile(rf"{DAY}([ T]{CLOCK}(Z|[+-]\d\d(:?\d\d)?)?)?")
ISO_TIME = re.compile(CLOCK)
SPECIAL_DATES = frozenset({"infinity", "-infinity", "epoch"})
"""Special strings that PostgreSQL converts to a date that does not depend on the current day."""
RANGE = re.compile(rf"empty|[\[(] *({ISO_DAY.pattern})? *, *({ISO_DAY.pattern})? *[\])]", re.IGNORECASE)
RANGES = frozenset({"DATERANGE", "TSRANGE", "TSTZRANGE"})
TIME_OF_DAY = re.compile(r"\d:\d\d")
SPECIAL = frozenset({"now", "today", "tomorrow", "yesterday"})
"""Words for a time relative to now."""
WORD = re.compile(r"[a-z]+(?:[/_][a-z_/]+)*")
OF_DATES = re.compile(
    r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*|am|pm|ad|bc|at|on|t|z|"
    r"allballs|epoch|infinity|utc|gmt|h|m|s|dst"
)
"""Matches words that may be part of a date or time, except the words in SPECIAL."""
SAME_KIND = (
    exp.Paren, exp.Alias, exp.Max, exp.Min, exp.Coalesce, exp.Greatest, exp.Least, exp.Nullif, exp.Lag,
    exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue, exp.Window, exp.AnyValue, exp.Filter,
    exp.WithinGroup, exp.Mode, exp.Add, exp.Sub,
)  # fmt: skip
"""Expressions whose result has the same kind (date or time) as their first operand."""
MAKES_DAY = (exp.TimestampTrunc, exp.DateTrunc, exp.StrToDate, exp.UnixToTime, exp.AtTimeZone)
"""Functions that return a date or a timestamp."""
FIXED_ZONE = re.compile(r"utc|gmt|z|[+-]?\d{1,2}(:\d\d)?", re.IGNORECASE)
"""Matches time zones with a fixed offset."""
STRINGS = frozenset({TokenType.STRING, TokenType.NATIONAL_STRING})
ODD_STRINGS = frozenset(
    {TokenType.BYTE_STRING, TokenType.UNICODE_STRING, TokenType.HEREDOC_STRING, TokenType.RAW_STRING}
)
MAKE_RANGE = frozenset({"daterange", "tsrange", "tstzrange"})
NAMED = frozenset({"date", "time", "timetz", "timestamp", "timestamptz", "daterange", "tsrange", "tstzrange"})


def find_conversion(sql: str, times: Times) -> str:
    """Return the part of a PostgreSQL statement that may convert a string to a date or time, or ""."""
    try:
        root = sqlglot.parse_one(sql, dialect=DIALECT)
        if found := find_special_text(sql):
            return found
    except (SqlglotError, RecursionError):
        return sql
    aliases: dict[str, list[exp.Expr]] = {}
    for alias in root.find_all(exp.Alias, exp.TableAlias):
        if isinstance(alias, exp.Alias):
            aliases.setdefault(alias.alias.lower(), []).append(alias.this)
        else:
            for column in alias.args.get("columns") or ():
                # The types of these columns are unknown; Null has the kind `other`, so casts are refused.
                aliases.setdefault(column.name.lower(), []).append(exp.Null())
    reader = _Reader(times, aliases)
    return next((node.sql(dialect=DIALECT) for node in root.walk() if reader.may_read_clock(node)), "")


def find_special_text(sql: str) -> str:
    """Return the first constant that may be a time relative to now; "" if there is none.

    Constants such as `E'...'` and `$$...$$` are also returned if they contain a backslash.
    """
    text = ""
    for token in (*Dialect.get_or_raise(DIALECT).tokenize(sql), None):
        if token is not None and token.token_type in STRINGS:
            text += token.text  # PostgreSQL joins constants on consecutive lines
            continue
        if text and is_special(text):
            return repr(text)
        text = ""
        if (
            token is not None
            and token.token_type in ODD_STRINGS
            and ("\\" in token.text or is_special(token.text))
        ):
            return repr(token.text)
    return ""


def is_special(text: str) -> bool:
    """Return whether a string may be a time relative to now.

    A relative time contains a word like `today`, and at most one word that cannot be part of a date or time.
    """
    words = WORD.findall(text.lower())
    others = [word for word in words if word not in SPECIAL and not OF_DATES.fullmatch(word)]
    return bool(SPECIAL & set(words)) and len(others) <= 1


def _is_fixed(operand: exp.Expr, kinds: set[str]) -> bool:
    """Return whether a constant always has the same value when cast to a range or a user-defined type.

    An earlier check has excluded constants that contain `now`. A time of day is not fixed, because its
    time-zone offset may depend on today's date.
    """
    is_row = isinstance(operand, exp.Anonymous) and operand.name.lower() == "row"
    constants = operand.expressions if is_row else [operand]
    if not all(isinstance(constant, exp.Literal) for constant in constants):
        return False
    if kinds <= RANGES:
        return RANGE.fullmatch(operand.name) is not None
    is_timed = any(TIME_OF_DAY.search(constant.name) for constant in constants)
    return kinds <= {"USERDEFINED", "ARRAY"} and not is_timed


class _Reader:
    """Determines the kinds of expressions: date, time or other.

    `aliases`: alias -> the expressions in the statement that have this alias.
    """

    def __init__(self, times: Times, aliases: Mapping[str, list[exp.Expr]]) -> None:
        self.times, self.aliases = times, aliases
        self._open: set[str] = set()

    def may_read_clock(self, node: exp.Expr) -> bool:
        """Return whether a node may convert something other than a date or time to a date or time."""
        if isinstance(node, (exp.Cast, exp.TryCast)):
            kinds = {found.this.name for found in node.to.find_all(exp.DataType)}
            if "TIMETZ" in kinds:
                return True  # the offset may depend on today's time zone
            if not any(TIMED.search(kind) for kind in kinds) or _is_fixed(node.this, kinds):
                return False
            return not (kinds <= {*DAYS, "TIME"} and self._is_safe(node.this, of_day="TIME" in kinds))
        if isinstance(node, (exp.Date, exp.Time, exp.TsOrDsToDate, exp.TsOrDsToTimestamp)):
            return not self._is_safe(node.this, of_day=isinstance(node, exp.Time))
        if isinstance(node, exp.AtTimeZone):
            zone = node.args["zone"]
            fixed = isinstance(zone, exp.Literal) and FIXED_ZONE.fullmatch(zone.name) is not None
            return not fixed and self.find_kind(node.this) != "date"
        if isinstance(node, exp.DataType):
            return not isinstance(node.parent, (exp.Cast, exp.DataType)) and bool(
                TIMED.search(node.this.name)
            )
        # A name after a dot may be a cast to the type of that name (servers/postgres.py).
        if isinstance(node, exp.Dot):
            return node.expression.name.lower() in NAMED
        if isinstance(node, exp.Column) and node.table and node.name.lower() in NAMED:
            return node.name.lower() not in self.times and node.name.lower() not in self.aliases
        if isinstance(node, exp.Anonymous) and node.name.lower() in MAKE_RANGE:
            return not all(self._is_safe(bound, of_day=False) for bound in node.expressions[:2])
        return isinstance(node, exp.Anonymous) and (
            node.name.lower() in NAMED or (node.name.lower() == "age" and len(node.expressions) == 1)
        )

    def _is_safe(self, operand: exp.Expr, *, of_day: bool) -> bool:
        """Return whether converting an operand to a date or time is independent of the clock.

        The safe operands are dates, constants in ISO format or in SPECIAL_DATES, numbers and NULL. `of_day`:
        whether the target is a time of day. For a time of day, times are also safe, and ISO constants must be
        times instead of dates.
        """
        if isinstance(operand, exp.Literal):
            form = ISO_TIME if of_day else ISO_DAY
            text = operand.name
            return not operand.is_string or form.fullmatch(text) is not None or text.lower() in SPECIAL_DATES
        return isinstance(operand, exp.Null) or self.find_kind(operand) in {"date", *(["time"] * of_day)}

    def find_kind(self, node: exp.Expr | None) -> str:
        """Return `date` or `time` for an expression known to have that type, otherwise ""."""
        if isinstance(node, (exp.Cast, exp.TryCast)):
            name = node.to.this.name
            return "date" if name in DAYS else "time" if name == "TIME" else ""
        if isinstance(node, exp.Column):
            return self._find_column_kind(node.name.lower())
        if isinstance(node, (exp.Subquery, exp.Select)):
            inner = node.this if isinstance(node, exp.Subquery) else node
            selects = inner.selects if isinstance(inner, exp.Select) else []
            return self.find_kind(selects[0]) if len(selects) == 1 else ""
        if isinstance(node, exp.Case):
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            kinds = {self.find_kind(branch) for branch in (*branches, node.args.get("default") or exp.Null())}
            return kinds.pop() if len(kinds) == 1 else ""
        if isinstance(node, (exp.Date, *MAKES_DAY)) or (
            isinstance(node, exp.Anonymous) and node.name.lower() == "make_date"
        ):
            return "date"
        if isinstance(node, SAME_KIND):
            return self.find_kind(node.this)
        return ""

    def _find_column_kind(self, name: str) -> str:
        kinds = set(self.times.get(name, ()))
        # `_open` ends the recursion if an alias has the name of a column in its own expression.
        if name in self.aliases and name not in self._open:
            self._open.add(name)
            kinds |= {self.find_kind(expression) or "other" for expression in self.aliases[name]}
            self._open.discard(name)
        return kinds.pop() if len(kinds) == 1 and "other" not in kinds else ""
