"""The little Markdown that a dataset card needs; data in it is never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MARKUP = "\\`*_[]<>#"


def draw_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Draw a table; columns of whole numbers are aligned to the right."""
    lines = list(rows)
    counts = [bool(lines) and all(isinstance(row[at], int) for row in lines) for at in range(len(header))]
    whole = [header, ["---:" if count else "---" for count in counts], *lines]
    return "\n".join("| " + " | ".join(_write_cell(cell) for cell in line) + " |" for line in whole)


def draw_list(items: Iterable[str]) -> str:
    """Draw a list, an item a line."""
    return "\n".join(f"- {item}" for item in items)


def escape(text: str) -> str:
    """Make a text one line that Markdown shows as it is."""
    return " ".join(
        "".join("\\" + character if character in MARKUP else character for character in text).split()
    )


def _write_cell(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return " ".join(text.split()).replace("|", "\\|")
