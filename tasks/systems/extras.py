"""Import the libraries of the extra `retrieval` on demand."""

from __future__ import annotations

import importlib
from typing import Any

from tasks.errors import BadInput

HINT = "run pip install 'benchloom[retrieval]'"


def load_library(module: str, purpose: str) -> Any:
    """Import and return a library of the extra `retrieval`.

    `purpose`: what the library is used for, for the error message. Raises BadInput if the library is missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BadInput(purpose, f"needs {error.name or module}, which is not installed", hint=HINT) from None
