"""Embed data for a page's scripts as safe JSON, in files that need no web server."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Character -> its escape, for HTML's special characters and JavaScript's line breaks."""


def encode_json(data: object) -> str:
    """Encode data as JSON that is also valid JavaScript and safe inside HTML.

    `data`: JSON types and dataclasses, whose fields become keys. Raises ValueError for NaN and infinities.
    """
    text = json.dumps(
        data, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=encode_dataclass
    )
    if not any(char in text for char in UNSAFE):
        return text
    return "".join(UNSAFE.get(char, char) for char in text)


def encode_dataclass(value: object) -> dict[str, object]:
    """Convert a dataclass to a dict of its fields, for json.dumps. Raises TypeError for other types."""
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{type(value).__name__} is neither a JSON type nor a dataclass")
    return {field.name: getattr(value, field.name) for field in fields(value)}


def write_data(path: Path, name: str, data: object) -> None:
    """Write `data` to a script file that passes the data to the page under `name`."""
    path.write_text(
        f"Benchloom.give({encode_json(name)},{encode_json(data)});\n", encoding="utf-8", newline="\n"
    )
