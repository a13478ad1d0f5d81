"""`benchloom import NAME` by an importer of one's own: a file of the project, or an installed package's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from flows.stream_import import (
    ImportChoice,
    ImportedStream,
    StreamSource,
    check_stream_name,
    import_stream,
    open_published,
)
from tasks.errors import BadInput, BenchloomError
from tasks.plugged_classes import PluggedClasses
from tasks.plugs import tell_error
from tasks.sources import importers
from tasks.sources.importer import Importer
from tasks.sources.stream_dataset import DatasetHead, DatasetItem, DatasetShot, LeftOutRecord
from tasks.streambench.environments.finding import list_kinds

CLASSES: PluggedClasses[Importer] = PluggedClasses(
    Importer, "importers", importers.__name__, "importer", "docs/plugs.md"
)
TEXTS = ("kind", "title", "licence", "source")
Record = TypeVar("Record", DatasetItem, DatasetShot)
Found = TypeVar("Found")


def import_own(root: Path, name: str, path: Path, choice: ImportChoice) -> tuple[ImportedStream, DatasetHead]:
    """Write what an importer reads to data/raw/streambench/<choice.name>; say what was done.

    Raises BadInput, with nothing changed, where the importer is none, raises, or gives what is no item.
    """
    check_stream_name(choice.name)
    plug = CLASSES.choose(name, Path(importers.__path__[0]))
    kind = CLASSES.load(name, plug)
    place = str(plug or f"importer {name}")
    head = make_head(kind, name, place)
    with open_published(path, kind.files) as (folder, file):
        own = call(place, lambda: kind(folder, file))
        source = StreamSource(
            head,
            lambda: watch(own.read_items, DatasetItem, place),
            call(place, own.list_read),
            lambda: watch(own.read_shots, DatasetShot, place),
            lambda items: list_files(own, items, place),
        )
        return import_stream(root, path, source, choice), head


def make_head(kind: type[Importer], name: str, place: str) -> DatasetHead:
    """Make what dataset.json says, of the class's fields. Raises BadInput for one that is no text."""
    for field in TEXTS:
        if not isinstance(getattr(kind, field, None), str) or not getattr(kind, field):
            raise BadInput(place, f"its class has no text {field!r}", hint="see docs/plugs.md")
    if not isinstance(kind.files, tuple) or not kind.files:
        raise BadInput(place, "its class has no tuple `files` of file names", hint="see docs/plugs.md")
    if kind.kind not in (there := list_kinds()):
        raise BadInput(place, f"no environment {kind.kind!r}", hint=f"there are {', '.join(there)}")
    return DatasetHead(name, kind.kind, kind.title, kind.licence, kind.source, kind.stratum)


def watch(
    read: Callable[[], Iterable[tuple[str, Record | LeftOutRecord]]], kind: type[Record], place: str
) -> Iterator[tuple[str, Record | LeftOutRecord]]:
    """Yield what an importer reads. Raises BadInput for what it raises, and for what is no record."""
    records = iter(call(place, read))
    number = 0
    while True:
        pair = call(place, lambda: next(records, None), f"after {number:,} records")
        if pair is None:
            return
        number += 1
        where, record = pair if isinstance(pair, tuple) and len(pair) == 2 else ("", None)
        if not isinstance(where, str) or not isinstance(record, kind | LeftOutRecord):
            problem = f"its record {number:,} is no pair of a place and a {kind.__name__}"
            raise BadInput(place, problem, hint="see docs/plugs.md")
        if isinstance(record, kind) and (lack := find_lack(record)):
            raise BadInput(
                place, f"{where}: its {kind.__name__} has no text {lack!r}", hint="a LeftOutRecord"
            )
        yield where, record


def find_lack(record: DatasetItem | DatasetShot) -> str:
    """Find the first field of a record that must hold text and does not; nothing where all do."""
    needed = ("key", "text", "memory_key", "gold" if isinstance(record, DatasetItem) else "answer")
    return next(
        (name for name in needed if not isinstance(getattr(record, name), str) or not getattr(record, name)),
        "",
    )


def list_files(own: Importer, items: Sequence[DatasetItem], place: str) -> Mapping[str, Path | bytes]:
    """List the files of items. Raises BadInput for a name that leads out of the dataset's folder."""
    files = call(place, lambda: own.list_files(items))
    for name in files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise BadInput(place, f"its file {name[:80]!r} would lie outside of the dataset")
    return files


def call(place: str, work: Callable[[], Found], when: str = "") -> Found:
    """Call an importer's code. Raises BadInput for whatever it raises that is no error of ours."""
    try:
        return work()
    except BenchloomError:
        raise
    except Exception as error:
        said = f"raised {tell_error(error)}"
        raise BadInput(place, f"{said} {when}".strip(), hint="nothing was imported") from error
