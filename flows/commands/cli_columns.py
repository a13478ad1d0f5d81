"""Lines in columns, for people and for pipes: one line a row, never wrapped, never cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

REASONS = 3
"""So many reasons of one stage are written out."""
STYLES = {
    "fresh": "green",
    "stale": "yellow",
    "missing": "yellow",
    "failed": "red",
    "running": "cyan",
    "waiting": "cyan",
}


def print_columns(console: Console, rows: Sequence[Sequence[str]], indent: str = "") -> None:
    """Print rows whose columns stand below each other; the last column is as long as it is."""
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        parts = [(f"{cell}  ", STYLES.get(cell.strip(), "")) for cell in cells]
        line = Text.assemble(indent, *parts, row[-1])
        line.rstrip()
        console.print(line, soft_wrap=True)


def join_reasons(why: Sequence[str]) -> str:
    """Join the reasons of a stage; beyond the third they are only counted."""
    more = len(why) - REASONS
    return "; ".join(why[:REASONS]) + (f"; and {more} more" if more > 0 else "")
