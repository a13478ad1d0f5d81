"""Read a published JSON file as a whole: one object or one list."""

from __future__ import annotations

import json
from pathlib import Path

from tasks.errors import BadInput

MOST_BYTES = 256 * 2**20
"""Maximum size of a file in bytes, since the whole file is in memory."""


def read_json_object(path: Path) -> dict[str, object]:
    """Return the object in a JSON file. Raises BadInput if the file contains anything else."""
    value = _read(path)
    if not isinstance(value, dict):
        raise BadInput(path, "is not a JSON object")
    return value


def read_json_list(path: Path) -> list[object]:
    """Return the list in a JSON file. Raises BadInput if the file contains anything else."""
    value = _read(path)
    if not isinstance(value, list):
        raise BadInput(path, "is not a JSON array")
    return value


def _read(path: Path) -> object:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise BadInput(path, f"has {size:,} bytes; at most {MOST_BYTES:,} are allowed")
        # orjson is not used here: it allocates twelve times the size of a file before parsing.
        value: object = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except FileNotFoundError as error:
        raise BadInput(path, "does not exist", hint="give the folder that contains this file") from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(path, f"is not valid JSON: {' '.join(str(error).split())}") from error
    return value


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")
