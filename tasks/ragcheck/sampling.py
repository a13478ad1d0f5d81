"""Sample questions evenly over datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from tasks.artifacts.rows import make_id
from tasks.ragcheck.rows import ReferenceQuestion


def sample_evenly(
    questions: Sequence[ReferenceQuestion], count: int | None, seed: int
) -> list[ReferenceQuestion]:
    """Sample `count` questions (None: all) round-robin over datasets, in a seeded order."""
    queues: defaultdict[str, list[ReferenceQuestion]] = defaultdict(list)
    for question in sorted(questions, key=lambda question: make_id(seed, question.id)):
        queues[question.dataset].append(question)
    rounds = (
        queue[turn]
        for turn in range(max(map(len, queues.values()), default=0))
        for _, queue in sorted(queues.items())
        if turn < len(queue)
    )
    return list(islice(rounds, count))
