"""What the importers of text-to-SQL datasets share: databases are looked up, looked at, and copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from flows.spider_import import look_at
from tasks.errors import BadInput
from tasks.sources.sql_questions import PromptDatabase, read_create_statements
from tasks.sources.stream_dataset import DatasetItem


class DatabaseShelf:
    """The databases of folders, `<folder>/<id>/<id>.sqlite` and the suite beside; each is looked at once."""

    def __init__(self, folders: Sequence[Path], schemas: Mapping[str, str] | None = None) -> None:
        """schemas: CREATE statements by database, for one whose file is missing."""
        self._folders = folders
        self._schemas = schemas or {}
        self._known: dict[str, PromptDatabase] = {}

    def look_up(self, name: str) -> PromptDatabase:
        """Give a database; `problem` says why it cannot be used."""
        if name not in self._known:
            self._known[name] = self._look_at(name)
        return self._known[name]

    def list_files(self, items: Sequence[DatasetItem]) -> Mapping[str, Path | bytes]:
        """List what to copy for items: name below `files/` -> file."""
        names = {str(item.details["db_id"]) for item in items if item.file}
        return {f"{name}/{file.name}": file for name in names for file in self.look_up(name).files}

    def _look_at(self, name: str) -> PromptDatabase:
        places = (folder / name / f"{name}.sqlite" for folder in self._folders)
        file = next((place for place in places if place.is_file()), None)
        problem, _ = look_at(file)
        if file is None or problem:
            return PromptDatabase(self._schemas.get(name, ""), problem=problem)
        try:
            schema = read_create_statements(file)
        except BadInput as error:
            return PromptDatabase(problem=" ".join(str(error).split()))
        others = sorted(place for place in file.parent.glob("*.sqlite") if place.is_file() and place != file)
        return PromptDatabase(schema, (file, *others))


def list_folders(release: Path, names: Sequence[str], given: Path | None) -> list[Path]:
    """List the folders that databases may lie in. given: `--databases`. Raises BadInput if that is none."""
    if given is None:
        return [release / name for name in names]
    if not given.is_dir():
        raise BadInput("--databases", f"{given} is no folder", hint="<folder>/<id>/<id>.sqlite")
    return [given, *(given / name for name in names)]
