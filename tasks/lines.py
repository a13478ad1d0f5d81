"""Print lines to stdout and stderr, with control characters of untrusted text removed."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass
class SaidLines:
    """Counts writes to stderr. A progress block may be redrawn only if no write followed it."""

    count: int = 0


SAID = SaidLines()


def clean(text: str) -> str:
    """Replace each unprintable character (control characters, lone surrogates) with a space."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)


def clean_lines(text: str) -> str:
    """Replace the unprintable characters in each line of a text; line breaks are unchanged."""
    return "\n".join(map(clean, text.split("\n")))


def say_line(line: str) -> None:
    """Write a line to stderr in one call; `print` uses two calls, so its lines could interleave."""
    say_raw(clean(line))


def say_raw(text: str) -> None:
    """Write lines to stderr in one call, without cleaning, because they may begin with cursor codes."""
    SAID.count += 1
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def print_line(line: str) -> None:
    """Write one line to stdout."""
    sys.stdout.write(f"{clean(line)}\n")


def write_error(error: BaseException) -> str:
    """Return an error's message on one line; if its `__str__` fails, return a text that reports this."""
    try:
        return " ".join(str(error).split())
    except Exception as broken:  # noqa: BLE001 - whatever a `__str__` raises
        return f"(its text cannot be written: {type(broken).__name__})"
