"""Read a section of params.yaml out of a stage's further parameters, which are named in full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel

Section = TypeVar("Section", bound=BaseModel)


def read_section(settings: Mapping[str, object], name: str, model: type[Section]) -> Section:
    """Read the section of a dotted name; what `settings` does not hold of it has its default."""
    prefix = f"{name}."
    own = {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}
    return model.model_validate(own)
