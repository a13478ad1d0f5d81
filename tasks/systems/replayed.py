"""A system under test that replays recorded answers, with the passages on which they are based."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.scoring.item_tables import read_records
from tasks.scoring.items import BadItem, Record, describe_type, get_optional_text
from tasks.systems.contract import Passage, Response, System, Turn
from tasks.systems.entries import ReplayEntry

WANTED = "expected the columns id or question, and answer; docs/systems.md lists optional columns"


@dataclass(frozen=True)
class RecordedAnswers:
    """Recorded answers by item id, or by question text for rows without an id."""

    by_id: dict[str, Response]
    by_question: dict[str, Response]

    def find(self, *names: str, question: str) -> Response | None:
        """Look up the answer by the item's ids, then by the question's text; None if neither matches.

        names: the item's ids, in order of precedence.
        """
        known = (self.by_id[name] for name in names if name in self.by_id)
        return next(known, None) or self.by_question.get(question.strip())

    def count_unused(self, items: Mapping[str, str]) -> int:
        """Return the number of answers that match no item. `items`: id -> question."""
        asked = {question.strip() for question in items.values()}
        return len(self.by_id.keys() - items.keys()) + len(self.by_question.keys() - asked)


class ReplayedSystem:
    """Answers questions with the recorded answers in a file, without any call."""

    def __init__(self, name: str, entry: ReplayEntry, searcher: System | None = None) -> None:
        """Load the answers from the entry's file.

        Raises BadInput if the file's hash is not the entry's version, or if a line is not valid.

        `searcher`: the system that retrieves passages for `retrieve`; if None, no passages are retrieved.
        """
        self._searcher = searcher
        self.name, self.version = name, f"{entry.version[:16]} {entry.model}".strip()
        self._answers = read_published(entry) if entry.model else read_recorded(entry)

    async def answer(
        self, question: str, *, row: str, history: Sequence[Turn] = (), item: str = ""
    ) -> Response:
        """Return the recorded answer to a question after the turns in `history`.

        Without a recorded answer, the response has no text.
        """
        if isinstance(self._answers, RecordedAnswers):
            # A file of recorded answers does not contain conversations, so it has no answer after turns.
            found = None if history else self._answers.find(item, row, question=question)
            return found or Response(None, None, (), "the file has no answer to this question")
        turns = [(turn.question, turn.answer) for turn in history]
        published = self._answers.get(name_question(question, turns))
        return published or Response(None, None, (), "no answer to this question was published")

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Return passages, best first; None if the entry has no `search`.

        The passages come from the retriever of `search`, not from the file of recorded answers.
        """
        return await self._searcher.retrieve(query, row=row) if self._searcher else None


def name_question(question: str, history: Sequence[tuple[str, str]]) -> str:
    """Return a hash that identifies a question together with its earlier turns."""
    return make_id("replayed", question, [list(turn) for turn in history])


def digest_answers(path: Path) -> str:
    """Return the SHA-256 of a file of answers. Raises BadInput if the file cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        what = "is a folder" if path.is_dir() else (error.strerror or "cannot be read").lower()
        raise BadInput(path, what) from error


def read_published(entry: ReplayEntry) -> dict[str, Response]:
    """Return a model's answers in an imported file, keyed by the hash from `name_question`.

    Raises BadInput if the file's hash is not the entry's version.
    """
    path = _check_file(entry, "import the file again")
    found = {}
    for line in path.read_text("utf-8").splitlines():
        record: dict[str, Any] = json.loads(line)
        if record["model"] == entry.model:
            passages = tuple(
                Passage(passage["document"], passage["title"], passage["text"], 0.0)
                for passage in record["passages"]
            )
            found[record["question"]] = Response(record["text"], passages, ())
    return found


def read_recorded(entry: ReplayEntry) -> RecordedAnswers:
    """Return the answers of the user's system in the entry's file.

    Raises BadInput for the first invalid line, a file without answers, or a hash other than the version.
    """
    path = _check_file(entry, "name its new hash by `version`")
    answers = RecordedAnswers({}, {})
    for number, record in read_records(str(path), texts=TEXTS):
        problem = str(record) if isinstance(record, BadItem) else _add_answer(answers, record)
        if problem:
            raise BadInput(path, problem, line=number, hint=WANTED)
    if not answers.by_id and not answers.by_question:
        raise BadInput(path, "contains no answer", hint=WANTED)
    return answers


def _add_answer(answers: RecordedAnswers, record: Record) -> str:
    """Add the answer in a record; return the record's problem, or an empty string."""
    try:
        response = _make_response(record)
        question = get_optional_text(record, "question")
    except BadItem as error:
        return str(error)
    name = record.get("id")
    if name is None and not question:
        return "has neither id nor question"
    places, key = (
        (answers.by_question, (question or "").strip()) if name is None else (answers.by_id, str(name))
    )
    if key in places:
        return f"is a second answer to {key[:80]}"
    places[key] = response
    return ""


TEXTS = frozenset({"id", "question", "answer", "prediction"})
"""Columns of a CSV file that contain plain text; cells of other columns are parsed as JSON."""
RETRIEVED = ("retrieved_document_ids", "titles", "contexts")
"""Columns that contain a list: one value per retrieved passage, best first, or per agent step, in order."""


def _make_response(record: Record) -> Response:
    name = next((name for name in ("answer", "prediction") if name in record), None)
    if name is None:
        raise BadItem(f"has no answer; its fields are {', '.join(record)[:200]}")
    text = get_optional_text(record, name)
    given = {name: _read_texts(record, name) for name in RETRIEVED}
    lengths = {name: len(texts) for name, texts in given.items() if texts is not None}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{number} {name}" for name, number in lengths.items())
        raise BadItem(f"has lists that differ in length: {counts}")
    passages = None
    if lengths:
        count = max(lengths.values())
        documents, titles, contexts = (given[name] or [""] * count for name in RETRIEVED)
        passages = tuple(Passage(*cells, 0.0) for cells in zip(documents, titles, contexts, strict=True))
    return Response(text, passages, (), "" if text is not None else "the file has no answer")


def _read_texts(record: Record, name: str) -> list[str] | None:
    value = record.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(text, str | int) for text in value):
        raise BadItem(f"{name} is {describe_type(value)}; expected a list of strings")
    return [str(text) for text in value]


def _check_file(entry: ReplayEntry, hint: str) -> Path:
    path = Path(entry.file)
    if digest_answers(path) != entry.version:
        raise BadInput(path, "does not match the `version` in params.yaml", hint=hint)
    return path
