"""Read a user's questions: a dataset folder of this project, JSON Lines or Parquet, even with broken rows.

A row that cannot be read as a question is skipped and reported in one line.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Origin, make_id
from tasks.errors import BadInput
from tasks.grammar.corpus.questions import AskedQuestion
from tasks.grammar.corpus.true_documents import TrueDocument
from tasks.scoring.items import BadItem, Record, describe_type, open_items, parse_record, split_lines

FIELDS = ("id", "group", "criterion", "question", "query", "answer", "true_document_ids")
QUESTIONS = "balanced.jsonl"
"""The file of a dataset folder whose questions are asked."""
RESERVED = frozenset({"all", "mutual"})
"""Names that figures use for all criteria together; no criterion may have them."""
BATCH = 1_000
MOST = 100_000
"""Maximum characters of a question or an answer."""


@dataclass(frozen=True)
class OwnQuestions:
    """The questions, sorted by id, and a line for each row that could not be read.

    digest: SHA-256 of the file's bytes. beside: the dataset folder; None if a single file was read.
    """

    questions: tuple[AskedQuestion, ...]
    problems: tuple[str, ...]
    digest: str
    beside: Path | None = None


def read_questions(path: Path) -> OwnQuestions:
    """Read a folder that contains `balanced.jsonl`, or one .jsonl, .jsonl.gz or .parquet file.

    Required fields of a row: `question` (or `query`) and `answer`. Optional: `id` (default: a hash of the
    row), `group` (default: the id), `criterion` (default: empty) and `true_document_ids` (default: unknown;
    for a folder, those of `true_documents.parquet` beside it). Raises BadInput if no row can be read.
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
    """Return a file's name as text; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def digest_file(path: Path) -> str:
    """Compute the SHA-256 of a file, in hex. Raises BadInput if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(path, (error.strerror or "cannot be read").lower()) from error


def make_question(record: Record, place: str) -> AskedQuestion:
    """Convert one row to a question. place: where the row is, for its origin. Raises BadItem, one clause."""
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
    """Return a field, text or a number, as text; `default`, if given, when it is missing. Raises BadItem."""
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
    """Return the ids of the true documents, sorted and distinct; None if unknown. Raises BadItem."""
    value = record.get("true_document_ids")
    if value is None:
        return None
    if not isinstance(value, list):
        raise BadItem(f"true_document_ids is {describe_type(value)}; a list of ids is wanted")
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


def sample_groups(questions: Iterable[AskedQuestion], limit: int | None, seed: int) -> list[AskedQuestion]:
    """Sample up to `limit` groups by seed and name, whatever the file's order, and keep their questions."""
    every = list(questions)
    groups = sorted(
        {question.group for question in every}, key=lambda group: make_id("evaluated", seed, group)
    )
    chosen = set(groups[:limit])
    return [question for question in every if question.group in chosen]


def keep_grounded(questions: Iterable[AskedQuestion], documents: Iterable[str]) -> list[AskedQuestion]:
    """Keep questions whose true documents are all in a corpus; any other would count as a gap."""
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
                rows: list[Record] = batch.to_pylist()
                for row in rows:
                    number += 1
                    yield f"row {number}", row
    except (pa.ArrowException, OSError, ValueError) as error:
        what = " ".join(str(error).split())[:200]
        problems.append(f"{write_name(file)}: cannot be read as Parquet behind row {number}: {what}")
