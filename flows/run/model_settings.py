"""Read the model settings of params.yaml: `run:`, `models:` and sections with user-chosen keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from flows.parameters import validate
from flows.settings import get_section
from tasks.models.settings import EmbeddedModel, ModelRun

RUNNER_KEYS = frozenset({"workers", "engine", "importing", "openlineage", "hooks"})
"""Keys of `run:` that only the runner uses."""


def read_models(params: Mapping[str, Any]) -> tuple[ModelRun, dict[str, EmbeddedModel]]:
    """Read `run:` and `models:`. Raises BadInput, with the parameter's name, for an invalid value."""
    return read_run(params), read_mapping(params, "models", EmbeddedModel)


def read_run(params: Mapping[str, Any]) -> ModelRun:
    """Read the settings under `run:` that the model layer uses."""
    section = {key: value for key, value in get_section(params, "run").items() if key not in RUNNER_KEYS}
    return cast(ModelRun, validate(ModelRun, section, ["run"], params))


def read_mapping(params: Mapping[str, Any], key: str, model: Any) -> dict[str, Any]:
    """Read a section with user-chosen keys, whose values all have the type `model`."""
    return cast(
        dict[str, Any], validate(dict[str, model], get_section(params, key) or {}, key.split("."), params)
    )
