"""Takes some of many questions, alike of every dataset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from tasks.artifacts.rows import make_id
from tasks.ragcheck.rows import ReferenceQuestion


def sample_evenly(rows: Sequence[ReferenceQuestion], count: int | None, seed: int) -> list[ReferenceQuestion]:
    """Take so many questions, one of each dataset after another, in an order that the seed gives."""
    queues: defaultdict[str, list[ReferenceQuestion]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: make_id(seed, row.id)):
        queues[row.dataset].append(row)
    rounds = (
        queue[turn]
        for turn in range(max(map(len, queues.values()), default=0))
        for _, queue in sorted(queues.items())
        if turn < len(queue)
    )
    return list(islice(rounds, count))
