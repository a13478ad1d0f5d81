"""Read the hostile inputs: `data/<kind>.jsonl` has one line per input, `kinds/<kind>.py` the code under test.

To add an input, add a line. To search for more, run `python -m tests.hostile.grow KIND`.
"""

from __future__ import annotations

import importlib
import json
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from tests.hostile.subject import Kind

FOLDER = Path(__file__).parent
KINDS = sorted(path.stem for path in (FOLDER / "data").glob("*.jsonl"))


@dataclass(frozen=True)
class Hostile:
    """A hostile input. may: allowed kinds of outcome. seed: the generator's seed; None if hand-written."""

    name: str
    input: Any
    may: tuple[str, ...] = ("refused",)
    seed: int | None = None


def load_kind(kind: str) -> Kind:
    """Import the module of a kind; return the kind's description."""
    return cast(Kind, importlib.import_module(f"tests.hostile.kinds.{kind}").KIND)


def read_inputs(kind: str) -> list[Hostile]:
    """Read every input of a kind, in the file's order."""
    lines = (FOLDER / "data" / f"{kind}.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Hostile(**row | {"may": tuple(row.get("may", ("refused",)))}) for row in rows]


def write_inputs(kind: str, inputs: list[Hostile]) -> None:
    """Write a kind's inputs; default values are omitted."""
    plain = Hostile("", None)
    with (FOLDER / "data" / f"{kind}.jsonl").open("w", encoding="utf-8") as file:
        for row in map(asdict, inputs):
            said = {key: value for key, value in row.items() if value != getattr(plain, key)}
            file.write(json.dumps(said) + "\n")


def draw_inputs(kind: str, count: int, seed: int) -> list[Hostile]:
    """Sample inputs of a kind by a seed."""
    inputs = read_inputs(kind)
    return random.Random(seed).sample(inputs, min(count, len(inputs)))
