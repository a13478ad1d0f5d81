"""Stage: choose the list questions for a set, balanced over kinds and shapes (TANQ, section 3, step 1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, make_id
from tasks.settings import Settings
from tasks.tanq.entries import TanqSet
from tasks.tanq.graph.seed_question import KINDS, SeedQuestion


class Seeds(Settings):
    """The settings in params.yaml under `tanq.seeds`."""

    a_question: float = Field(default=2.5, ge=1)
    """Number of list questions to choose for each requested question; later stages drop some questions."""


def seeds(list_questions: list[SeedQuestion], params: Seeds, entry: TanqSet) -> Drafts[SeedQuestion]:
    """Choose list questions, alternating between kinds and shapes. Drop reason: `not_taken`."""
    taken = take_in_turn(list_questions, round(entry.questions * params.a_question), entry.seed)
    kept = {question.id for question in taken}
    left = (question for question in list_questions if question.id not in kept)
    return Drafts(
        taken,
        [Dropped(question.id, "not_taken", question.text, question.origin) for question in left],
    )


def take_in_turn(questions: Iterable[SeedQuestion], most: int, seed: int) -> list[SeedQuestion]:
    """Choose at most `most` questions, alternating between kinds, and between shapes within a kind.

    The seed determines the order within a shape. No two chosen questions have the same answers.
    """
    shapes: defaultdict[str, defaultdict[str, list[SeedQuestion]]] = defaultdict(lambda: defaultdict(list))
    for question in sorted(
        questions, key=lambda list_question: make_id(seed, list_question.id), reverse=True
    ):
        shapes[question.kind][question.shape].append(question)
    taken: list[SeedQuestion] = []
    answered: set[tuple[str, ...]] = set()
    used: Counter[str] = Counter()
    while len(taken) < most and any(queue for kind in shapes.values() for queue in kind.values()):
        for kind in KINDS:
            waiting = [shape for shape, queue in shapes[kind].items() if queue]
            if not waiting or len(taken) == most:
                continue
            shape = min(waiting, key=lambda name: (used[name], name))
            # pop() takes the last question, hence `reverse=True` above.
            own = shapes[kind][shape].pop()
            answers = tuple(answer.entity for answer in own.answers)
            if answers not in answered:
                answered.add(answers)
                used[shape] += 1
                taken.append(own)
    return taken
