"""Figures in a report's JSON file, by the pointers that name them (RFC 6901)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.errors import BadInput
from tasks.lineage.derivation import Basis, Number, read_basis

NAMING = ("title", "name", "label", "reason", "step")
"""What a figure, or what it stands in, goes by."""
SHOWN = 6


@dataclass(frozen=True)
class Figure:
    """A number in a report: an object with `value` and, where it says so, its `basis`."""

    pointer: str
    label: str
    value: Number | None
    basis: Basis | None


def list_figures(report: Any, pointer: str = "", names: tuple[str, ...] = ()) -> Iterator[Figure]:
    """List the figures of a report, in its order. Raises ValueError where a basis cannot be read."""
    if isinstance(report, list):
        for number, each in enumerate(report):
            yield from list_figures(each, f"{pointer}/{number}", names)
    elif isinstance(report, dict):
        # What the whole report goes by is said already: it is the file.
        here = [str(report[name]) for name in NAMING if isinstance(report.get(name), str)]
        own = names + tuple(here if pointer else ())
        if _is_number(report.get("value")) or ("value" in report and "basis" in report):
            basis = report.get("basis")
            yield Figure(
                pointer, ": ".join(own), report["value"], None if basis is None else read_basis(basis)
            )
            return
        for key, each in report.items():
            place = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            if _is_number(each):
                yield Figure(place, ": ".join((*own, key)), each, None)
            else:
                yield from list_figures(each, place, own)


def find_figure(path: Path, pointer: str) -> Figure:
    """Find the figure that a pointer names, or that the number it names belongs to.

    Raises BadInput where the file is no report, or holds no figure there.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        figures = {each.pointer: each for each in list_figures(report)}
    except (OSError, ValueError) as error:
        raise BadInput(path, f"is no report: {error}", hint="run the report's stage") from error
    found = figures.get(pointer) or figures.get(pointer.removesuffix("/value"))
    if found is not None:
        return found
    near = [each for each in figures.values() if each.pointer.startswith(pointer.rstrip("/") + "/")]
    some = "; ".join(f"{each.pointer} is {each.label}" for each in (near or list(figures.values()))[:SHOWN])
    raise BadInput(f"{path.name}#{pointer}", "is no figure", hint=f"there is {some}" if some else "")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
