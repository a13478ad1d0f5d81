"""Settings of a stage, which are flat, as params.yaml nests them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def read_nested(settings: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Read a mapping back from settings: `options.timeout` -> {"timeout": 30} of the section `options`."""
    nested: dict[str, Any] = {}
    for name, value in settings.items():
        if name.startswith(f"{section}."):
            *parents, last = name.removeprefix(f"{section}.").split(".")
            inner = nested
            for parent in parents:
                inner = inner.setdefault(parent, {})
            inner[last] = value
    return nested
