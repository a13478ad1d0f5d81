"""Define the base class for all parameters, and read sections of params.yaml for stages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, WithJsonSchema

Section = TypeVar("Section", bound=BaseModel)


VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_variable(name: str) -> str:
    """Return the name of an environment variable unchanged. Raises ValueError if the name is not valid.

    The error omits the text, since a user may have entered the secret instead of the variable's name.
    """
    if not VARIABLE.fullmatch(name):
        raise ValueError(
            "is not the name of an environment variable (letters, digits and _, no digit first); "
            "name the variable that holds the value"
        )
    return name


VariableName = Annotated[
    str,
    AfterValidator(check_variable),
    WithJsonSchema({"type": "string", "pattern": f"^{VARIABLE.pattern}$"}),
]
"""The name of an environment variable; checked, because env files contain the name unescaped."""


class Settings(BaseModel):
    """Base class for parameters from params.yaml. Unknown keys are errors, and values are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_section(settings: Mapping[str, object], name: str, model: type[Section]) -> Section:
    """Read the section `name` as a model; missing keys get the model's defaults.

    `settings`: full dotted name -> value. Raises pydantic.ValidationError for invalid values.
    """
    return model.model_validate(read_nested(settings, name))


def read_nested(settings: Mapping[str, object], name: str) -> dict[str, Any]:
    """Rebuild a section's nested mapping: `options.timeout: 30` becomes {"timeout": 30} for `options`."""
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
