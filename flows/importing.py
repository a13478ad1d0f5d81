"""Run importers: give them access to the project, and write the files and parameters that they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any

from flows.import_process import ADVICE
from flows.run.engine.engines import THREADS, open_engine
from flows.run.engine.shards import Shard, ShardEngine
from flows.run.progress import tell_first
from flows.run.record.kept_files import KEPT, name_kept
from flows.settings import get_section, load_params, parse_database, parse_section, write_params
from tasks.databases.entry import DatabaseEntry
from tasks.databases.execution import QueryLimits, SafeDatabase
from tasks.databases.reflection import reflect
from tasks.errors import BadInput, BenchloomError
from tasks.files import write_text
from tasks.limits import go_on, lift_limits
from tasks.lines import say_line
from tasks.plugs import tell_error
from tasks.sources.base_importer import BaseImporter, Imported, ImportStep, Project
from tasks.sources.importer import PAGE, Importer, call

TEXTS = ("kind", "title", "licence", "source")
LIMITS = QueryLimits(timeout_s=60, bytes=100_000_000)
"""Limits on each query that counts a database's rows: time in seconds, size of the result in bytes."""


def bring_in(root: Path, importer: BaseImporter, engine: ShardEngine | None = None) -> Imported:
    """Run an importer: write its files and set its parameters. On BadInput, the project is unchanged.

    `engine`: the engine that runs steps; None means the engine in the importer's options.
    """
    with ExitStack() as stack:
        try:
            done = importer.bring_in(open_project(root, stack, engine))
        except (BenchloomError, OSError, ModuleNotFoundError):
            raise  # the command line reports a full disk or a missing extra
        except MemoryError as error:
            what = "needs more memory than its limit"
            raise BadInput(importer.where, what, hint=ADVICE.format("memory_mb")) from error
        except (Exception, SystemExit) as error:
            raise BadInput(importer.where, f"raised {tell_error(error)}") from error
        go_on()
        for path, text in done.files.items():
            write_text(root / path, text)
    if done.settings:
        write_params(root, done.settings)
    return done


def open_project(root: Path, stack: ExitStack, engine: ShardEngine | None = None) -> Project:
    """Return the interface between a project and an importer. params.yaml is read on first use."""
    load = cache(lambda: load_params(root))
    return Project(
        root,
        stack,
        find=lambda key: get_section(load(), key),
        parse=lambda key, model: parse_section(load(), key, model),
        parse_database=lambda name: parse_database(load(), name).resolve_under(root),
        look_at=look_at,
        keep=partial(keep, root),
        work=partial(work, root, engine),
        say=say,
        tell=tell_first,
    )


def look_at(file: Path | None) -> tuple[str, str]:
    """Open a database in the sandbox for untrusted SQL, and return any error and the database's size.

    The error is '' if the database has rows. The size is text such as `3 tables, 1,200 rows`, or '' after an
    error.
    """
    if file is None:
        return "its SQLite file is missing", ""
    entry = DatabaseEntry(name=file.stem, file=file)
    try:
        tables = sorted({column.table for column in reflect(entry)})
        with SafeDatabase(entry, LIMITS) as safe:
            quoted = [table.replace('"', '""') for table in tables]
            counts = [
                safe.query(f'SELECT COUNT(*) FROM "{table}"').rows[0][0]  # noqa: S608 - names are quoted
                for table in quoted
            ]
    except BenchloomError as error:
        return " ".join(str(error).split()), ""
    rows = sum(int(str(count)) for count in counts)
    if not rows:
        return f"has {len(tables)} tables but no rows", ""
    return "", f"{len(tables)} tables, {rows:,} rows"


def keep(root: Path, path: Path) -> None:
    """Back up a hand-written file: move the file to the folder KEPT, and print the new path."""
    kept = name_kept(root / KEPT / path)
    kept.parent.mkdir(parents=True, exist_ok=True)
    (root / path).rename(kept)
    said = kept.relative_to(root).as_posix()
    say_line(f"{path.as_posix()}: the previous {path.parent.name} are kept as {said}")


def work(
    root: Path, given: ShardEngine | None, pieces: Sequence[ImportStep], engine: str, workers: int | None
) -> None:
    """Run import steps as shards on an engine.

    `given`: an open engine; None opens the engine with the name `engine`. This process runs the steps itself
    if there is only one step, or if `engine` is `threads` and `workers` is 1.
    """
    if engine != THREADS:
        # The processes of a cluster would inherit the limits of this process.
        lift_limits()
    with nullcontext(given) if given else open_engine(root, engine, workers, say) as opened:
        if opened is None or len(pieces) < 2:
            for piece in pieces:
                piece.work(*piece.arguments)
            return
        opened.work([Shard(piece.name, piece.work, piece.arguments, piece.part, root) for piece in pieces])


def say(line: str) -> None:
    """Print a line of progress to stderr."""
    say_line(f"benchloom: {line}")


def make_importer(kind: type[BaseImporter], where: str, options: Mapping[str, Any]) -> BaseImporter:
    """Return an importer with its options set. Raises BadInput for a class with missing attributes.

    `where`: the importer's file or package, for error messages.
    """
    if issubclass(kind, Importer):
        check_dataset(kind, where)
    importer = call(where, lambda: kind(**options))
    importer.where = where
    return importer


def check_dataset(kind: type[Importer], where: str) -> None:
    """Raise BadInput for an importer class that lacks the description of its dataset."""
    from tasks.streambench.environments.finding import list_kinds  # only these importers need the flow

    for name in TEXTS:
        if not isinstance(getattr(kind, name, None), str) or not getattr(kind, name):
            raise BadInput(where, f"the class has no string attribute {name!r}", hint=PAGE)
    if not isinstance(getattr(kind, "files", None), tuple) or not kind.files:
        raise BadInput(where, "the class has no attribute `files` with a tuple of file names", hint=PAGE)
    if kind.kind not in (there := list_kinds()):
        raise BadInput(
            where, f"the environment {kind.kind!r} does not exist", hint=f"known: {', '.join(there)}"
        )
