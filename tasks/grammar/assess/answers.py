"""Stage: a system under test answers the sample's questions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.grammar.assess.ablation import Withheld, plant_gaps
from tasks.grammar.assess.assessment_entry import Entry
from tasks.grammar.assessment_rows import AskedQuestion, SystemAnswer
from tasks.models.ask import Ask
from tasks.systems.build import build_system
from tasks.systems.contract import Document, Response
from tasks.systems.entries import SystemEntry


async def answers(
    questions: list[AskedQuestion],
    documents: list[Document],
    key: str,
    entry: Entry,
    system: SystemEntry,
    ask: Ask,
) -> Drafts[SystemAnswer]:
    """Ask a system every question. An answer that failed is a row without a response, and says why.

    Where the assessment withholds documents, the system's corpus lacks them.
    """
    built = build_system(entry.system, system, withhold(documents, questions, entry.withheld), ask)
    responses = await asyncio.gather(
        *(built.answer(question.question, row=question.id) for question in questions)
    )
    return Drafts(
        [
            make_answer(key, question, response)
            for question, response in zip(questions, responses, strict=True)
        ]
    )


def withhold(
    documents: Iterable[Document], questions: Iterable[AskedQuestion], withheld: Withheld | None
) -> list[Document]:
    """Leave out of a corpus what an assessment withholds."""
    if withheld is None:
        return list(documents)
    plant = plant_gaps({question.group: question.true_document_ids for question in questions}, withheld)
    return [document for document in documents if document.id not in plant.documents]


def make_answer(assessment: str, question: AskedQuestion, response: Response) -> SystemAnswer:
    """Make a row of what a system said."""
    passages = response.passages
    return SystemAnswer(
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
            *(Origin("call", call) for call in dict.fromkeys(response.calls)),
        ),
    )
