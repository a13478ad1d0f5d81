"""Stage: put the sampled questions to the system under test."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.grammar.assess.ablation import ablate_corpus
from tasks.grammar.assess.assessment_entry import AssessmentEntry
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.models.ask import Ask
from tasks.systems.build import build_system
from tasks.systems.contract import Document, Passage, Response, name_documents
from tasks.systems.entries import SystemEntry


@dataclass(frozen=True)
class AssessedAnswer:
    """A system's answer to a question. If the system failed, `response` is None and `problem` states why."""

    id: str
    question: str
    """The question's id."""
    group: str
    criterion: str
    response: str | None
    retrieved_document_ids: tuple[str, ...] | None
    """Distinct document ids, best first; None if the system does not report the retrieved documents."""
    passages: tuple[Passage, ...] | None
    problem: str
    origin: tuple[Origin, ...]


async def answers(
    questions: list[AskedQuestion],
    documents: list[Document],
    key: str,
    entry: AssessmentEntry,
    system: SystemEntry,
    ask: Ask,
) -> Drafts[AssessedAnswer]:
    """Ask a system every question. If the system fails, the row has no response, and `problem` states why.

    If the assessment has an ablation, the system's corpus does not contain the removed documents.
    """
    known = {document.id for document in documents}
    built = build_system(entry.system, system, ablate_corpus(documents, questions, entry.withheld), ask)
    responses = await asyncio.gather(
        *(built.answer(question.question, row=question.id) for question in questions)
    )
    return Drafts(
        [
            make_answer(key, question, response, known)
            for question, response in zip(questions, responses, strict=True)
        ]
    )


def make_answer(
    assessment: str, question: AskedQuestion, response: Response, corpus: Collection[str]
) -> AssessedAnswer:
    """Make the row for a system's response.

    `assessment` is the assessment's name, which is part of the row's id. `corpus` contains the document ids
    in the artifact `documents`. In the row's origin, retrieved documents outside `corpus` have the kind
    `evidence`.
    """
    passages = response.passages
    return AssessedAnswer(
        id=make_id("answer", assessment, question.id),
        question=question.id,
        group=question.group,
        criterion=question.criterion,
        response=response.text,
        retrieved_document_ids=None
        if passages is None
        else tuple(dict.fromkeys(passage.document for passage in passages)),
        passages=passages,
        problem=response.problem,
        origin=(
            Origin("row", f"questions#{question.id}"),
            *name_documents(passages, "documents", corpus),
            *(Origin("call", call) for call in dict.fromkeys(response.calls)),
        ),
    )
