"""Load StreamBench's published scorers from a checkout, file by file.

Their package imports model clients, `evaluate` and `datasets` before any scorer. Stubs replace missing
packages: scorers call only `func_timeout`, whose stub calls the function.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

VARIABLE = "BENCHLOOM_STREAMBENCH_CODE"
"""The environment variable with the path of a checkout of github.com/stream-bench/stream-bench."""
PACKAGE = "stream_bench"
NEEDED = ("datasets", "evaluate", "colorama", "tqdm", "openai", "func_timeout")


class FunctionTimedOut(Exception):
    """The exception of func_timeout."""


def load_module(checkout: Path, name: str) -> Any:
    """Import `stream_bench.benchmarks.<name>` without running the package's __init__ modules."""
    for part in ("", ".benchmarks", ".llms"):
        package = ModuleType(PACKAGE + part)
        package.__path__ = [str(checkout / PACKAGE / part.removeprefix("."))]
        sys.modules.setdefault(PACKAGE + part, package)
    sys.modules.setdefault(f"{PACKAGE}.llms.oai_chat", MagicMock())
    for needed in NEEDED:
        if needed not in sys.modules and importlib.util.find_spec(needed) is None:
            sys.modules[needed] = MagicMock()
            if needed == "func_timeout":
                sys.modules[needed].FunctionTimedOut = FunctionTimedOut
                sys.modules[needed].func_timeout = lambda seconds, work, args: work(*args)
    return importlib.import_module(f"{PACKAGE}.benchmarks.{name}")


def make_bench(kind: Any, **fields: object) -> Any:
    """Return a scorer without its dataset, which its __init__ would download."""
    bench = object.__new__(kind)
    usual = {"n_correct": 0, "predictions": [], "references": [], "total": 0, "ems": [], "f1s": []}
    usual |= {"n_api_correct": 0, "n_args_correct": 0}
    vars(bench).update({**usual, **fields})
    return bench


def try_to(work: Callable[[], object]) -> tuple[object, str]:
    """Call the published code; return the result and the error."""
    try:
        return work(), ""
    except Exception as error:  # noqa: BLE001 - whatever the published code raises
        return None, f"{type(error).__name__}: {error}"
