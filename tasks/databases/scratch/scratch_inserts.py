"""Parse the INSERT statements of a model's reply, and rewrite them with one row per statement.

The model's text is never run: its values are extracted and written as new literals. The parser accepts only
the grammar of `_Statement.read`, so all other SQL is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NoReturn

from sqlglot import Dialect, Token, TokenType
from sqlglot.errors import SqlglotError

from tasks.databases.scratch.scratch_create import quote_name
from tasks.errors import SqlFailed, SqlRefused, SqlTooLarge

TWICE = "an apostrophe in a text is written twice: 'it''s'"
SHOWN = 80
"""Maximum number of characters of a statement that a message shows."""
# In Markdown, four spaces begin an indented block, in which a fence is plain text.
FENCE = re.compile(r" {0,3}(?:```+|~~~+)[^`]*")
"""Matches a line that opens or closes a fenced block."""
STRAY = re.compile(r"\W*(?:\w+\s+)?insert\s+into\b.*\bvalues\b", re.IGNORECASE)
"""Matches a line with an INSERT statement, possibly after a fence and a language name."""
SURROGATE = re.compile("[\ud800-\udfff]")
ALLOWED = "allowed: INSERT INTO <table> (<columns>) VALUES (<numbers, 'texts and dates', NULL>), ...;"
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
CONSTANTS = {TokenType.NULL: "NULL", TokenType.TRUE: "1", TokenType.FALSE: "0"}
SIGNS = {TokenType.DASH: "-", TokenType.PLUS: ""}


def take_fenced(text: str) -> str:
    """Return the content of a reply's fenced blocks, or the whole reply if it has no fenced block.

    The last block may be unclosed. Raises SqlRefused if an INSERT is outside the blocks or on a line that
    opens a block, because the rows of this INSERT would be lost.
    """
    lines = text.split("\n")
    if not any(FENCE.fullmatch(line.rstrip()) for line in lines):
        return text
    inside, taken = False, []
    for line in lines:
        if not inside and STRAY.match(line):
            raise SqlRefused(
                f"a statement is outside the code blocks ({shorten(line)}); write all statements in one block"
            )
        if FENCE.fullmatch(line.rstrip()):
            inside = not inside
            # A block ends a statement, even if the last statement in the block has no semicolon.
            taken.append(";")
        elif inside:
            taken.append(line)
    return "\n".join(taken)


def split_statements(sql: str) -> list[list[Token]]:
    """Split SQL into the tokens of each statement, without comments.

    Raises SqlRefused if a statement is cut off.
    """
    if "\0" in sql:
        raise SqlRefused("the reply contains a NUL character")
    if SURROGATE.search(sql):
        raise SqlRefused("the reply contains half of a character (a lone surrogate)")
    engine = Dialect.get_or_raise("sqlite")
    try:
        tokens = engine.tokenize(sql)
        pieces = groupby(tokens, lambda token: token.token_type == TokenType.SEMICOLON)
        return [list(piece) for is_end, piece in pieces if not is_end]
    except SqlglotError:
        place = _find_unclosed(sql, engine)
    raise SqlRefused(f"{place}: a quote or a comment is not closed ({TWICE}), or the reply was cut off")


def _find_unclosed(sql: str, engine: Dialect) -> str:
    """Return the position of the first statement with an unclosed quote or comment, for messages."""
    pieces = [piece for piece in re.split(r";[ \t\r]*\n", sql) if piece.strip(" \t\r\n;")]
    for number, piece in enumerate(pieces, 1):
        try:
            engine.tokenize(piece)
        except SqlglotError:
            return name_place(number, piece)
    return "the reply"


def name_place(number: int, statement: str) -> str:
    """Return a statement's number and first characters, for messages."""
    return f"statement {number} ({shorten(statement)})"


def shorten(text: str) -> str:
    """Return the first characters of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 3] + "..."


@dataclass(frozen=True)
class Row:
    """A row to insert. `place`: the statement and the row number, for error messages."""

    place: str
    table: str
    values: Mapping[str, str]
    """Column -> the value as an SQL literal."""

    @property
    def sql(self) -> str:
        """Return the row's INSERT statement in canonical form."""
        names = ", ".join(map(quote_name, self.values))
        literals = ", ".join(self.values.values())
        return f"INSERT INTO {quote_name(self.table)} ({names}) VALUES ({literals})"  # noqa: S608 (quoted names, literals of ours)


def read_inserts(text: str, tables: Mapping[str, Sequence[str]], *, rows: int, value: int) -> list[Row]:
    """Parse a reply; return the rows to insert, in order.

    `tables`: table -> columns. `rows`: maximum number of rows. `value`: maximum bytes of one value. If the
    reply has fenced blocks, only the blocks are read. Raises SqlRefused for anything other than an INSERT of
    literals, and SqlTooLarge if a limit is exceeded. Raises SqlFailed for an unknown name, or for a row with
    the wrong number of values.
    """
    sql = take_fenced(text)
    found: list[Row] = []
    for number, tokens in enumerate(split_statements(sql), 1):
        place = name_place(number, sql[tokens[0].start : tokens[-1].end + 1])
        found += _Statement(tokens, sql, place).read(tables, (len(found), rows), value)
    if not found:
        raise SqlRefused(f"the reply contains no statement; {ALLOWED}")
    return found


def find_name(name: str, known: Collection[str]) -> str | None:
    """Return the known name that equals `name`, ignoring case if necessary; None if no name matches."""
    return (
        name
        if name in known
        else next((known_name for known_name in known if known_name.lower() == name.lower()), None)
    )


class _Statement:
    """Parses the tokens of one statement from left to right."""

    def __init__(self, tokens: Sequence[Token], sql: str, place: str) -> None:
        self.tokens, self.sql, self.place, self.next = tokens, sql, place, 0

    def read(self, tables: Mapping[str, Sequence[str]], count: tuple[int, int], size: int) -> list[Row]:
        """Read `INSERT INTO name [(names)] VALUES (literals), ...`.

        `count`: (number of rows so far, maximum number of rows).
        """
        self.expect(TokenType.INSERT, "INSERT")
        self.expect(TokenType.INTO, "INTO")
        table = self.take_name(tables, "table")
        columns = self.take_columns(table, tables[table])
        self.expect(TokenType.VALUES, "VALUES")
        rows: list[Row] = []
        while not rows or self.take(TokenType.COMMA):
            if count[0] + len(rows) >= count[1]:
                raise SqlTooLarge(
                    f"{self.place}: the statements insert more than {count[1]:,} rows; write fewer rows"
                )
            place = f"{self.place}, row {len(rows) + 1}"
            values = self.take_values(place, size)
            if len(values) != len(columns):
                wanted = f"{len(columns)} columns ({', '.join(columns)})"
                raise SqlFailed(
                    f"{place}: expected a value for each of the {wanted} of {table}, got {len(values)}"
                )
            rows.append(Row(place, table, dict(zip(columns, values, strict=True))))
        if self.next < len(self.tokens):
            self.refuse("a comma, a semicolon or the end")
        return rows

    def take(self, kind: TokenType) -> Token | None:
        """Consume and return the next token if it is of the given kind; otherwise return None."""
        if self.next == len(self.tokens) or self.tokens[self.next].token_type != kind:
            return None
        self.next += 1
        return self.tokens[self.next - 1]

    def expect(self, kind: TokenType, what: str) -> Token:
        """Consume and return the next token. Raises SqlRefused if the token is of another kind."""
        return self.take(kind) or self.refuse(what)

    def refuse(self, wanted: str) -> NoReturn:
        """Raise SqlRefused, naming the actual and the expected token."""
        if self.next == len(self.tokens):
            raise SqlRefused(f"{self.place}: expected {wanted}, but the statement ends; {ALLOWED}")
        found = self.tokens[self.next]
        before = self.tokens[self.next - 1] if self.next else found
        hint = TWICE if before.token_type == TokenType.STRING else ALLOWED
        raise SqlRefused(f"{self.place}: expected {wanted}, got {found.text[:40]!r}; {hint}")

    def take_name(self, known: Collection[str], what: str) -> str:
        """Read the name of a known table or column. Keywords such as `year` are allowed as names."""
        if self.next == len(self.tokens) or self.tokens[self.next].token_type == TokenType.STRING:
            self.refuse(f"the name of a {what}")
        written = self.tokens[self.next].text
        name = find_name(written, known)
        if name is None and re.fullmatch(r"\W*", written):
            self.refuse(f"the name of a {what}")
        if name is None:
            error = SqlRefused if what == "table" else SqlFailed
            raise error(f"{self.place}: unknown {what} {written[:40]!r}; expected one of {', '.join(known)}")
        self.next += 1
        return name

    def take_columns(self, table: str, known: Sequence[str]) -> list[str]:
        """Return the column names in parentheses, or all columns if the statement names no columns."""
        if not self.take(TokenType.L_PAREN):
            return list(known)
        columns: list[str] = []
        while not columns or self.take(TokenType.COMMA):
            name = self.take_name(known, f"column of {table}")
            if name in columns:
                raise SqlFailed(f"{self.place}: the column {name} is listed twice")
            columns.append(name)
        self.expect(TokenType.R_PAREN, "a comma or )")
        return columns

    def take_values(self, place: str, size: int) -> list[str]:
        """Return a row's values as literals. Raises SqlTooLarge if a literal exceeds `size` bytes."""
        self.expect(TokenType.L_PAREN, "( and a row of values")
        values: list[str] = []
        while not values or self.take(TokenType.COMMA):
            values.append(self.take_value())
            if len(values[-1].encode()) > size:
                raise SqlTooLarge(f"{place}: a value has more than {size:,} bytes")
        self.expect(TokenType.R_PAREN, "a comma or )")
        return values

    def take_value(self) -> str:
        """Read a number, a string, NULL, TRUE or FALSE, and return it as a SQLite literal."""
        for kind, constant in CONSTANTS.items():
            if self.take(kind):
                return constant
        # Double quotes mark a name, but SQLite treats it as a text if no column has this name.
        text = self.take(TokenType.STRING) or self._take_double_quoted()
        if text is not None:
            return "'" + text.text.replace("'", "''") + "'"
        sign = next((sign for kind, sign in SIGNS.items() if self.take(kind)), "")
        if self.next == len(self.tokens) or not NUMBER.fullmatch(self.tokens[self.next].text):
            self.refuse("a number, a text in single quotes or NULL")
        number = self.expect(TokenType.NUMBER, "a number").text
        if not math.isfinite(float(number)):
            raise SqlRefused(f"{self.place}: the number {number[:40]} is too large")
        return sign + number

    def _take_double_quoted(self) -> Token | None:
        if self.next < len(self.tokens) and self.sql[self.tokens[self.next].start] == '"':
            return self.take(TokenType.IDENTIFIER)
        return None
