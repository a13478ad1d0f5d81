"""Entries of `ragcheck.sets` in params.yaml: files with questions, reference answers and documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from tasks.errors import BadInput
from tasks.settings import Settings

QUESTIONS, DOCUMENTS = "questions.jsonl", "documents.jsonl"
"""File names of questions and documents in a folder of kind `lines`."""


class QuestionSet(Settings):
    """An entry of `ragcheck.sets`: questions with reference answers, and documents."""

    kind: Literal["mtrag", "jsquad", "lines"]
    """The format: MT-RAG, JSQuAD, or your own JSON Lines."""
    path: Path
    """The file or folder with the questions, in the project or elsewhere."""
    language: str = Field(default="en", pattern="^[a-z]{2,3}$")
    """The language of questions and answers, as an ISO 639 code."""
    take: int | None = Field(default=None, gt=0)
    """Number of questions, spread evenly over datasets. null uses all questions."""
    seed: int = 0
    """The seed for sampling the questions."""
    first_turn: bool = False
    """Whether to select only questions that begin a conversation. Only `mtrag` uses this setting."""
    answerability: tuple[str, ...] = ("ANSWERABLE",)
    """The kinds of answerability to select; an empty list selects all kinds. Used only for `mtrag`."""


def recognise_set(path: Path, language: str = "", take: int | None = None) -> QuestionSet:
    """Make the entry of a question set, and detect the set's format from its path.

    The format is `lines` for questions.jsonl, or for a folder that contains it. The format is `jsquad` for a
    .json file, or for a folder with .json and no .jsonl files. The format is `mtrag` for any other folder or
    .jsonl file. language: if empty, Japanese for `jsquad` and English otherwise. Raises BadInput for a
    missing path, an unknown format or a malformed language.
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
            path,
            "is not a set of questions",
            hint=f"give a SQuAD file, or a folder with {QUESTIONS} or the tasks of MT-RAG",
        )
    code = language or ("ja" if kind == "jsquad" else "en")
    try:
        return QuestionSet(kind=kind, path=path, language=code, take=take)
    except ValidationError as error:
        raise BadInput(
            f"--language {language}",
            "is not a language code; expected two or three letters, such as en or ja",
        ) from error


def read_lines(folder: Path, name: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield (line number, object) from a JSON Lines file, skipping blank lines.

    Raises BadInput for an unreadable file or an invalid line.
    """
    path = folder / name
    try:
        # `splitlines` would also split at U+2028, which a JSON string may contain.
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(path, f"cannot be read: {error}", hint="see docs/ragcheck.md") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                record = json.loads(line)
            except ValueError as error:
                raise BadInput(path, f"is not valid JSON: {error}", line=number) from error
            if not isinstance(record, dict):
                raise BadInput(path, "is not a JSON object", line=number)
            yield number, record


def read_text(record: dict[str, object], key: str, path: Path, line: int, default: str | None = None) -> str:
    """Return the string in a field of a record, stripped.

    Raises BadInput, with the path and the line, if the value is not a string. Without a default, a missing or
    empty value is also an error.
    """
    value = record.get(key, default)
    if not isinstance(value, str) or not (value.strip() or default is not None):
        raise BadInput(path, f"{key!r} is {value!r:.40}; expected text", line=line)
    return value.strip()
