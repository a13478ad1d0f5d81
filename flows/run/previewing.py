"""Adapt the parameters of a preview to its number of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from flows.discovery import list_flows
from flows.parameters import Parameters
from flows.run.loading import load_function

PREVIEW = "data/.preview"
"""The folder with a preview's artifacts; its subfolder `.benchloom` contains the stages' outcomes."""
Shrink = Callable[[Mapping[str, Any], int], dict[str, Any]]


def shrink_params(params: Mapping[str, Any], limit: int) -> Mapping[str, Any]:
    """Return the parameters of a preview of `limit` items, scaled by each flow's function `preview`."""
    path, text = (params.path, params.text) if isinstance(params, Parameters) else (None, b"")
    for flow in list_flows():
        if flow.preview and flow.name in params:
            module, _, function = flow.preview.partition(":")
            shrink = cast("Shrink", load_function(module, function))
            params = shrink(params, limit)
    return Parameters(params, path, text)
