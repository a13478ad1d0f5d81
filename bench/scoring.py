"""Benchmark scoring at three sizes, and against plain implementations of the same rules.

- rms: 1,000 tables of 7 x 4 against plain Python (at least 20 times as fast), one of 500 x 10 (under 1 s).
- grammar: the whole command on a million rows (under 10 s and 1 GB), against only parsing the lines.
- bootstrap: 10,000 samples of 1,000 groups (under 2 s), against a loop that draws groups by index.

Times are CPU seconds, so that other processes do not count. `python -m bench scoring` runs the full sizes;
`python -m bench.scoring 0.1` uses 10% of the tables, rows and samples.
"""

from __future__ import annotations

import json
import random
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.measure import describe_machine
from bench.rms_plain import compute_plainly
from tasks.scoring.metric import FloatArray, MeanSample
from tasks.scoring.rms_paper import compute_paper
from tasks.scoring.rms_released import compute_released
from tasks.scoring.statistics import bootstrap
from tasks.scoring.tables import parse_table

PARSE = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"


def main(share: float = 1.0) -> None:
    """Print all measurements. share: fraction of the sizes to use."""
    dice = random.Random(0)
    measure_rms(dice, share)
    measure_grammar(dice, share)
    measure_bootstrap(share)


def measure_rms(dice: random.Random, share: float) -> None:
    """Time small tables against plain Python, and large tables at three sizes."""
    pairs = [make_pair(dice, 7, 4) for _ in range(int(1000 * share))]
    plain = time_call(lambda: [compute_plainly(gold, prediction) for gold, prediction in pairs])
    ours = time_call(
        lambda: [compute_released(parse_table(gold), parse_table(prediction)) for gold, prediction in pairs]
    )
    print(
        f"rms: {len(pairs)} tables of 7 x 4: plain Python {plain:.2f} s, ours {ours:.3f} s, "
        f"ratio {plain / ours:.0f} (bound 20)"
    )
    for rows in (50, 150, 500):
        gold, prediction = (parse_table(text) for text in make_pair(dice, rows, 10))
        turned = time_call(lambda: compute_released(gold, prediction.transpose()))  # noqa: B023 - called here
        released = time_call(lambda: compute_released(gold, prediction))  # noqa: B023
        paper = time_call(lambda: compute_paper(gold, prediction))  # noqa: B023
        bound = " (bound 1)" if rows == 500 else ""
        print(
            f"rms: one table of {rows} x 10: released {released:.3f} s{bound}, transposed {turned:.3f} s, "
            f"paper {paper:.3f} s"
        )


def make_pair(dice: random.Random, rows: int, columns: int) -> tuple[str, str]:
    """Return a gold table, and a copy with shuffled rows and a fifth of the cells changed."""

    def word() -> str:
        return "".join(dice.choices(string.ascii_lowercase, k=dice.randint(3, 9)))

    def cell() -> str:
        return dice.choice([word(), str(dice.randint(1, 3000))])

    header = ["entity", *(word() for _ in range(columns - 1))]
    body = [[f"{word()} {word()}", *(cell() for _ in header[1:])] for _ in range(rows - 1)]
    changed = [[cell[:-1] + "x" if dice.random() < 0.2 else cell for cell in row] for row in body]
    dice.shuffle(changed)
    return write_table([header, *body]), write_table([header, *changed])


def write_table(rows: list[list[str]]) -> str:
    """Format a table as text."""
    return "\n".join("|".join(row) for row in rows)


def measure_grammar(dice: random.Random, share: float) -> None:
    """Print the time and the peak memory of the command at three sizes."""
    for size in (10_000, 100_000, 1_000_000):
        rows = int(size * share)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "items.jsonl")
            with path.open("w") as stream:
                stream.writelines(make_rows(dice, rows))
            parsing, _ = time_and_weigh([sys.executable, "-c", PARSE, str(path)])
            command = [sys.executable, "-m", "flows.cli", "score", "grammar", str(path), "--json"]
            seconds, memory = time_and_weigh(command)
        print(
            f"grammar: {rows} rows {seconds:.2f} s, {memory:.2f} GB; parsing alone {parsing:.2f} s, "
            f"ratio {seconds / parsing:.1f}" + (" (bounds 10 s, 1 GB)" if rows == 1_000_000 else "")
        )


def make_rows(dice: random.Random, count: int) -> Iterator[str]:
    """Yield rows in groups of ten; each row retrieves three of a thousand ids."""
    for number in range(count):
        row = {
            "id": f"row-{number:08d}",
            "group": f"group-{number // 10:07d}",
            "query": "Which city is the airport of that name in?",
            "judgement": dice.choice(["Correct", "Incorrect", "Correct", None]),
            "retrieved_document_ids": [f"document-{dice.randrange(1000)}" for _ in range(3)],
            "true_document_ids": [f"document-{number % 1000}"],
        }
        yield json.dumps(row) + "\n"


def time_and_weigh(command: list[str]) -> tuple[float, float]:
    """Run a command in a grandchild process; return its CPU seconds and its peak memory in GB."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "usage = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True, text=True)
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def measure_bootstrap(share: float) -> None:
    """Time 10,000 bootstrap samples at three numbers of groups, against drawing groups by index."""
    draws = int(10_000 * share)
    for groups in (100, 1000, 10_000):
        rows = np.random.default_rng(0).random((groups, 1))
        sample = MeanSample.gather(("mean",), frozenset(), rows)
        ours = time_call(lambda: bootstrap(sample, draws))  # noqa: B023 - called here
        loop = time_call(lambda: draw_by_index(rows[:, 0], draws))  # noqa: B023
        bound = " (bound 2)" if groups == 1000 else ""
        print(
            f"bootstrap: {draws} draws over {groups} groups: ours {ours:.2f} s{bound}, loop {loop:.2f} s, "
            f"ratio {loop / ours:.1f}"
        )


def draw_by_index(values: FloatArray, draws: int) -> FloatArray:
    """Return bootstrap means; the units of each sample are drawn one by one."""
    rng = np.random.default_rng(0)
    means = [values[rng.integers(0, len(values), len(values))].mean() for _ in range(draws)]
    return np.quantile(means, [0.025, 0.975])


def time_call(function: Callable[[], object]) -> float:
    """Return the CPU seconds of one call in all threads."""
    begun = time.process_time()
    function()
    return time.process_time() - begun


if __name__ == "__main__":
    print(describe_machine())
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
