"""The base of all parameters, and how a section of params.yaml is read from a stage's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

Section = TypeVar("Section", bound=BaseModel)


class Settings(BaseModel):
    """Parameters from params.yaml: an unknown key is an error, and no value can be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_section(settings: Mapping[str, object], name: str, model: type[Section]) -> Section:
    """Read the section `name` as a model; keys that `settings` lacks have their defaults.

    settings: full dotted name -> value. Raises pydantic.ValidationError.
    """
    return model.model_validate(read_nested(settings, name))


def read_nested(settings: Mapping[str, object], name: str) -> dict[str, Any]:
    """Read a mapping back from settings: `options.timeout` -> {"timeout": 30} of the section `options`."""
    prefix = f"{name}."
    section: dict[str, Any] = {}
    for key, value in settings.items():
        if key.startswith(prefix):
            *parents, last = key.removeprefix(prefix).split(".")
            part = section
            for parent in parents:
                part = part.setdefault(parent, {})
            part[last] = value
    return section
