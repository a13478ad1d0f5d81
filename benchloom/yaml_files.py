"""Read and write YAML files without losing their comments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.files import write_beside


def load_yaml(path: Path) -> Any:
    """Read a YAML file, including its comments."""
    from ruamel.yaml import YAML

    reader = YAML()
    reader.preserve_quotes = True
    return reader.load(path.read_text(encoding="utf-8"))


def write_yaml(path: Path, data: Mapping[str, Any]) -> None:
    """Write a YAML file, including its comments."""
    from ruamel.yaml import YAML

    editor = YAML()
    # By default, ruamel.yaml would wrap the user's lines at 80 characters.
    editor.width = 120
    with write_beside(path) as draft:
        editor.dump(data, draft)
