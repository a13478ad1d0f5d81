"""Choose the columns of a table that contain the questions, the answers and the other fields of items."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tasks.errors import BadInput
from tasks.settings import Settings

GUESSES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query", "prompt", "input", "problem"),
    "answer": (
        "answer",
        "answers",
        "accepted_answers",
        "expected_answer",
        "expected_output",
        "expected",
        "ground_truth",
        "reference_answer",
        "reference",
        "gold",
        "target",
        "output",
    ),
    "contexts": ("contexts", "context", "passages", "passage"),
    "id": ("id", "_id", "question_id", "qid"),
    "group": ("group", "group_id"),
    "tags": ("tags", "tag", "categories", "category"),
}
"""Field of an item -> column names to try, the most likely first."""
REQUIRED = ("question", "answer")


class QaColumns(Settings):
    """The column of each field of an item.

    If a column is None, it is guessed. If a column is empty, its field is skipped, except `question` and
    `answer`, which are required.
    """

    question: str | None = None
    """The column with the question."""
    answer: str | None = None
    """The column with the reference answer."""
    contexts: str | None = None
    """The column with the contexts."""
    id: str | None = None
    """The column with the item's id."""
    group: str | None = None
    """The column with the group that a question belongs to."""
    tags: str | None = None
    """The column with the tags, each of which defines a slice."""


class ChosenColumns(NamedTuple):
    """The columns to read.

    names: field of an item -> its column. guessed: the fields whose column was guessed.
    """

    names: Mapping[str, str]
    guessed: Sequence[str]

    def list_notes(self) -> list[str]:
        """Return a line per guessed column whose name differs from its field.

        Each line names the option that selects another column.
        """
        return [
            f"the column {self.names[part]!r} is read as {part} (--{part} COLUMN names another)"
            for part in self.guessed
            if self.names[part] != part
        ]


def choose_columns(place: Path, there: Sequence[str], given: QaColumns) -> ChosenColumns:
    """Choose the column of each field of an item from the columns of a table.

    place: the table's path, for errors. there: the table's columns. given: the columns that the user named.
    Raises BadInput if a named column is missing, or if no column is found for the question or the answer.
    """
    names: dict[str, str] = {}
    guessed: list[str] = []
    for part, guesses in GUESSES.items():
        column = getattr(given, part)
        if column is None:
            # Reversed, so that the first of several columns whose names differ only in case wins.
            lower = {name.strip().lower(): name for name in reversed(there)}
            column = next((lower[guess] for guess in guesses if guess in lower), "")
            guessed += [part] if column else []
        elif column and column not in there:
            near = difflib.get_close_matches(column, there, 1, 0.6)
            raise BadInput(
                place,
                f"has no column {column}; it has {_list_names(there)}",
                hint=f"did you mean {near[0]}?" if near else f"name the column with --{part} COLUMN",
            )
        if column:
            names[part] = column
        elif part in REQUIRED:
            raise BadInput(
                place,
                f"has no column that could be the {part}; it has {_list_names(there)}",
                hint=f"name the column with --{part} COLUMN",
            )
    return ChosenColumns(names, guessed)


def _list_names(there: Sequence[str]) -> str:
    return ", ".join(there)[:200] or "none"
