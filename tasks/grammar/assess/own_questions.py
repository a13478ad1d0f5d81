"""Reads questions that somebody brings: a dataset folder of ours, JSON Lines or Parquet, however broken.

A row that is no question is left out with one line that names it; the others are asked.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Origin, make_id
from tasks.errors import BadInput
from tasks.grammar.assessment_rows import AskedQuestion
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.scoring.items import BadItem, Record, describe_type, open_items, parse_record, split_lines

FIELDS = ("id", "group", "criterion", "question", "query", "answer", "true_document_ids")
QUESTIONS = "balanced.jsonl"
"""What is asked of a dataset folder of ours."""
RESERVED = frozenset({"all", "mutual"})
"""Names in figures for all criteria together."""
BATCH = 1_000
MOST = 100_000
"""Characters of a question or an answer."""


@dataclass(frozen=True)
class OwnQuestions:
    """What was read, sorted by id, and a line for each row that was not.

    digest: SHA-256 of the file's bytes. beside: the folder of a dataset of ours, None for a single file.
    """

    questions: tuple[AskedQuestion, ...]
    problems: tuple[str, ...]
    digest: str
    beside: Path | None = None


def read_questions(path: Path) -> OwnQuestions:
    """Read a folder that holds `balanced.jsonl`, or one .jsonl, .jsonl.gz or .parquet file.

    A row has `question` (or `query`) and `answer`; where it wants to, `id` (default: a hash of the row),
    `group` (its own id), `criterion` (none) and `true_document_ids` (not known; in a folder of ours those of
    `true_documents.parquet` beside it). Raises BadInput where no row can be read.
    """
    file = path / QUESTIONS if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        raise BadInput(
            path, f"holds no {QUESTIONS}", hint="a dataset folder of ours, or one file of questions"
        )
    if not path.exists():
        raise BadInput(path, "no such file or folder")
    digest = digest_file(file)
    problems: list[str] = []
    kept: dict[str, tuple[str, AskedQuestion]] = {}
    for place, record in (
        _read_table(file, problems) if file.suffix == ".parquet" else _read_lines(file, problems)
    ):
        try:
            question = make_question(record, f"{write_name(file)}, {place}")
        except BadItem as error:
            problems.append(f"{write_name(file)}, {place}: {error}")
            continue
        first, _ = kept.setdefault(question.id, (place, question))
        if first != place:
            problems.append(f"{write_name(file)}, {place}: repeats the id of {first}")
    if not kept:
        raise BadInput(
            path, "holds no question that can be read", hint="; ".join(problems[:3]) or "it is empty"
        )
    questions = [kept[name][1] for name in sorted(kept)]
    if path.is_dir():
        questions = name_documents(questions, path.parent / "true_documents.parquet")
    return OwnQuestions(tuple(questions), tuple(problems), digest, path if path.is_dir() else None)


def write_name(path: Path) -> str:
    """Write a file's name as text, also where its bytes are no UTF-8."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def digest_file(path: Path) -> str:
    """Hash a file's bytes. Raises BadInput where it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(path, (error.strerror or "cannot be read").lower()) from error


def make_question(record: Record, place: str) -> AskedQuestion:
    """Make a question of one row. Raises BadItem, one clause."""
    asked = "question" if record.get("question") is not None else "query"
    question, answer = read_text(record, asked), read_text(record, "answer")
    criterion = read_text(record, "criterion", "")
    if criterion in RESERVED:
        raise BadItem(f"criterion is {criterion!r}, which in the figures stands for several")
    given = read_text(record, "group", "")
    own = read_text(record, "id", "") or make_id("question", given, criterion, question, answer)
    return AskedQuestion(
        id=own,
        group=given or own,
        criterion=criterion,
        question=question,
        answer=answer,
        sql_template="",
        text_template="",
        in_balanced=True,
        in_unbalanced=False,
        true_document_ids=read_documents(record),
        origin=(Origin("file", place),),
    )


def read_text(record: Record, field: str, default: str | None = None) -> str:
    """Give a field that is text or a number, as text; `default` where it is missing. Raises BadItem."""
    value = record.get(field)
    if default is not None and (value is None or value == ""):
        return default
    if value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        name = "question (or query)" if field == "query" else field
        raise BadItem(f"{name} is {'missing' if value is None else describe_type(value)}; text is wanted")
    try:
        text = str(value)
        text.encode()
    except ValueError as error:  # a lone surrogate, or a number of too many digits
        raise BadItem(f"{field} cannot be written as text") from error
    if not text.strip():
        raise BadItem(f"{field} is empty")
    if len(text) > MOST:
        raise BadItem(f"{field} is longer than {MOST} characters")
    return text


def read_documents(record: Record) -> tuple[str, ...] | None:
    """Give the true documents' ids, sorted, each once; None where they are not known. Raises BadItem."""
    value = record.get("true_document_ids")
    if value is None:
        return None
    if not isinstance(value, list):
        raise BadItem(f"true_document_ids is {describe_type(value)}; a list of ids is wanted")
    return tuple(
        sorted({read_text({"true_document_ids": document}, "true_document_ids") for document in value})
    )


def name_documents(questions: Iterable[AskedQuestion], path: Path) -> list[AskedQuestion]:
    """Give the questions of a dataset of ours their groups' true documents, where these were found."""
    if not path.is_file():
        return list(questions)
    true = {row.id: row.documents for row in read_rows(path, TrueDocument)}
    return [
        replace(question, true_document_ids=true.get(question.group))
        if question.true_document_ids is None
        else question
        for question in questions
    ]


def take_groups(questions: Iterable[AskedQuestion], limit: int | None, seed: int) -> list[AskedQuestion]:
    """Take the first groups in an order that a seed and their names make, whatever the file's is."""
    every = list(questions)
    groups = sorted(
        {question.group for question in every}, key=lambda group: make_id("evaluated", seed, group)
    )
    chosen = set(groups[:limit])
    return [question for question in every if question.group in chosen]


def keep_grounded(questions: Iterable[AskedQuestion], documents: Iterable[str]) -> list[AskedQuestion]:
    """Keep questions whose true documents are known and in a corpus: it could make gaps of all others."""
    there = set(documents)
    return [
        question
        for question in questions
        if question.true_document_ids and there.issuperset(question.true_document_ids)
    ]


def _read_lines(file: Path, problems: list[str]) -> Iterator[tuple[str, Record]]:
    with open_items(str(file)) as stream:
        for number, raw in enumerate(split_lines(stream), 1):
            if not raw or raw.isspace():
                continue
            if isinstance(raw, str):
                problems.append(f"{write_name(file)}, line {number}: {raw}")
                continue
            try:
                yield f"line {number}", parse_record(raw)
            except BadItem as error:
                problems.append(f"{write_name(file)}, line {number}: {error}")


def _read_table(file: Path, problems: list[str]) -> Iterator[tuple[str, Record]]:
    number = 0
    try:
        with pq.ParquetFile(file) as table:
            columns = [field for field in FIELDS if field in table.schema_arrow.names]
            for batch in table.iter_batches(BATCH, columns=columns):
                rows: list[Mapping[str, Any]] = batch.to_pylist()
                for row in rows:
                    number += 1
                    yield f"row {number}", dict(row)
    except (pa.ArrowException, OSError, ValueError) as error:
        what = " ".join(str(error).split())[:200]
        problems.append(f"{write_name(file)}: cannot be read as Parquet behind row {number}: {what}")
