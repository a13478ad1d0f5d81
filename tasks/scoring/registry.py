"""Find metrics: `hotpotqa` is the class of that name in tasks/scoring/hotpotqa.py, or an installed plug-in.

A metric's module is imported on demand.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeGuard

from tasks.errors import BadInput
from tasks.plugs import Plug, find_plug, list_plugs
from tasks.scoring.metric import Metric

FOLDER = Path(__file__).parent
KIND = "metrics"
NAMED = re.compile(r'^    name(?:: ClassVar\[str\])? = "([\w-]+)"$', re.MULTILINE)


def make_metric(name: str, options: Mapping[str, object]) -> Metric[Any]:
    """Make a metric with the given options. Raises BadInput for an unknown name or option."""
    kind: Any = find_metric(name)
    known = [field.name for field in fields(kind)]
    for option in options:
        if option not in known:
            hint = (
                f"it takes {', '.join(format_option(field_name) for field_name in known)}"
                if known
                else "it takes none"
            )
            raise BadInput(f"score {name}", f"has no option {format_option(option)}", hint=hint)
    metric: Metric[Any] = kind(**options)
    return metric


def find_metric(name: str) -> type[Metric[Any]]:
    """Find a metric's class: in a file of the project, else an installed plug-in. Raises BadInput."""
    if is_own(name):
        module = importlib.import_module(f"tasks.scoring.{to_module(name)}")
        found = [kind for kind in vars(module).values() if is_metric(kind) and kind.name == name]
        return check_metric(found[0] if len(found) == 1 else None, f"{to_module(name)}.py", name)
    plug = find_plug(KIND, name)
    if plug is None:
        raise BadInput(f"metric {name}", "is not known", hint=f"there are {', '.join(list_metrics())}")
    return check_metric(plug.load(), f"{plug.package}: {plug.value}", name)


def find_installed(name: str) -> Plug | None:
    """Find the installed plug-in of a metric; None if it is one of the project's files."""
    return None if is_own(name) else find_plug(KIND, name)


def list_metrics() -> Iterator[str]:
    """List the names of all metrics: of the files, then of installed plug-ins. Imports none."""
    own = [name for path in sorted(FOLDER.glob("*.py")) for name in list_names(path)]
    yield from own
    yield from (plug.name for plug in list_plugs(KIND) if plug.name not in own)


def is_own(name: str) -> bool:
    """Return whether a metric is a file of this folder."""
    return name in list_names(FOLDER / f"{to_module(name)}.py")


def list_names(path: Path) -> list[str]:
    """List the metrics that are named like their module: one, or none if it has no metric."""
    if not path.is_file():
        return []
    names = NAMED.findall(path.read_text(encoding="utf-8"))
    return [name for name in names if to_module(name) == path.stem]


def check_metric(found: object, where: str, name: str) -> type[Metric[Any]]:
    """Check that an object is a metric class of that name. Raises BadInput."""
    if not is_metric(found) or found.name != name:
        raise BadInput(where, f"must hold one metric of the name {name!r}", hint="see docs/plugs.md")
    return found


def is_metric(found: object) -> TypeGuard[type[Metric[Any]]]:
    """Return whether an object is a metric class."""
    return isinstance(found, type) and issubclass(found, Metric) and is_dataclass(found)


def to_module(name: str) -> str:
    """Return the name of a metric's module."""
    return name.replace("-", "_")


def format_option(name: str) -> str:
    """Format an option's name as on the command line."""
    return "--" + name.replace("_", "-")
