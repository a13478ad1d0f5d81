"""Where files of people's labels lie, and the type of a parameter that names one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

FOLDER = Path("data/labels")
"""A dependency in dvc.yaml as a whole, since a label file is optional."""


def check_folder(file: Path) -> Path:
    """Refuse a file outside of `FOLDER`: a change of it would not make the stage run again."""
    if file.parent != FOLDER:
        raise ValueError(f"must be a file in {FOLDER}")
    return file


LabelFile = Annotated[Path, AfterValidator(check_folder)]
