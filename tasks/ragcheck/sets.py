"""`ragcheck.sets` in params.yaml: questions with reference answers, and the documents that systems search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

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
