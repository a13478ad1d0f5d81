"""Compare every figure of two checkouts: `python -m bench.figures BEFORE AFTER`.

Reads each `report.json` and `*figures.json` below `data/`. A figure is a number in these files, at its JSON
pointer, with the adjacent `n`, `interval` and `basis`. Exit 1 if a figure differs, is missing or is new.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BESIDE = ("n", "interval", "basis")
LAYOUT = ("number", "group")
"""Numbers of a table that are not figures: the paper's number, and the column span of a header."""


def main(before: Path, after: Path) -> int:
    """Print the number of figures in each checkout and every difference; return the exit code."""
    sides = [read_figures(before), read_figures(after)]
    print(f"{before}: {len(sides[0]):,} figures; {after}: {len(sides[1]):,} figures")
    names = dict.fromkeys([*sides[0], *sides[1]])
    different = [name for name in names if sides[0].get(name) != sides[1].get(name)]
    for name in different:
        print(f"{name}: {sides[0].get(name, 'not there')} -> {sides[1].get(name, 'not there')}")
    print(f"{len(different):,} differences")
    return 1 if different else 0


def read_figures(root: Path) -> dict[str, dict[str, Any]]:
    """Read the figures of a checkout by `file#pointer`."""
    files = sorted({*root.glob("data/**/report.json"), *root.glob("data/**/*figures.json")})
    return {
        f"{file.relative_to(root).as_posix()}#{pointer}": figure
        for file in files
        for pointer, figure in list_numbers(json.loads(file.read_text(encoding="utf-8")), "")
    }


def list_numbers(value: Any, pointer: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the figures of a decoded file as (pointer, figure); a cell is one figure with adjacent fields."""
    if isinstance(value, dict):
        if "value" in value:
            if is_number(value["value"]):
                yield pointer, {"value": value["value"], **{name: value.get(name) for name in BESIDE}}
            return
        for key, part in value.items():
            if key in LAYOUT:
                continue
            yield from list_numbers(part, f"{pointer}/{key}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from list_numbers(part, f"{pointer}/{place}")
    elif is_number(value):
        yield pointer, {"value": value}


def is_number(value: object) -> bool:
    """Return whether a value is a number, but not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
