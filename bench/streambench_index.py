"""Benchmark the approximate index of StreamBench's memory against exact search: recall and time.

The 16 nearest of 50,000 entries are searched over the same vectors: in clusters, like texts on a few topics,
and without structure. `python -m bench streambench_index` takes minutes.
"""

from __future__ import annotations

import time

from bench.streambench import K, Stopwatch, draw_vectors, fill_memory
from tasks.streambench.solve.stream_runs import normalise

INDEXED, SEARCHES = 50_000, 500
SPREADS = {"in clusters": 0.5, "without structure": None}


def main() -> None:
    """Print the recall and the time of the index compared with exact search."""
    for name, spread in SPREADS.items():
        vectors = [normalise(vector) for vector in draw_vectors(INDEXED + SEARCHES, spread)]
        asked = vectors[INDEXED:]
        exact, indexed = fill_memory(vectors[:INDEXED], INDEXED), fill_memory(vectors[:INDEXED])
        begun = time.perf_counter()
        indexed.nearest(asked[0], K)
        built = time.perf_counter() - begun
        found, spent = [], []
        for memory in (exact, indexed):
            watch = Stopwatch()
            found.append([{entry.entry.item for entry in memory.nearest(vector, K)} for vector in asked])
            spent.append(watch.read(SEARCHES))
        recall = sum(len(near & other) for near, other in zip(*found, strict=True)) / (K * SEARCHES)
        print(
            f"streambench_index: {INDEXED:,} {name}: the index finds {recall:.3f} of the {K} nearest "
            f"in {spent[1]} a search, exact search all in {spent[0]}; built in {built:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
