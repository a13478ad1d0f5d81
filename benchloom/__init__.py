"""The installed package: the launcher, the project template, and the Python interface.

`flows` and `tasks` are never installed: they are project code, and the launcher imports them from the current
project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchloom.reading import Unreadable, calls, figures, lineage, samples
    from benchloom.results import CommandFailed
    from benchloom.running import (
        assert_no_regression,
        compare,
        evaluate,
        plan,
        run,
        score,
    )

__all__ = [
    "CommandFailed",
    "Unreadable",
    "assert_no_regression",
    "calls",
    "compare",
    "evaluate",
    "figures",
    "lineage",
    "plan",
    "run",
    "samples",
    "score",
]
READS = frozenset({"Unreadable", "calls", "figures", "lineage", "samples"})


def __getattr__(name: str) -> Any:
    """Import a public function on first access, so that `import benchloom` alone stays fast."""
    if name not in __all__:
        raise AttributeError(f"module 'benchloom' has no attribute {name!r}")
    from benchloom import reading, results, running

    module = reading if name in READS else results if name == "CommandFailed" else running
    return getattr(module, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
