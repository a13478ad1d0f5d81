"""`ragcheck.sets` in params.yaml: questions with reference answers, and the documents that systems search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.errors import BadInput

QUESTIONS, DOCUMENTS = "questions.jsonl", "documents.jsonl"
"""What a folder of kind `lines` holds."""


class QuestionSet(BaseModel):
    """One entry of `ragcheck.sets`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["mtrag", "jsquad", "lines"]
    path: Path
    """A file or folder, in the project or anywhere."""
    language: str = Field(default="en", pattern="^[a-z]{2,3}$")
    take: int | None = Field(default=None, gt=0)
    """How many questions, alike of each dataset; None is all."""
    seed: int = 0
    """Which ones."""
    first_turn: bool = False
    """mtrag: only questions that stand at the beginning of a conversation."""
    answerability: tuple[str, ...] = ("ANSWERABLE",)
    """mtrag: of which kinds; an empty list is all."""


def recognise_set(path: Path, language: str = "", take: int | None = None) -> QuestionSet:
    """Tell by its name what a path holds: our lines, MT-RAG's reference tasks, or a SQuAD file.

    A folder with questions.jsonl, or that file, is `lines`; another folder or .jsonl file is MT-RAG's; a
    .json file, or a folder with nothing else, is JSQuAD's, whose language is Japanese unless it is said.
    Raises BadInput.
    """
    if not path.exists():
        raise BadInput(path, "no such file or folder")
    kind: Literal["mtrag", "jsquad", "lines"]
    if path.name == QUESTIONS or (path / QUESTIONS).is_file():
        kind, path = "lines", path if path.is_dir() else path.parent
    elif path.suffix == ".json" or (
        path.is_dir() and not any(path.glob("*.jsonl")) and any(path.glob("*.json"))
    ):
        kind = "jsquad"
    elif path.is_dir() or path.suffix == ".jsonl":
        kind = "mtrag"
    else:
        raise BadInput(
            path, "is no set of questions", hint=f"a folder with {QUESTIONS}, MT-RAG's tasks, or a SQuAD file"
        )
    spoken = language or ("ja" if kind == "jsquad" else "en")
    try:
        return QuestionSet(kind=kind, path=path, language=spoken, take=take)
    except ValidationError as error:
        raise BadInput(
            f"--language {language}", "is no language: two or three letters, as in en or ja"
        ) from error


def read_lines(folder: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a JSON Lines file of a folder: line number and object. Raises BadInput."""
    path = folder / name
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(path, f"cannot be read: {error}", hint="docs/ragcheck.md") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                record = json.loads(line)
            except ValueError as error:
                raise BadInput(path, f"is no JSON: {error}", line=number) from error
            if not isinstance(record, dict):
                raise BadInput(path, "is no JSON object", line=number)
            yield number, record


def read_text(record: dict[str, Any], key: str, path: Path, line: int, default: str | None = None) -> str:
    """Read a text of a record. Raises BadInput where it is missing, empty or none."""
    value = record.get(key, default)
    if not isinstance(value, str) or not (value.strip() or default is not None):
        raise BadInput(path, f"{key!r} is {value!r:.40}, not a text", line=line)
    return value.strip()
