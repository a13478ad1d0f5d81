"""The base class for importers of text-to-SQL datasets, which finds, checks and copies the databases."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from tasks.errors import BadInput
from tasks.sources.base_importer import option
from tasks.sources.importer import Importer
from tasks.sources.sql_questions import (
    Placed,
    PromptDatabase,
    make_sql_items,
    make_sql_shots,
    read_create_statements,
)
from tasks.sources.stream_dataset import DatasetItem, DatasetShot, LeftOutRecord


class SqlImporter(Importer):
    """Imports questions about SQLite databases.

    A database is the file `<folder>/<id>/<id>.sqlite`. Other SQLite files in its folder are its test suite.
    """

    kind = "sql"
    database_folders: ClassVar[tuple[str, ...]]

    databases: Path | None = option(
        "The folder with the databases, DIR/<id>/<id>.sqlite. Default: next to PATH.", "DIR"
    )
    keep: bool = False
    """Whether questions are imported even if their database is missing."""

    @abstractmethod
    def read_questions(self, path: Path) -> Placed:
        """Yield the questions of a split, each with its position in the file."""

    def read_schemas(self) -> Mapping[str, str]:
        """Return CREATE statements by database, for databases whose file is missing; empty by default."""
        return {}

    def read_items(self) -> Iterable[tuple[str, DatasetItem | LeftOutRecord]]:
        """Yield (position, item) for each question of the evaluated split, or a LeftOutRecord as the item."""
        return make_sql_items(self.read_questions(self.file), self.look_up, keep=self.keep)

    def read_shots(self) -> Iterable[tuple[str, DatasetShot | LeftOutRecord]]:
        """Yield (position, example) for each question of the training split, if that split exists."""
        return make_sql_shots(self.read_questions(self.split)) if self.split else ()

    def list_files(self, items: Sequence[DatasetItem]) -> Mapping[str, Path | bytes]:
        """Map paths in the dataset's folder `files` to the database files that the items need."""
        names = {str(item.details["db_id"]) for item in items if item.file}
        return {f"{name}/{file.name}": file for name in names for file in self.look_up(name).files}

    @cached_property
    def places(self) -> list[Path]:
        """Return the folders that may contain databases. Raises BadInput if `--databases` is not a folder."""
        if self.databases is None:
            return [self.folder / name for name in self.database_folders]
        if not self.databases.is_dir():
            raise BadInput(
                "--databases", f"{self.databases} is not a folder", hint="give a folder with <id>/<id>.sqlite"
            )
        return [self.databases, *(self.databases / name for name in self.database_folders)]

    @cached_property
    def known(self) -> dict[str, PromptDatabase]:
        """Return the cache of inspected databases: name -> database."""
        return {}

    @cached_property
    def schemas(self) -> Mapping[str, str]:
        """Return the cached result of `read_schemas`."""
        return self.read_schemas()

    def look_up(self, name: str) -> PromptDatabase:
        """Return a database. If the database cannot be used, its field `problem` states why."""
        if name not in self.known:
            self.known[name] = self._look_at(name)
        return self.known[name]

    def _look_at(self, name: str) -> PromptDatabase:
        files = (folder / name / f"{name}.sqlite" for folder in self.places)
        file = next((place for place in files if place.is_file()), None)
        problem, _ = self.project.look_at(file)
        if file is None or problem:
            return PromptDatabase(self.schemas.get(name, ""), problem=problem)
        try:
            schema = read_create_statements(file)
        except BadInput as error:
            return PromptDatabase(problem=" ".join(str(error).split()))
        others = sorted(place for place in file.parent.glob("*.sqlite") if place.is_file() and place != file)
        return PromptDatabase(schema, (file, *others))
