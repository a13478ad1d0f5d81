"""Determine whether settings disable a stage's calls, regardless of the stage's inputs (`Stage.off`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from flows.discovery import find_stage
from flows.run.binding import find_function, find_section
from flows.run.node import Node
from flows.settings import get_section, parse_section, parse_value
from flows.stage import KEY


def is_off(node: Node, params: Mapping[str, Any]) -> bool:
    """Return whether a stage's settings, including defaults and presets, disable its model calls.

    Raises BadInput for an invalid setting.
    """
    declared = find_stage(node.stage)
    if declared is None:
        return False
    return any(read_setting(node, params, name) in values for name, values in declared.off.items())


def read_setting(node: Node, params: Mapping[str, Any], name: str) -> object:
    """Return a setting: a field of the stage's parameters or of its entry, or a value of params.yaml."""
    source, _, field = name.partition(".")
    if source not in ("params", "entry"):
        return get_section(params, name.replace(KEY, node.key))
    _, function = find_function(node)
    hint = get_type_hints(function)[source]
    if source == "params":
        return getattr(parse_section(params, node.stage, hint), field)
    return getattr(parse_value(params, find_section(node), hint), field)
