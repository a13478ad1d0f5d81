"""Read the schemas, rows and questions of source databases from the artifacts of the sources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tasks.artifacts.parquet import read_rows
from tasks.databases.columns import Column, split_column_id
from tasks.errors import BadInput
from tasks.longform.build.foci import Focus
from tasks.longform.build.source_columns import SourceColumn
from tasks.longform.build.source_rows import WholeRow


class SourceArtifacts:
    """The artifacts of all sources in a folder. Columns and rows are read once and cached."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # `functools.cache` on a method would keep every instance alive, so each instance has its own caches.
        self._read = cache(
            lambda name: {row.id: row for row in read_rows(self._find(name, "source_columns"), SourceColumn)}
        )
        self._rows = cache(lambda name: list(read_rows(self._find(name, "source_rows"), WholeRow)))

    def read(self, database: str) -> Mapping[str, SourceColumn]:
        """Read a database's columns by id. Raises BadInput if the name is not in `longform.databases`."""
        found: Mapping[str, SourceColumn] = self._read(database)
        return found

    def read_rows(self, database: str) -> Sequence[WholeRow]:
        """Read the rows of a database's artifact `source_rows`."""
        found: Sequence[WholeRow] = self._rows(database)
        return found

    def read_foci(self, database: str) -> list[Focus]:
        """Read the foci of a database: the subjects of its questions."""
        return list(read_rows(self._find(database, "foci"), Focus))

    def read_seeds(self, database: str) -> list[str]:
        """Read the database's existing questions; empty if the database has no questions."""
        path = self._folder / database / "seeds.json"
        return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []

    def list_columns(self, database: str, focus: Focus) -> list[Column]:
        """List the columns of the tables of a focus."""
        columns = (row.column for row in self.read(database).values())
        return [column for column in columns if column.table in focus.tables]

    def _find(self, database: str, artifact: str) -> Path:
        path = self._folder / database / f"{artifact}.parquet"
        if not path.is_file():
            raise BadInput(
                f"longform.sets: {database}", "is not listed in longform.databases", hint="add it there"
            )
        return path


def read_amount(row: WholeRow, column: str) -> float | None:
    """Read an amount from a row; None if the amount is unknown or not a number, or if `column` is empty."""
    table, name = split_column_id(column) if column else ("", "")
    value = json.loads(row.tables).get(table, {}).get(name)
    return float(value) if isinstance(value, int | float) else None
