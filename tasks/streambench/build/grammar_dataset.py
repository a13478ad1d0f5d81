"""Stage: a text-to-SQL dataset from questions of GRAMMAR's over one database."""

from __future__ import annotations

from pathlib import Path

from tasks.errors import StageFailed
from tasks.streambench.entries import QuestionDatabase


def grammar_dataset(entry: QuestionDatabase, key: str, out: Path) -> None:
    """Write a dataset folder, as importers do: the questions, and the database below files/.

    Raises StageFailed where no question is left.
    """
    raise StageFailed("streambench.grammar_dataset: is not built yet")
