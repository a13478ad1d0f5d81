"""Quote a string for literal use in a systemd unit or a compose file, or reject the string."""

from __future__ import annotations

import re
from typing import Literal

from tasks.errors import BadInput

Place = Literal["unit text", "unit folder", "unit file", "unit program", "unit argument", "compose"]
"""The setting that a string is quoted for, in a systemd unit or in a compose file.

The settings of a unit are the description, WorkingDirectory=, EnvironmentFile=, and the program and the
arguments of ExecStart=. In a compose file, the setting is any string, which the YAML writer then quotes.
"""
NO_PROGRAM = re.compile(r"[\\\"']|\$[${]")
"""Characters that systemd rejects in a program's path, or expands in the program's name."""


def quote(word: str, place: Place) -> str:
    """Quote a string for a setting. Raises BadInput if the string is not allowed in the setting."""
    if not word.isprintable():
        raise BadInput(
            repr(word), "cannot be written to a unit or compose file: it contains control characters",
            hint="move the project, or rename it",
        )  # fmt: skip
    match place:
        case "unit text":
            return word.replace("%", "%%")
        case "unit folder":
            return word.replace("%", "%%") + "/"  # otherwise a trailing backslash or space would be lost
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
