"""Put data where a script reads it: JSON that can close no tag, in a file that needs no server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def encode_json(data: Any) -> str:
    """Encode as JSON that is also JavaScript, and harmless wherever it lands in HTML.

    Raises ValueError on NaN and infinities: JSON has none.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return "".join(UNSAFE.get(each, each) for each in text) if any(each in text for each in UNSAFE) else text


def write_data(path: Path, name: str, data: Any) -> None:
    """Write `data` as a script that hands it to the page under `name`.

    A page opened from a disk may not fetch a JSON file, but it may load a script.
    """
    path.write_text(
        f"Benchloom.give({encode_json(name)},{encode_json(data)});\n", encoding="utf-8", newline="\n"
    )
