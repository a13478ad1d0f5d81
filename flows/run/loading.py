"""Load a stage's function from its module in the current project."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast, get_args, get_origin, get_type_hints

import tasks
from flows.code import find_module, to_path
from flows.discovery import list_stages
from tasks.artifacts.rows import Drafts
from tasks.errors import BadInput

IMPORTING = threading.Lock()
"""Lock for imports: stages start in threads, and concurrent circular imports (as in nltk) deadlock."""


def locate_module(stage: str) -> str:
    """Return the module name of a stage of the running project."""
    exact = f"tasks.{stage}"
    # A module that is loaded needs no search below tasks/; a package is not the module of a stage.
    loaded = sys.modules.get(exact)
    if loaded is not None and not hasattr(loaded, "__path__"):
        return exact
    return find_module(stage, Path(tasks.__file__ or "").parents[1], [stage.name for stage in list_stages()])


def load_function(module: str, name: str) -> Callable[..., Any]:
    """Import a stage's module and return its function.

    Raises BadInput if the module or the function does not exist.
    """
    try:
        with IMPORTING:
            loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise BadInput(to_path(module), f"cannot be imported: no module {error.name}") from error
    function = getattr(loaded, name, None)
    if not callable(function):
        raise BadInput(to_path(module), f"has no function {name!r}")
    return cast("Callable[..., Any]", function)


def row_type_of(function: Callable[..., Any]) -> type:
    """Return the row type in a stage's return annotation, `Drafts[Row]`."""
    hint = get_type_hints(function)["return"]
    if get_origin(hint) is not Drafts:
        raise TypeError(f"{function.__qualname__} must return Drafts[Row]")
    row: type = get_args(hint)[0]
    return row
