"""Benchmark the contract checks of the sample's films against the import of Great Expectations.

The benchmark checks the artifacts of `make reproduce`. Times are CPU seconds, including the processes that
run the answers' SQL. `python -m bench contracts`
"""

from __future__ import annotations

import importlib
import resource
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from flows.run.binding import Places, bind
from flows.run.record.recorder import Recorder
from flows.settings import find_project, load_params

STAGE = "grammar-contracts@films"
BOUND = 4.0
"""Maximum CPU seconds in addition to the import."""


def main() -> None:
    """Print seconds and ratio. Raises BadInput if the sample has not been built."""
    root = find_project()
    node = Recorder(root).nodes[STAGE]
    imported = time_all(lambda: importlib.import_module("great_expectations.expectations"))
    with TemporaryDirectory() as folder:
        places = Places(root, Path(folder))
        for out in node.outs:
            (Path(folder) / out).parent.mkdir(parents=True, exist_ok=True)
        checked = time_all(lambda: bind(node, load_params(root), places, None).call())
    print(
        f"contracts: {STAGE} {checked:.2f} s (bound {BOUND:.0f}) beside the import of Great Expectations, "
        f"{imported:.2f} s; ratio {checked / imported:.2f}"
    )


def time_all(function: Callable[[], object]) -> float:
    """Return the CPU seconds of one call, in this process and in child processes that it waited for."""
    begun = _cpu()
    function()
    return _cpu() - begun


def _cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


if __name__ == "__main__":
    main()
