"""Find figures in a report's JSON record by JSON pointer (RFC 6901)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard

from tasks.errors import BadInput
from tasks.lineage.derivation import Derivation, Number, read_derivation

NAMING = ("title", "name", "label", "reason", "step")
"""Keys whose value is the label of a figure, or of the object that contains the figure."""
SHOWN = 6
"""Maximum number of figures that an error message lists."""


@dataclass(frozen=True)
class Figure:
    """A figure in a report: a plain number, or an object with `value` and `basis`.

    `value`: None if the object's value is not a number. `derivation`: None if the source rows are unknown.
    """

    pointer: str
    label: str
    value: Number | None
    derivation: Derivation | None


def encode_figure(value: Number | None, derivation: Derivation | None) -> dict[str, object]:
    """Encode a figure so that `list_figures` finds it. `derivation`: None if the source rows are unknown."""
    return {"value": value, "basis": derivation.to_json() if derivation else None}


def list_figures(report: object, pointer: str = "", names: tuple[str, ...] = ()) -> Iterator[Figure]:
    """Yield the figures of a decoded report, in report order. Raises ValueError for a malformed basis."""
    if isinstance(report, list):
        for index, item in enumerate(report):
            yield from list_figures(item, f"{pointer}/{index}", names)
    elif isinstance(report, dict):
        # Labels omit the report's own title, because the file's name already identifies the report.
        own_names = [report[key] for key in NAMING if isinstance(report.get(key), str)] if pointer else []
        path = (*names, *own_names)
        value, basis = report.get("value"), report.get("basis")
        if _is_number(value) or ("value" in report and "basis" in report):
            derivation = None if basis is None else read_derivation(basis)
            yield Figure(pointer, ": ".join(path), value if _is_number(value) else None, derivation)
            return
        for key, item in report.items():
            place = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            if _is_number(item):
                yield Figure(place, ": ".join((*path, key)), item, None)
            else:
                yield from list_figures(item, place, path)


def find_figure(path: Path, pointer: str) -> Figure:
    """Find the figure at a pointer, which may also point to the figure's `value`.

    Raises BadInput if the file is not a report, or if there is no figure at the pointer.
    """
    try:
        figures = _read_figures(path, path.stat().st_mtime_ns)
    except (OSError, ValueError) as error:
        raise BadInput(path, f"is not a report: {error}", hint="run the report's stage") from error
    found = figures.get(pointer) or figures.get(pointer.removesuffix("/value"))
    if found is not None:
        return found
    below = [figure for figure in figures.values() if figure.pointer.startswith(pointer.rstrip("/") + "/")]
    shown = (below or list(figures.values()))[:SHOWN]
    known = "; ".join(f"{figure.pointer} is {figure.label}" for figure in shown)
    raise BadInput(f"{path.name}#{pointer}", "is not a figure", hint=f"known: {known}" if known else "")


@lru_cache(maxsize=2)
def _read_figures(path: Path, changed: int) -> Mapping[str, Figure]:
    """Read the figures of a report by pointer, cached by the file's modification time."""
    report = json.loads(path.read_text(encoding="utf-8"))
    return {figure.pointer: figure for figure in list_figures(report)}


def _is_number(value: object) -> TypeGuard[Number]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
