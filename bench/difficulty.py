"""Measure the query difficulty of Spider's and BIRD's dev sets: `python -m bench.difficulty DATA`.

DATA contains `spider/dev.json` and `bird/dev.json` as published. Writes the figures that dataset cards show
for comparison.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tasks.files import write_text
from tasks.grammar.publish.difficulty import (
    KNOWN,
    SetDifficulty,
    measure_set,
    tabulate_difficulty,
    write_known,
)


def measure_known(data: Path) -> list[SetDifficulty]:
    """Measure both sets."""
    return [
        measure_set(name, [row[key] for row in json.loads((data / file).read_text(encoding="utf-8"))])
        for name, file, key in (
            ("Spider, dev", "spider/dev.json", "query"),
            ("BIRD, dev", "bird/dev.json", "SQL"),
        )
    ]


def main() -> None:
    """Measure both sets, write the file and print the table."""
    if len(sys.argv) != 2:
        raise SystemExit("python -m bench.difficulty DATA")
    sets = measure_known(Path(sys.argv[1]))
    write_text(KNOWN, write_known(sets))
    head, rows = tabulate_difficulty(sets)
    for row in [head, *rows]:
        print("  ".join(cell.ljust(34 if number == 0 else 14) for number, cell in enumerate(row)).rstrip())


if __name__ == "__main__":
    main()
