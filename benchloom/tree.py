"""List the template files that the wheel contains and `init` copies.

The build hook (setup.py) reads this list, too, so that a wheel and a checkout create the same projects.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CODE = ("flows", "tasks")
"""The packages that are a project's own code."""
FILES = (
    ".dvc/plots/bars.json",
    ".dvc/plots/lines.json",
    ".dvcignore",
    ".gitattributes",
    ".gitignore",
    "data/labels/README.md",
    "data/templates/README.md",
    "data/worlds/README.md",
    "dvc.yaml",
    "params.schema.json",
    "params.yaml",
    "prefect.yaml",
    "pyproject.toml",
    "requirements.lock",
)
"""Template files outside of the packages in CODE; `init` rewrites some of these files."""


def list_tree(root: Path) -> list[Path]:
    """List the template's files below `root`, sorted, as paths relative to `root`.

    Files that Python or an editor left behind are omitted.
    """
    return sorted([*(Path(name) for name in FILES if (root / name).is_file()), *_list_code(root)])


def _list_code(root: Path) -> Iterator[Path]:
    for folder in CODE:
        for path in (root / folder).rglob("*"):
            relative = path.relative_to(root)
            hidden = any(part.startswith(".") or part == "__pycache__" for part in relative.parts)
            if path.is_file() and not hidden:
                yield relative
