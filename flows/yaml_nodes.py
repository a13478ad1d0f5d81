"""Parse YAML to nodes with line numbers, by libyaml's fast parser."""

from __future__ import annotations

import yaml

DEEPEST = 50
"""Libyaml's composer calls itself for each level, and ends the process where a file has too many."""


class TooDeep(yaml.YAMLError):
    """A value of a file lies deeper than `DEEPEST`. line: from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(f"a value is nested more than {DEEPEST} levels deep")
        self.line = line


def compose_yaml(text: str) -> yaml.Node | None:
    """Parse a file into its nodes; None if it is empty. Raises TooDeep, YAMLError."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise TooDeep(event.start_mark.line + 1 if event.start_mark else 1)
    return yaml.compose(text, Loader=yaml.CSafeLoader)
