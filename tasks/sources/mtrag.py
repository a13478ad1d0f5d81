"""Read MT-RAG (IBM, Apache-2.0): questions in conversations, with reference answers and source passages.

The published layout is `*reference*.jsonl` with one task per line: `input` is the conversation so far,
`targets` the reference answer, and `contexts` the passages that an annotator found. A folder's other files
are not read, because they contain only relevance judgements or questions without answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from tasks.errors import BadInput

PATTERN = "*reference*.jsonl"
USER, AGENT = "user", "agent"


class _Turn(TypedDict):
    speaker: str
    text: str


class _Target(TypedDict):
    text: str


class _Context(TypedDict):
    document_id: str
    title: NotRequired[str | None]
    text: str


class _Record(TypedDict):
    """A line of a published file, before any validation."""

    task_id: str
    Collection: NotRequired[str]
    collection: NotRequired[str]
    turn: int | str
    answerability: NotRequired[list[str]]
    input: list[_Turn]
    targets: list[_Target]
    contexts: list[_Context]


@dataclass(frozen=True)
class SourcePassage:
    """A passage of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Task:
    """A question in a conversation. `history`: the previous (question, answer) pairs."""

    id: str
    collection: str
    turn: int
    answerability: str
    question: str
    reference: str
    history: tuple[tuple[str, str], ...]
    contexts: tuple[SourcePassage, ...]


def read_tasks(path: Path) -> list[Task]:
    """Return the tasks of a reference file, or of all reference files of a folder, in file order.

    Raises BadInput with the file and line if a record is not in the published layout.
    """
    files = sorted(path.glob(PATTERN)) if path.is_dir() else [path]
    if not files:
        raise BadInput(
            path, f"contains no {PATTERN}", hint="give the folder that contains MT-RAG's reference tasks"
        )
    return [task for file in files for task in _read_file(file)]


def list_sources(tasks: list[Task]) -> list[SourcePassage]:
    """Return the distinct passages of all tasks, sorted by id.

    Raises BadInput if two passages with different text have the same id.
    """
    known: dict[str, SourcePassage] = {}
    for task in tasks:
        for source in task.contexts:
            earlier = known.setdefault(source.id, source)
            if earlier.text != source.text:
                raise BadInput(
                    f"mtrag task {task.id}", f"the passage {source.id} occurs with two different texts"
                )
    return [known[name] for name in sorted(known)]


def _read_file(path: Path) -> Iterator[Task]:
    try:
        # `splitlines` would also split at line separators inside JSON strings, such as U+2028.
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(path, f"cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield _read_task(json.loads(line))
            except KeyError as error:
                raise BadInput(path, f"is not an MT-RAG task: {error} is missing", line=number) from error
            except (TypeError, ValueError, IndexError, RecursionError) as error:
                raise BadInput(path, f"is not an MT-RAG task: {error}", line=number) from error


def _read_task(record: _Record) -> Task:
    messages = [(turn["speaker"], _text(turn["text"])) for turn in record["input"]]
    alternating = [(USER, AGENT)[n % 2] for n in range(len(messages))]
    if [speaker for speaker, _ in messages] != alternating or not len(messages) % 2:
        raise ValueError("the speakers of `input` do not alternate (user, agent, ..., user)")
    turns = [text for _, text in messages]
    answerability = record.get("answerability") or [""]
    return Task(
        id=_text(record["task_id"]),
        collection=_text(record.get("Collection") or record.get("collection") or "mtrag"),
        turn=int(record["turn"]),
        answerability=_text(answerability[0]),
        question=turns[-1].strip(),
        reference=_text(record["targets"][0]["text"]).strip(),
        history=tuple(zip(turns[:-1:2], turns[1::2], strict=True)),
        contexts=tuple(
            SourcePassage(
                _text(context["document_id"]),
                _text(context.get("title") or ""),
                _text(context["text"]).strip(),
            )
            for context in record["contexts"]
        ),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is not a string")
    return value
