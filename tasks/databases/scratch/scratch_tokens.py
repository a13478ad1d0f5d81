"""Take the statements out of a model's reply, as tokens."""

from __future__ import annotations

import re
from itertools import groupby

from sqlglot import Dialect, Token, TokenType
from sqlglot.errors import SqlglotError

from tasks.errors import SqlRefused

TWICE = "an apostrophe in a text is written twice: 'it''s'"
SHOWN = 80
FENCE = re.compile(r" {0,3}(?:```+|~~~+)[^`]*")
STRAY = re.compile(r"\W*(?:\w+\s+)?insert\s+into\b.*\bvalues\b", re.IGNORECASE)
"""A line with a statement, perhaps behind a fence and the name of a language."""
SURROGATE = re.compile("[\ud800-\udfff]")


def take_fenced(text: str) -> str:
    """Return what stands in a reply's fenced blocks, the last perhaps without its end; all if it has none.

    Raises SqlRefused for an INSERT on a line of its own outside of them, or on the line that opens one: the
    row would be lost.
    """
    lines = text.split("\n")
    if not any(FENCE.fullmatch(line.rstrip()) for line in lines):
        return text
    inside, taken = False, []
    for line in lines:
        if not inside and STRAY.match(line):
            raise SqlRefused(
                f"a statement outside of the code blocks ({shorten(line)}); write all in one block"
            )
        if FENCE.fullmatch(line.rstrip()):
            inside = not inside
            # Blocks are statements of their own, even where the last of a block lacks its semicolon.
            taken.append(";")
        elif inside:
            taken.append(line)
    return "\n".join(taken)


def split_statements(sql: str) -> list[list[Token]]:
    """Split SQL into the tokens of its statements, without comments. Raises SqlRefused if one is cut off."""
    if "\0" in sql:
        raise SqlRefused("the reply holds a NUL character")
    if SURROGATE.search(sql):
        raise SqlRefused("the reply holds half of a character (a lone surrogate)")
    engine = Dialect.get_or_raise("sqlite")
    try:
        tokens = engine.tokenize(sql)
        pieces = groupby(tokens, lambda token: token.token_type == TokenType.SEMICOLON)
        return [list(piece) for is_end, piece in pieces if not is_end]
    except SqlglotError:
        place = _find_unclosed(sql, engine)
    raise SqlRefused(f"{place}: a quote or a comment is not closed ({TWICE}), or the reply was cut off")


def _find_unclosed(sql: str, engine: Dialect) -> str:
    """Name the first statement that is no whole by itself."""
    pieces = [piece for piece in re.split(r";[ \t\r]*\n", sql) if piece.strip(" \t\r\n;")]
    for number, piece in enumerate(pieces, 1):
        try:
            engine.tokenize(piece)
        except SqlglotError:
            return name_place(number, piece)
    return "the reply"


def name_place(number: int, statement: str) -> str:
    """Name a statement by its number and its first characters."""
    return f"statement {number} ({shorten(statement)})"


def shorten(text: str) -> str:
    """Return the first characters of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 3] + "..."
