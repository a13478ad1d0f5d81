"""Adapt the parameters of a preview to its number of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from flows.discovery import list_flows
from flows.parameters import Parameters
from flows.run.loading import load_function

PREVIEW = "data/.preview"
"""Where a preview's artifacts lie, and in its own `.benchloom` what its stages did."""
Shrink = Callable[[Mapping[str, Any], int], dict[str, Any]]


def shrink_params(params: Mapping[str, Any], limit: int) -> Mapping[str, Any]:
    """Return the parameters of a preview of `limit` items: the same, where no flow scales its own."""
    path, text = (params.path, params.text) if isinstance(params, Parameters) else (None, b"")
    for flow in list_flows():
        if flow.preview and flow.name in params:
            module, _, function = flow.preview.partition(":")
            shrink = cast("Shrink", load_function(module, function))
            params = shrink(params, limit)
    return Parameters(params, path, text)
