"""Write docs/commands.md, the reference of the command line, from the commands themselves: `make docs`.

`--check` changes nothing, and ends with 1 where the page is another.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from flows.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
HEAD = """\
# Commands

Written by `make docs` from the commands' own help; `benchloom COMMAND --help` says the same.
[Troubleshooting](troubleshooting.md) has the exit codes.
"""
EXAMPLE = re.compile(r"\n*Example: (.+)\Z", re.DOTALL)


def write_commands() -> str:
    """Write the page: a section a command, with its usage, arguments, options and example."""
    group = typer.main.get_command(app)
    return HEAD + "".join(f"\n{section}" for section in list_sections(group, ("benchloom",)))


def list_sections(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    """List the sections of a command and of all below it."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield write_section(command, path)
        return
    for name in sorted(inner):
        yield from list_sections(inner[name], (*path, name))


def write_section(command: Any, path: tuple[str, ...]) -> str:
    """Write a command's section."""
    context = typer.Context(command, info_name=" ".join(path))
    told = (command.help or "").strip()
    example = EXAMPLE.search(told)
    usage = " ".join([*path, *command.collect_usage_pieces(context)])
    rows = [record for param in command.get_params(context) if (record := param.get_help_record(context))]
    parts = [f"## {' '.join(path[1:])}", escape(EXAMPLE.sub("", told)), f"```sh\n{usage}\n```"]
    if rows:
        table = [f"| `{name.strip()}` | {escape(text)} |".replace("\n", " ") for name, text in map(fit, rows)]
        parts.append("\n".join(["| word | says |", "|---|---|", *table]))
    if example:
        parts.append(f"```sh\n{example[1].strip()}\n```")
    return "\n\n".join(parts) + "\n"


def fit(record: tuple[str, str]) -> tuple[str, str]:
    """Fit a row's texts into a cell of a table."""
    name, text = record
    return " ".join(name.split()).replace("|", "\\|"), " ".join(text.split()).replace("|", "\\|")


def escape(text: str) -> str:
    """Escape what Markdown would take for markup outside of code."""
    return re.sub(r"(?<!`)([<>*])", r"\\\1", text)


def main(words: list[str]) -> int:
    """Write the page, or hold it to the commands; returns the exit code."""
    text = write_commands()
    if "--check" not in words:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.name}: is not what the commands say (make docs)", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
