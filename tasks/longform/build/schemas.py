"""What the sources' artifacts say of the databases that questions are made from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.databases.columns import Column
from tasks.longform.rows import ControlledQuestion, SourceColumn


class Sources:
    """The folder of the sources' artifacts, read once a database."""

    def __init__(self, folder: Path) -> None:
        self._read = cache(
            lambda name: {
                row.id: row for row in read_rows(folder / name / "source_columns.parquet", SourceColumn)
            }
        )

    def read(self, database: str) -> Mapping[str, SourceColumn]:
        """Read a database's columns by id."""
        found: Mapping[str, SourceColumn] = self._read(database)
        return found

    def list_columns(self, question: ControlledQuestion) -> list[Column]:
        """List the columns of the tables that a question is about."""
        columns = (row.column for row in self.read(question.database).values())
        return [column for column in columns if column.table in question.focus.tables]
