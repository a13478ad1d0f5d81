"""Read a user's questions for `benchloom evaluate grammar`, with their true documents if known."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Origin, make_id
from tasks.errors import BadInput
from tasks.grammar.assessment_rows import AskedQuestion
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.scoring.items import BadItem, Record, describe_type
from tasks.systems.own_items import OwnItems, Reader, Source, read_items, take_text

QUESTIONS = "balanced.jsonl"
"""The file of a dataset folder whose questions are asked."""
RESERVED = frozenset({"all", "mutual"})
"""Names that figures use for all criteria together; no criterion may have them."""


def read_questions(path: Path) -> OwnItems[AskedQuestion]:
    """Read a folder that contains `balanced.jsonl`, or one .jsonl, .jsonl.gz or .parquet file.

    Required fields of a row: `question` (or `query`) and `answer`. Optional: `id` (default: a hash of the
    row), `group` (default: the id), `criterion` (default: empty) and `true_document_ids` (default: unknown;
    for a folder, those of `true_documents.parquet` beside it). Raises BadInput if no row can be read.
    """
    found = read_items(path, Reader(make_question, names=(QUESTIONS,), page="docs/assessment.md"))
    if not path.is_dir():
        return found
    named = name_documents(found.items, path.parent / "true_documents.parquet")
    return replace(found, items=tuple(named))


def digest_file(path: Path) -> str:
    """Compute the SHA-256 of a file, in hex. Raises BadInput if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(path, (error.strerror or "cannot be read").lower()) from error


def make_question(record: Record, source: Source) -> AskedQuestion:
    """Convert one row to a question. Raises BadItem, one clause."""
    question = read_text(record, "question" if record.get("question") is not None else "query")
    answer, criterion = read_text(record, "answer"), read_text(record, "criterion", "")
    if criterion in RESERVED:
        raise BadItem(f"criterion is {criterion!r}, which in the figures stands for several")
    given = read_text(record, "group", "")
    own_id = read_text(record, "id", "") or make_id("question", given, criterion, question, answer)
    return AskedQuestion(
        id=own_id,
        group=given or own_id,
        criterion=criterion,
        question=question,
        answer=answer,
        sql_template="",
        text_template="",
        in_balanced=True,
        in_unbalanced=False,
        true_document_ids=read_documents(record),
        origin=(Origin("file", source.reference),),
    )


def read_text(record: Record, name: str, default: str | None = None) -> str:
    """Return a text as it stands, with the blanks around it, since calls are asked by it. Raises BadItem."""
    return take_text(record, name, default=default, verbatim=True)


def read_documents(record: Record) -> tuple[str, ...] | None:
    """Return the ids of the true documents, sorted and distinct; None if unknown. Raises BadItem."""
    value = record.get("true_document_ids")
    if value is None:
        return None
    if not isinstance(value, list):
        raise BadItem(f"true_document_ids is {describe_type(value)}; expected a list of ids")
    return tuple(
        sorted({read_text({"true_document_ids": document}, "true_document_ids") for document in value})
    )


def name_documents(questions: Iterable[AskedQuestion], path: Path) -> list[AskedQuestion]:
    """Add the true documents of their groups to questions without any. path: true_documents.parquet."""
    if not path.is_file():
        return list(questions)
    true = {row.id: row.documents for row in read_rows(path, TrueDocument) if not row.untold}
    return [
        replace(question, true_document_ids=true.get(question.group))
        if question.true_document_ids is None
        else question
        for question in questions
    ]


def keep_grounded(questions: Iterable[AskedQuestion], documents: Iterable[str]) -> list[AskedQuestion]:
    """Keep questions whose true documents are all in a corpus; any other would count as a gap."""
    there = set(documents)
    return [
        question
        for question in questions
        if question.true_document_ids and there.issuperset(question.true_document_ids)
    ]
