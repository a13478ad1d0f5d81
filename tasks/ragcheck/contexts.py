"""Stage: gather the contexts that judges see with each answer, under two rules (section 2.1).

Rule E2 uses the passages that the answer is based on, which the system retrieved for the question alone.
These passages may lack the facts of the reference. In rule E3, the paper's method, the query is the question
joined with the reference, so that the contexts cover the reference.

Published answers may have passages that a person found. So if a published system's entry has a `search`, its
E2 passages are retrieved instead, with the question alone as the query.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id, split_outcomes
from tasks.models.ask import Ask
from tasks.ragcheck.answers import SystemAnswer
from tasks.ragcheck.entries import Assessment
from tasks.ragcheck.questions import ReferenceQuestion
from tasks.ragcheck.systems import build_systems
from tasks.systems.build import SystemEntry
from tasks.systems.contract import Passage, System, name_documents
from tasks.systems.entries import ReplayEntry, can_search

BY_QUESTION, BY_REFERENCE = "E2", "E3"
"""Names of the rules for contexts (section 2).

E2: the query is the question. E3: the query is the question joined with the reference.
"""
RULES = (BY_QUESTION, BY_REFERENCE)


@dataclass(frozen=True)
class Context:
    """Row of the stage `contexts`: the passages, best first, that a judge sees when it grades an answer."""

    id: str
    question: str
    system: str
    rule: str
    passages: tuple[Passage, ...]
    origin: tuple[Origin, ...]


async def contexts(
    questions: list[ReferenceQuestion],
    answers: list[SystemAnswer],
    corpus: Path,
    entry: Assessment,
    systems: dict[str, SystemEntry],
    ask: Ask,
) -> Drafts[Context]:
    """Gather the E2 contexts of every answer, and the E3 contexts of every system and question.

    Raises BadInput if a system is missing from params.yaml. Drop reasons:
    - `no_answer`: the system gave no answer
    - `not_shown`: the system does not return its passages
    - `no_retrieval`: the system cannot retrieve, because it has no `search`
    """
    built, known = build_systems(entry.systems, systems, corpus, ask)
    published = {name for name in entry.systems if isinstance(systems[name], ReplayEntry)}
    searched = {name for name in published if can_search(systems[name])}
    return await gather_contexts(built, questions, answers, known, searched)


async def gather_contexts(
    systems: Sequence[System],
    questions: Sequence[ReferenceQuestion],
    answers: Sequence[SystemAnswer],
    corpus: Collection[str],
    published: Collection[str] = (),
) -> Drafts[Context]:
    """Gather the contexts of the given systems under both rules.

    corpus: the ids of all documents. published: the names of systems with published answers and a `search`.
    For these systems, the E2 passages are retrieved instead of read from the answers.
    """
    by_name = {system.name: system for system in systems}
    asked = {question.id: question for question in questions}
    retrieved = await asyncio.gather(
        *(
            _retrieve_alone(by_name[answer.system], asked[answer.question], answer, corpus)
            for answer in answers
            if answer.system in published
        ),
        *(_retrieve(system, question, corpus) for system in systems for question in questions),
    )
    own = [_take_own(answer) for answer in answers if answer.system not in published]
    return split_outcomes([*own, *retrieved])


async def retrieve_by_reference(system: System, question: ReferenceQuestion) -> tuple[Passage, ...] | None:
    """Retrieve passages under rule E3, best first; None if the system cannot retrieve without answering."""
    return await system.retrieve(f"{question.question} {question.reference}", row=question.id)


def _take_own(answer: SystemAnswer) -> Context | Dropped:
    row_id = make_id(answer.question, answer.system, answer.version, BY_QUESTION)
    origin = (Origin("row", f"answers#{answer.id}"),)
    if answer.text is None:
        return Dropped(row_id, "no_answer", f"{answer.system} gave no answer", origin)
    if answer.passages is None:
        what = f"{answer.system} does not return the passages behind its answers"
        return Dropped(row_id, "not_shown", what, origin)
    return Context(row_id, answer.question, answer.system, BY_QUESTION, answer.passages, origin)


async def _retrieve_alone(
    system: System, question: ReferenceQuestion, answer: SystemAnswer, corpus: Collection[str]
) -> Context | Dropped:
    """Retrieve the E2 passages for a published answer; the query is the question alone."""
    if answer.text is None:
        return _take_own(answer)
    row_id = make_id(answer.question, answer.system, answer.version, BY_QUESTION)
    passages = await system.retrieve(question.question, row=question.id) or ()
    origin = (Origin("row", f"answers#{answer.id}"), *name_documents(passages, "corpus", corpus))
    return Context(row_id, question.id, system.name, BY_QUESTION, passages, origin)


async def _retrieve(
    system: System, question: ReferenceQuestion, corpus: Collection[str]
) -> Context | Dropped:
    row_id = make_id(question.id, system.name, system.version, BY_REFERENCE)
    origin: tuple[Origin, ...] = (Origin("row", f"questions#{question.id}"),)
    passages = await retrieve_by_reference(system, question)
    if passages is None:
        what = f"{system.name} cannot retrieve without answering (it has no `search`)"
        return Dropped(row_id, "no_retrieval", what, origin)
    origin = (*origin, *name_documents(passages, "corpus", corpus))
    return Context(row_id, question.id, system.name, BY_REFERENCE, passages, origin)
