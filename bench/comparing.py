"""Comparison: 10,000 items of two systems, in clusters and each alone, with one metric and with two.

Figures are seconds of CPU. `python -m bench comparing`.
"""

from __future__ import annotations

import random
import time

from tasks.judging.answered import Answered
from tasks.judging.comparison import Strand, compare_strands
from tasks.judging.scored import Scored

ITEMS = 10_000
BOUND_S = 10


def main() -> None:
    """Print all figures."""
    for name, clusters, graded in (
        ("right or wrong, 2,500 clusters of 4", 2_500, False),
        ("right or wrong, each a cluster", ITEMS, False),
        ("two figures of any value, each a cluster", ITEMS, True),
    ):
        a, b = (make_strand(seed, clusters, graded=graded) for seed in (1, 2))
        before = time.process_time()
        found = compare_strands([(a, b)])
        spent = time.process_time() - before
        print(
            f"compare: {ITEMS:,} items, {name}: {spent:.2f} s (bound {BOUND_S}), "
            f"{found.n_tests} tests, {len(found.strands[0].changed):,} changed"
        )


def make_strand(seed: int, clusters: int, *, graded: bool) -> Strand:
    """Make the answers of one system."""
    dice = random.Random(seed)
    answers = []
    for number in range(ITEMS):
        value = dice.random() if graded else float(dice.random() < 0.6)
        further = {"other": dice.random()} if graded else {}
        case = f"q{number:05}"
        scored = Scored(case, f"g{number % clusters}", value)
        answers.append((scored, Answered(case, case, "s", "score", "Q?", "true", f"{value}", "", further)))
    return Strand("bench", "entry", f"system-{seed}", answers)


if __name__ == "__main__":
    main()
