"""Quote a word so that a systemd unit or a compose file takes it literally, or reject it."""

from __future__ import annotations

import re
from typing import Literal

from tasks.errors import BadInput

Place = Literal["unit text", "unit folder", "unit file", "unit program", "unit argument", "compose"]
"""In a unit: a description, WorkingDirectory=, EnvironmentFile=, and the quoted words of ExecStart=.

In a compose file: any text, which the YAML writer then quotes.
"""
NO_PROGRAM = re.compile(r"[\\\"']|\$[${]")
"""Characters that systemd refuses in a program's path, or substitutes in the program's name."""


def quote(word: str, place: Place) -> str:
    """Quote a word for a place. Raises BadInput if the word cannot be used there."""
    if not word.isprintable():
        raise BadInput(
            repr(word), "cannot be named in a unit or compose file: it contains control characters",
            hint="move the project, or rename it",
        )  # fmt: skip
    match place:
        case "unit text":
            return word.replace("%", "%%")
        case "unit folder":
            return word.replace("%", "%%") + "/"  # else a trailing backslash or space would be lost
        case "unit file":
            return re.sub(r"([\\*?\[])", r"\\\1", word).replace("%", "%%")  # systemd reads a glob pattern
        case "unit program" if NO_PROGRAM.search(word):
            raise BadInput(
                word, "cannot be started by systemd: its path contains a quote, a backslash, `$$` or `${`",
                hint="create the virtual environment in another folder",
            )  # fmt: skip
        case "unit program":
            return word.replace("%", "%%")
        case "unit argument":
            for mark, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
                word = word.replace(mark, written)
            return word
        case "compose":
            return word.replace("$", "$$")
