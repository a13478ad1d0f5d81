"""Run importers: the project that they are given, and the files and parameters that they leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

from flows.run.engines import open_engine
from flows.run.kept_files import KEPT, name_kept
from flows.run.progress import say_line, tell_first
from flows.run.shards import Shard, ShardEngine
from flows.settings import edit_params, get_section, load_params, parse_database, parse_section
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.reflection import reflect
from tasks.errors import BadInput, BenchloomError
from tasks.files import write_text
from tasks.plugs import tell_error
from tasks.sources.base_importer import BaseImporter, Imported, Piece, Project
from tasks.sources.importer import PAGE, Importer, call
from tasks.streambench.environments.finding import list_kinds

TEXTS = ("kind", "title", "licence", "source")
LIMITS = QueryLimits(timeout_s=60, bytes=100_000_000)


class ImportingProject(Project):
    """A project by its params.yaml, databases and engines."""

    def __init__(self, root: Path, engine: ShardEngine | None = None) -> None:
        """engine: what does pieces of work, if the importer's options are not to choose it."""
        super().__init__(root)
        self._engine = engine

    @cached_property
    def params(self) -> Mapping[str, Any]:
        """params.yaml, read when an importer asks for it."""
        return load_params(self.root)

    def find(self, key: str) -> Any:
        """Return a part of params.yaml."""
        return get_section(self.params, key)

    def parse(self, key: str, model: type[Any]) -> Any:
        """Validate a section of params.yaml."""
        return parse_section(self.params, key, model)

    def parse_database(self, name: str) -> DatabaseEntry:
        """Validate an entry of `databases`."""
        return parse_database(self.params, name).resolve_under(self.root)

    def look_at(self, file: Path | None) -> tuple[str, str]:
        """Open a database where a model's SQL is run, so that what cannot be asked is known now."""
        if file is None:
            return "its SQLite file is missing", ""
        entry = DatabaseEntry(name=file.stem, file=file)
        try:
            tables = sorted({column.table for column in reflect(entry)})
            with SafeDatabase(entry, LIMITS) as safe:
                quoted = [table.replace('"', '""') for table in tables]
                counts = [safe.query(f'SELECT COUNT(*) FROM "{table}"').rows[0][0] for table in quoted]  # noqa: S608
        except BenchloomError as error:
            return " ".join(str(error).split()), ""
        rows = sum(int(str(count)) for count in counts)
        if not rows:
            return f"has {len(tables)} tables and no row", ""
        return "", f"{len(tables)} tables, {rows:,} rows"

    def keep(self, path: Path) -> None:
        """Move a file to where a run keeps a person's files."""
        kept = name_kept(self.root / KEPT / path)
        kept.parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).rename(kept)
        said = kept.relative_to(self.root).as_posix()
        say_line(f"{path.as_posix()}: the {path.parent.name} that were there are kept as {said}")

    def work(self, pieces: Sequence[Piece], engine: str, workers: int | None) -> None:
        """Do pieces as shards, or a single one, and all without an engine, in this process."""
        opening = (
            nullcontext(self._engine) if self._engine else open_engine(self.root, engine, workers, self.say)
        )
        with opening as opened:
            if opened is not None and len(pieces) > 1:
                opened.work(
                    [
                        Shard(piece.name, piece.work, piece.arguments, piece.part, self.root)
                        for piece in pieces
                    ]
                )
                return
            for piece in pieces:
                piece.work(*piece.arguments)

    def say(self, line: str) -> None:
        """Print a line to stderr."""
        say_line(f"benchloom: {line}")

    def tell(self, about: str, lines: Sequence[str]) -> None:
        """Print the first of many problems to stderr."""
        tell_first(about, lines)


def bring_in(root: Path, importer: BaseImporter, engine: ShardEngine | None = None) -> Imported:
    """Run an importer: write its files and set its parameters. Raises BadInput, with nothing changed."""
    with ImportingProject(root, engine) as project:
        try:
            done = importer.bring_in(project)
        except (BenchloomError, OSError, ModuleNotFoundError):
            raise  # a full disk, or an extra that is missing, is said by the command line
        except Exception as error:
            raise BadInput(importer.where, f"raised {tell_error(error)}") from error
        for path, text in done.files.items():
            write_text(root / path, text)
    if done.settings:
        with edit_params(root) as data:
            for keys, value in done.settings.items():
                set_value(data, keys, value)
    return done


def set_value(data: Any, keys: Sequence[str], value: object) -> None:
    """Set a value under nested keys; sections that are missing or empty are made."""
    for key in keys[:-1]:
        if data.get(key) is None:
            data[key] = {}
        data = data[key]
    data[keys[-1]] = value


def make_importer(kind: type[BaseImporter], where: str, options: Mapping[str, Any]) -> BaseImporter:
    """Make an importer with its options. Raises BadInput where its class is not what it must be.

    where: the file or the package that it comes from, for errors.
    """
    if issubclass(kind, Importer):
        check_dataset(kind, where)
    importer = call(where, lambda: kind(**options))
    importer.where = where
    return importer


def check_dataset(kind: type[Importer], where: str) -> None:
    """Raise BadInput for an importer whose class does not say what its dataset is."""
    for name in TEXTS:
        if not isinstance(getattr(kind, name, None), str) or not getattr(kind, name):
            raise BadInput(where, f"its class has no text {name!r}", hint=PAGE)
    if not isinstance(getattr(kind, "files", None), tuple) or not kind.files:
        raise BadInput(where, "its class has no tuple `files` of file names", hint=PAGE)
    if kind.kind not in (there := list_kinds()):
        raise BadInput(where, f"no environment {kind.kind!r}", hint=f"there are {', '.join(there)}")
