"""Write tables and lists, and escape text, for the Markdown of dataset cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MARKUP = "\\`*_[]<>#"
"""Characters with a special meaning in Markdown."""


def draw_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; columns of integers are right-aligned."""
    body = list(rows)
    numeric = [
        bool(body) and all(isinstance(row[index], int) for row in body) for index in range(len(header))
    ]
    lines = [header, ["---:" if is_number else "---" for is_number in numeric], *body]
    return "\n".join("| " + " | ".join(_write_cell(cell) for cell in line) + " |" for line in lines)


def draw_list(items: Iterable[str]) -> str:
    """Return a bulleted Markdown list."""
    return "\n".join(f"- {item}" for item in items)


def escape(text: str) -> str:
    """Put a text on one line and escape it, so that Markdown shows it literally."""
    return " ".join(
        "".join("\\" + character if character in MARKUP else character for character in text).split()
    )


def _write_cell(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return " ".join(text.split()).replace("|", "\\|")
