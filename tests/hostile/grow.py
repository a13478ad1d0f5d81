"""Search for new hostile inputs: `python -m tests.hostile.grow KIND [--seed N] [--tries N] [--keep N]`.

The module runs every generated input. It prints and keeps each input that was not handled, with its seed, and
`--keep` handled inputs. A person decides which outcomes of a kept input are acceptable.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from tests.hostile.corpus import KINDS, Hostile, load_kind, read_inputs, write_inputs
from tests.hostile.runner import throw_one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each try takes the next")
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--keep", type=int, default=0, help="how many that held to keep as well")
    parser.add_argument("--may", nargs="+", default=["refused", "answered"])
    given = parser.parse_args()
    kind, inputs = load_kind(given.kind), read_inputs(given.kind)
    known = {repr(hostile.input) for hostile in inputs}
    kept = 0
    with tempfile.TemporaryDirectory() as folder, kind.open(Path(folder)) as subject:
        for seed in range(given.seed, given.seed + given.tries):
            value = kind.make(random.Random(seed))
            hostile = Hostile(f"made from {seed}", value, tuple(given.may), seed)
            if repr(value) in known:
                continue
            faults = throw_one(subject, hostile)
            for fault in faults:
                print(f"{hostile.name}: {fault}: {str(value)[:300]!r}")
            if faults or kept < given.keep:
                kept += not faults
                inputs.append(hostile)
                known.add(repr(value))
    write_inputs(given.kind, inputs)
    print(f"{given.kind}: {len(inputs)} inputs")


if __name__ == "__main__":
    main()
