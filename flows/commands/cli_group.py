"""A group of commands whose help shows the whole first sentence of each command."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

WHOLE = 1_000
"""Maximum length of a command's first sentence; typer cuts longer sentences to one line."""


class CommandGroup(TyperGroup):
    """A group of commands. A long first sentence continues on the next line of the help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with the first sentence of their help."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [
            (name, command.get_short_help_str(WHOLE))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)
