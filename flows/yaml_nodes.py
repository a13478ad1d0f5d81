"""Parse YAML to nodes with line numbers, using libyaml's fast parser."""

from __future__ import annotations

import yaml

DEEPEST = 50
"""Maximum depth of nesting: libyaml's composer is recursive, and deep files would crash the process."""


class TooDeep(yaml.YAMLError):
    """A value in a file is nested more deeply than `DEEPEST`. `line`: 1-based line number."""

    def __init__(self, line: int) -> None:
        super().__init__(f"a value is nested more than {DEEPEST} levels deep")
        self.line = line


def compose_yaml(text: str) -> yaml.Node | None:
    """Return the root node of a YAML text; None if the text is empty.

    Raises TooDeep if a value is nested too deeply, and YAMLError if the text is not valid YAML.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise TooDeep(event.start_mark.line + 1 if event.start_mark else 1)
    return yaml.compose(text, Loader=yaml.CSafeLoader)
