"""Stage: the contexts that judges are shown with each answer, under two rules (section 2.1).

Rule E2 takes the passages that the answer was written from, found by the question alone; they may lack the
truth. Rule E3, the paper's method, has the system retrieve by question and reference joined: contexts that
cover it. Published answers come with the passages that a person found: where their entry has a `search`, both
rules retrieve, E2 by the question alone.
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
"""Rules of contexts: what the answer was written from, found by the question, or what question and reference
joined retrieve (section 2)."""
RULES = (BY_QUESTION, BY_REFERENCE)


@dataclass(frozen=True)
class Context:
    """The passages that a judge is shown with a system's answer by one of `RULES`, best first."""

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
    """Take each answer's own passages (E2), and retrieve for every system and question by the reference (E3).

    For published answers with a `search`, E2 is retrieved too, by the question alone.

    Dropped are answers that were not given (`no_answer`) or whose passages the system does not show
    (`not_shown`), and what a system without `search` cannot retrieve (`no_retrieval`). Raises
    BadInput if params.yaml lacks a system.
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
    """Gather the contexts of built systems and their answers by both rules.

    corpus: the ids of the documents. published: the systems whose answers name other passages than they
    retrieve.
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
    """Retrieve passages by rule E3, best first; None if the system cannot retrieve without answering."""
    return await system.retrieve(f"{question.question} {question.reference}", row=question.id)


def _take_own(answer: SystemAnswer) -> Context | Dropped:
    row_id = make_id(answer.question, answer.system, answer.version, BY_QUESTION)
    origin = (Origin("row", f"answers#{answer.id}"),)
    if answer.text is None:
        return Dropped(row_id, "no_answer", f"{answer.system} gave no answer", origin)
    if answer.passages is None:
        what = f"{answer.system} does not show what it wrote an answer from"
        return Dropped(row_id, "not_shown", what, origin)
    return Context(row_id, answer.question, answer.system, BY_QUESTION, answer.passages, origin)


async def _retrieve_alone(
    system: System, question: ReferenceQuestion, answer: SystemAnswer, corpus: Collection[str]
) -> Context | Dropped:
    """Retrieve for a published answer by rule E2, by its question alone."""
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
        what = f"{system.name} does not retrieve without answering (it has no `search`)"
        return Dropped(row_id, "no_retrieval", what, origin)
    origin = (*origin, *name_documents(passages, "corpus", corpus))
    return Context(row_id, question.id, system.name, BY_REFERENCE, passages, origin)
