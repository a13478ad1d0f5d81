"""Find the table in a model's reply, and build a grammar for replies with a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 500, 64, 1_000
"""Maximum number of rows and columns in a table, and of characters in a cell.

A larger table is not accepted as an answer.
"""
FIRST = "entity"
"""The first header. A single line counts as a table only if it begins with this header."""
RULE = frozenset("|+-=: \t")
"""Characters of separator lines in Markdown tables and in tables with ASCII borders."""
ASKED = re.compile(r"\W{0,6}Question\W{0,4}:", re.IGNORECASE)
"""Matches the start of another question, which a model may add after its table."""
BREAK = re.compile(r"\s*<br\s*/?>\s*", re.IGNORECASE)
EMPHASIS = re.compile(r"(\*\*|__|`)(?=\S)(.*?\S)\1")
GRAMMAR_ROWS, GRAMMAR_COLUMNS, GRAMMAR_CHARACTERS = 40, 10, 120
"""Maximum number of rows and columns, and of characters in a cell, that the grammar allows."""

Rows = tuple[tuple[str, ...], ...]


def read_table(reply: str) -> Rows | None:
    """Read the table in a reply: Markdown, or lines of `a|b`, with or without a fence or other text.

    The first line is the header. If the reply has several tables, the longest table is read; if several
    are equally long, the last of the longest tables is read. Returns None if there is no table, or if the
    table is too large.
    """
    runs = list(_find_runs(reply))
    if not runs:
        return None
    longest = max(map(len, runs))
    lines = [run for run in runs if len(run) == longest][-1]
    rows = tuple(map(tuple, _read_rows(lines)))
    if longest == 1 and rows[0][0].casefold() != FIRST:
        return None  # prose with a bar in it
    too_large = len(rows) > MOST_ROWS or any(
        len(row) > MOST_COLUMNS or any(len(cell) > MOST_CHARACTERS for cell in row) for row in rows
    )
    return None if too_large or len(rows[0]) < 2 else rows


def write_table_text(rows: Sequence[Sequence[str]]) -> str:
    """Format rows as lines of `a|b`."""
    return "\n".join("|".join(cell.replace("|", " ") for cell in row) for row in rows)


def make_table_grammar() -> str:
    """Build the GBNF grammar for a table of `a|b` lines, so that a small model always ends its reply."""
    return (
        f'root ::= "entity" more ("\\n" row){{1,{GRAMMAR_ROWS}}}\n'
        "row ::= name more\n"
        f'more ::= ("|" cell){{1,{GRAMMAR_COLUMNS}}}\n'
        f"name ::= [^|\\n\\r\\t ] [^|\\n\\r]{{0,{GRAMMAR_CHARACTERS}}}\n"
        f"cell ::= [^|\\n\\r]{{0,{GRAMMAR_CHARACTERS}}}"
    )


def _find_runs(reply: str) -> Iterator[list[str]]:
    """Yield the sequences of lines with a `|`; fences and prose end a sequence, but blank lines do not.

    If another question follows the first table line, all lines from that question on are ignored.
    """
    run: list[str] = []
    found = False
    for line in map(str.strip, reply.replace("\r\n", "\n").replace("\r", "\n").split("\n")):
        if found and ASKED.match(line):
            break
        if "|" in line or (run and not line):
            run.append(line)
            found = True
        elif run and not ("+" in line and _is_rule(line)):
            yield from _split_run(run)
            run = []
    yield from _split_run(run)


def _is_rule(line: str) -> bool:
    """Return whether a line is only a separator, such as `|---|---|` or `+---+---+`."""
    return RULE.issuperset(line) and ("-" in line or "=" in line)


def _split_run(run: Sequence[str]) -> Iterator[list[str]]:
    """Split lines where another Markdown table begins after a blank line; remove separator lines."""
    heads = [
        place
        for place, (before, line, below) in enumerate(zip(["", *run], run, run[1:], strict=False))
        if not before and line and not _is_rule(line) and _is_rule(below)
    ]
    for start, stop in pairwise(sorted({0, *heads, len(run)})):
        lines = [line for line in run[start:stop] if line and not _is_rule(line)]
        if lines:
            yield lines


def _read_rows(lines: Sequence[str]) -> Iterator[list[str]]:
    """Split lines into cells.

    If the header starts or ends with a `|`, this `|` is a border in all rows. Otherwise, a `|` at
    the start or end of a row is a border only if the row has more cells than the header.
    """
    framed = lines[0].startswith("|")
    # An empty last cell also ends with a bar, so only the header shows whether rows end with a bar.
    closed = lines[0].endswith("|") and not lines[0].endswith("\\|")
    width = 0
    for line in lines:
        cells = re.split(r"(?<!\\)\|", line)
        if not cells[0] and (framed or len(cells) > width > 0):
            del cells[0]
        if len(cells) > 1 and not cells[-1] and (closed or len(cells) > width > 0):
            del cells[-1]
        width = width or len(cells)
        yield [_clean_cell(cell) for cell in cells]


def _clean_cell(cell: str) -> str:
    if len(cell) > 2 * MOST_CHARACTERS:
        return cell  # the table is rejected as too large in any case
    text = BREAK.sub(", ", cell.replace("\\|", " ").replace("\0", ""))
    return EMPHASIS.sub(r"\2", " ".join(text.split()))
