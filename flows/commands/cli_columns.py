"""Print aligned columns to a terminal or a pipe: one line per row, never wrapped or truncated."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from flows.presets import TABLE, ChosenPreset
from tasks.console import CleanConsole

REASONS = 3
"""Maximum number of reasons printed for a stage."""
BY_PRESET = re.compile(rf"^(\S+)\.(\w+) in {re.escape(TABLE)} (?:new|modified)$")
"""Matches DVC's message about a parameter that changed because its flow's preset was switched."""
STYLES = {
    "fresh": "green",
    "stale": "yellow",
    "missing": "yellow",
    "failed": "red",
    "running": "cyan",
    "waiting": "cyan",
}


def print_columns(console: Console, rows: Sequence[Sequence[str]], indent: str = "") -> None:
    """Print rows as aligned columns; the last column is not padded."""
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        parts = [(f"{cell}  ", STYLES.get(cell.strip(), "")) for cell in cells]
        line = Text.assemble(indent, *parts, row[-1])
        line.rstrip()
        console.print(line, soft_wrap=True)


def print_presets(chosen: Sequence[ChosenPreset]) -> None:
    """Print the presets that are not the default, and the parameters that override these presets."""
    console = CleanConsole()
    for preset in chosen:
        console.print(preset.describe(), soft_wrap=True)


def join_reasons(why: Sequence[str]) -> str:
    """Join a stage's reasons as text: the first three reasons, and the number of further reasons."""
    more = len(why) - REASONS
    told = [BY_PRESET.sub(r"\1 by preset \2", reason) for reason in why[:REASONS]]
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")
