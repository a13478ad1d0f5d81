"""Print lines to stdout and stderr, with control characters of untrusted text removed."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass
class SaidLines:
    """Counts printed lines: a block may be redrawn only if no line was printed after it."""

    count: int = 0


SAID = SaidLines()


def clean(text: str) -> str:
    """Replace control characters, which could drive a terminal, and half characters, by spaces."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)


def clean_lines(text: str) -> str:
    """Clean each line of a text."""
    return "\n".join(map(clean, text.split("\n")))


def say_line(line: str) -> None:
    """Write one line to stderr in one go: `print` writes its end apart, and stages' lines would mix."""
    say_raw(clean(line))


def say_raw(text: str) -> None:
    """Write lines that are clean, and may begin with what moves the cursor, to stderr in one go."""
    SAID.count += 1
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def print_line(line: str) -> None:
    """Write one line to stdout."""
    sys.stdout.write(f"{clean(line)}\n")


def write_error(error: BaseException) -> str:
    """Write an error's text in one line; an error of others' code may have a text that cannot be written."""
    try:
        return " ".join(str(error).split())
    except Exception as broken:  # noqa: BLE001 - whatever a `__str__` raises
        return f"(its text cannot be written: {type(broken).__name__})"
