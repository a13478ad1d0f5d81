"""Find metrics by name: the class in tasks/scoring/<name>.py, or an installed plug-in.

For example, `hotpotqa` is the class HotpotQA in tasks/scoring/hotpotqa.py. Modules are imported on demand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from tasks.errors import BadInput
from tasks.plugged_classes import PluggedClasses
from tasks.plugs import Plug
from tasks.scoring.metric import Metric

FOLDER = Path(__file__).parent
KIND = "metrics"
CLASSES: PluggedClasses[Metric[Any]] = PluggedClasses(Metric, KIND, __package__, "metric", "docs/plugs.md")


def make_metric(name: str, options: Mapping[str, object]) -> Metric[Any]:
    """Create a metric with the given options. Raises BadInput if the name or an option is unknown."""
    kind: Any = find_metric(name)
    known = [field.name for field in fields(kind)]
    for option in options:
        if option not in known:
            hint = (
                f"it accepts {', '.join(format_option(field_name) for field_name in known)}"
                if known
                else "it takes none"
            )
            raise BadInput(f"score {name}", f"has no option {format_option(option)}", hint=hint)
    metric: Metric[Any] = kind(**options)
    return metric


def find_metric(name: str) -> type[Metric[Any]]:
    """Return a metric's class, from a project file or plug-in. Raises BadInput if there is no valid class."""
    plug = CLASSES.choose(name, FOLDER)
    found = CLASSES.load(name, plug)
    if not is_dataclass(found):
        raise BadInput(str(plug or f"metric {name}"), "must be a dataclass", hint="see docs/plugs.md")
    return found


def find_installed(name: str) -> Plug | None:
    """Return a metric's plug-in; None for a metric in a project file. Raises BadInput for an unknown name."""
    return CLASSES.choose(name, FOLDER)


def list_metrics() -> Iterator[str]:
    """Yield the names of all metrics without importing them: first project files, then installed plug-ins."""
    yield from CLASSES.list_all(FOLDER)


def format_option(name: str) -> str:
    """Format an option's name for the command line: `--drop-zero` for drop_zero."""
    return "--" + name.replace("_", "-")
