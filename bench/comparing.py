"""Benchmark comparisons of two systems on 10,000 items, with and without clusters, with one or two metrics.

Figures are CPU seconds. The benchmark also runs `benchloom compare` as a process: two systems, two nightly
runs of two systems, and a nightly run against a git revision, as table and page. `python -m bench comparing`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tasks.judging.answered import Answered, Scored
from tasks.judging.comparison import ScoredSystem, compare_scored_systems
from tests.flows.comparing.project import Project, make_grammar

ROOT = Path(__file__).parents[1]
ITEMS = 10_000
BOUND_S = 10
COMMANDS = {
    "two systems": ("films-weak", "films-good"),
    "two nights": ("night:one", "night:two"),
    "a night and a revision": ("night:one", "v1", "--only", "films-good"),
}


def main() -> None:
    """Print all measurements."""
    for name, clusters, graded in (
        ("right or wrong, 2,500 clusters of 4", 2_500, False),
        ("right or wrong, each a cluster", ITEMS, False),
        ("two figures of any value, each a cluster", ITEMS, True),
    ):
        a, b = (make_scored_system(seed, clusters, graded=graded) for seed in (1, 2))
        before = time.process_time()
        found = compare_scored_systems([(a, b)])
        spent = time.process_time() - before
        print(
            f"compare: {ITEMS:,} items, {name}: {spent:.2f} s (bound {BOUND_S}), "
            f"{found.n_tests} tests, {len(found.strands[0].changed):,} changed"
        )

    with tempfile.TemporaryDirectory() as folder:
        measure_commands(Path(folder))


def measure_commands(root: Path) -> None:
    """Print the times of the command in a project of two systems and two nightly runs."""
    make_project(root)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name, words in COMMANDS.items():
        for form in ((), ("--html", "--out", str(root / "page.html"))):
            before = os.times()
            subprocess.run(
                [sys.executable, "-m", "flows.cli", "compare", *words, *form],
                cwd=root, env=environment, check=True, capture_output=True,
            )  # fmt: skip
            after = os.times()
            spent = sum(after[2:4]) - sum(before[2:4])
            what = f"page of {(root / 'page.html').stat().st_size / 1e6:.1f} MB" if form else "table"
            print(f"compare: the command, {name}, {ITEMS:,} items, a {what}: {spent:.2f} s (bound {BOUND_S})")


def make_project(root: Path) -> None:
    """Create a project whose systems and nightly runs have answered all items."""
    dice = random.Random(3)
    before = [dice.random() < 0.6 for _ in range(ITEMS)]
    after = [dice.random() < (0.8 if right else 0.3) for right in before]
    worse = [right and dice.random() < 0.9 for right in before]
    project = Project(root)
    project.record(make_grammar("films-weak", before), "weak")
    project.record(make_grammar("films-good", after), "good")
    project.commit("Begin", "v1")
    project.write_night("one", make_grammar("films-good", before), "good")
    project.write_night("two", make_grammar("films-good", worse), "good")


def make_scored_system(seed: int, clusters: int, *, graded: bool) -> ScoredSystem:
    """Generate the scored answers of one system."""
    dice = random.Random(seed)
    answers = []
    for number in range(ITEMS):
        value = dice.random() if graded else float(dice.random() < 0.6)
        further = {"other": dice.random()} if graded else {}
        case = f"q{number:05}"
        scored = Scored(case, f"g{number % clusters}", value)
        answers.append((scored, Answered(case, case, "s", "score", "Q?", "true", f"{value}", "", further)))
    return ScoredSystem("bench", "entry", f"system-{seed}", answers)


if __name__ == "__main__":
    main()
