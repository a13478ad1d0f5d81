"""Read the figures in a stage's JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from tasks.errors import BadInput

Read = TypeVar("Read")


def read_figures(path: Path, model: type[Read], stage: str = "") -> Read:
    """Read a JSON file as a dataclass or model; unknown keys are ignored.

    `stage`: the stage that wrote the file, for error messages; by default the file's stem. Raises BadInput if
    the file is missing, or does not match the model.
    """
    hint = f"run the stage {stage or path.stem}"
    try:
        return TypeAdapter(model).validate_python(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInput(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}", hint=hint) from error
    except (OSError, ValueError) as error:
        raise BadInput(path, "is not a JSON file", hint=hint) from error
