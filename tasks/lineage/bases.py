"""Store the derivations of a record's plain numbers, by JSON pointer, under the record's key `bases`.

A report stores each figure as an object with a `basis`: the source rows and the measure of the figure.
The `figures.json` of an evaluation and the record of a nightly run contain plain numbers instead,
because programs that read these files expect numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from tasks.lineage.derivation import Derivation, read_derivation
from tasks.lineage.figures import Figure, find_figure, list_figures
from tasks.lineage.selection import Selection

BASES = "bases"


def encode_bases(record: Mapping[str, Any], derivations: Mapping[str, Derivation]) -> dict[str, object]:
    """Encode the derivations of a record's plain numbers as JSON types, by pointer, for the key `bases`."""
    bare = [figure.pointer for figure in list_figures(record) if figure.derivation is None]
    return {pointer: derivations[pointer].to_json() for pointer in bare if pointer in derivations}


def list_record_figures(record: Mapping[str, Any]) -> list[Figure]:
    """List a record's figures, each with the derivation from its `basis` or from `bases`.

    Raises ValueError for a malformed basis.
    """
    bases = record.get(BASES) or {}
    figures = list_figures({key: value for key, value in record.items() if key != BASES})
    return [
        replace(figure, derivation=read_derivation(bases[figure.pointer]))
        if figure.derivation is None and figure.pointer in bases
        else figure
        for figure in figures
    ]


def find_record_figure(path: Path, pointer: str) -> Figure:
    """Find the figure at a pointer in the JSON file of a report or record.

    Raises BadInput if the figure does not exist.
    """
    found = find_figure(path, pointer)
    if found.derivation is not None:
        return found
    basis = _read_bases(path, path.stat().st_mtime_ns).get(found.pointer)
    return found if basis is None else replace(found, derivation=read_derivation(basis))


@lru_cache(maxsize=2)
def _read_bases(path: Path, changed: int) -> Mapping[str, Any]:
    """Read a record's `bases`, cached by modification time, because a trace looks up hundreds of figures."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return record.get(BASES) or {} if isinstance(record, dict) else {}


def derive_rest(
    figures: Mapping[str, Any], rows: Mapping[str, Iterable[Selection]], known: Mapping[str, Derivation]
) -> dict[str, Derivation]:
    """Return the derivations of a record's figures; figures without a known derivation get one from `rows`.

    `rows`: prefix of a pointer -> the rows from which the figures below that prefix were computed. The first
    matching prefix is used. The name of the measure is the whole pointer, with spaces instead of slashes.
    `known`: existing derivations, by pointer.
    """
    derived = dict(known)
    for figure in list_figures(figures):
        if figure.derivation is not None or figure.pointer in derived:
            continue
        above = next((place for place in rows if figure.pointer.startswith(f"{place}/")), None)
        if above is not None:
            measure = figure.pointer.removeprefix("/").replace("/", " ")
            derived[figure.pointer] = Derivation(measure, tuple(rows[above]))
    return derived


def escape_pointer(key: str) -> str:
    """Escape a key for a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def select_ids(artifact: str, ids: Iterable[str]) -> Selection:
    """Return the selection of an artifact's rows with the given ids."""
    return Selection(artifact, {"id": tuple(sorted(ids))})
