"""What the importers of StreamBench's datasets share: draw, count what is skipped, write the folder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import TypeVar

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.sources.drawing import draw_evenly
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.releases import open_release
from tasks.sources.stream_dataset import (
    ITEMS,
    SHOTS,
    SKIPPED,
    DatasetHead,
    DatasetItem,
    DatasetShot,
    LeftOutRecord,
    digest_file,
    tidy,
    write_dataset,
)

FOLDER = Path("data/raw/streambench")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")
DATA = re.compile(r"\.(json|jsonl|csv)(\.gz|\.bz2)?$", re.IGNORECASE)
MOST_SHOTS = 64
"""Examples that are kept of a split; a stream draws its own from these."""
SHOWN = 300
Taken = TypeVar("Taken", DatasetItem, DatasetShot)


@dataclass(frozen=True)
class StreamSource:
    """A published dataset as it is read. open_items, open_shots: read anew at each call; None: no shots.

    files: what goes below `files/` for the items that are taken. published: the files that were read.
    """

    head: DatasetHead
    open_items: Callable[[], Iterable[tuple[str, DatasetItem | LeftOutRecord]]]
    published: Sequence[Path]
    open_shots: Callable[[], Iterable[tuple[str, DatasetShot | LeftOutRecord]]] | None = None
    files: Callable[[Sequence[DatasetItem]], Mapping[str, Path | bytes]] = lambda taken: {}


@dataclass(frozen=True)
class ImportChoice:
    """What an import is asked for. take: so many items (None: all), drawn by seed; shots: a file of them."""

    name: str
    take: int | None = None
    seed: int = 42
    shots: Path | None = None


@dataclass
class ImportedStream:
    """What an import did. skipped: by reason; ended: where a file ended early."""

    folder: Path
    read: int = 0
    items: int = 0
    shots: int = 0
    files: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    ended: str = ""
    first: str = ""
    """What was wrong with the first that was skipped."""


def import_stream(root: Path, path: Path, source: StreamSource, choice: ImportChoice) -> ImportedStream:
    """Write a dataset to data/raw/streambench/NAME. Raises BadInput, with nothing changed, for no item."""
    done = ImportedStream(FOLDER / choice.name)
    lost: list[dict[str, str]] = []
    seen: set[str] = set()
    items = _take_items(path, source, choice, _sift(source.open_items(), "item", lost, seen, done), done)
    given = read_shots(choice.shots) if choice.shots else source.open_shots() if source.open_shots else ()
    shots = nsmallest(
        MOST_SHOTS,
        _sift(given, "shot", lost, seen, done),
        key=lambda shot: (make_id("shot of a split", choice.seed, shot.key), shot.key),
    )
    files = source.files(items)
    published = [*source.published, *([choice.shots] if choice.shots else [])]
    write_dataset(
        root / done.folder,
        source.head,
        items,
        shots,
        files,
        {file.name: digest_file(file) for file in published},
        lost,
        {"seed": choice.seed, "take": choice.take or None},
    )
    done.items, done.shots, done.files = len(items), len(shots), len(files)
    return done


def _take_items(
    path: Path, source: StreamSource, choice: ImportChoice, sound: Iterator[DatasetItem], done: ImportedStream
) -> list[DatasetItem]:
    """Take all items in their order, or draw: then the source is read twice, and only keys are held."""
    stratum = source.head.stratum
    pairs: list[tuple[str, str]] = []
    items: list[DatasetItem] = []
    for item in sound:
        done.items += 1
        if choice.take:
            pairs.append((item.key, str(item.details.get(stratum, ""))))
        else:
            items.append(item)
    done.read = done.items + done.skipped.total()
    if not done.items:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in done.skipped.most_common(3))
        missing = "--databases DIR says where they are" if done.skipped["no_database"] else ""
        advice = "; ".join(filter(None, (reasons or "it is empty", done.first, missing)))
        raise BadInput(path, f"gave no item of {done.read:,}", hint=advice)
    if not choice.take:
        return items
    if done.items < choice.take:
        raise BadInput("--take", f"asks for {choice.take:,} items, and there are {done.items:,}")
    drawn = draw_evenly(
        pairs, choice.take, choice.seed, lambda pair: pair[0], lambda pair: pair[1] if stratum else ""
    )
    wanted = {key for key, _ in drawn}
    for _, record in source.open_items():
        if isinstance(record, DatasetItem) and record.key in wanted:
            wanted.remove(record.key)
            items.append(record)
    return items


def _sift(
    records: Iterable[tuple[str, Taken | LeftOutRecord]],
    what: str,
    lost: list[dict[str, str]],
    seen: set[str],
    done: ImportedStream,
) -> Iterator[Taken]:
    """Yield what can be taken, each key once; write down the rest."""
    for where, record in records:
        if isinstance(record, LeftOutRecord):
            reason, said = record.reason, record.what
            done.ended = f"{where}: {said}" if reason == "broken" and not done.ended else done.ended
        elif record.key in seen:
            reason, said = "twice", record.key
        else:
            seen.add(record.key)
            yield record
            continue
        done.skipped[reason if what == "item" else f"{what}_{reason}"] += 1
        done.first = done.first or said[:SHOWN]
        lost.append({"of": what, "reason": reason, "where": where, "what": said[:SHOWN]})


def read_shots(path: Path) -> Iterator[tuple[str, DatasetShot | LeftOutRecord]]:
    """Read examples of one's own: JSON Lines with `text` and `answer`, and `memory_key` if it is another."""
    for number, (where, record) in enumerate(read_records(path)):
        if isinstance(record, BrokenRecord):
            yield where, LeftOutRecord("broken", record.why)
            continue
        own = record if isinstance(record, Mapping) else {}
        text, answer = tidy(own.get("text")), tidy(own.get("answer"))
        if not text or not answer:
            yield where, LeftOutRecord("incomplete", f"no {'answer' if text else 'text'}")
        else:
            yield (
                where,
                DatasetShot(f"{path.stem}-{number}", text, tidy(own.get("memory_key")) or text, answer),
            )


@contextmanager
def open_published(path: Path, names: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Give the folder of a dataset and the first file of these names in it; a data file may be named itself.

    Raises BadInput for a path that is neither such a file, nor a folder or archive with one.
    """
    if path.is_file() and DATA.search(path.name):
        yield path.parent, path
        return
    with open_release(path, *names) as folder:
        yield folder, next(folder / name for name in names if (folder / name).is_file())


def check_stream_name(name: str) -> None:
    """Raise BadInput for a name that a dataset's folder may not have."""
    if not NAME.fullmatch(name):
        raise BadInput("--name", f"{name[:80]!r} is no name", hint="lower-case letters, digits, - and _")


def say_stream(done: ImportedStream, head: DatasetHead) -> list[str]:
    """Say what an import did, a line each."""
    place = done.folder.as_posix()
    lines = [
        f"{done.items:,} items of {done.read:,} records, {done.shots:,} shots, {done.files:,} files: {place}",
    ]
    lines += [f"skipped: {reason}: {count:,}" for reason, count in sorted(done.skipped.items())]
    if done.skipped:
        lines.append(f"each of these is a line of {place}/{SKIPPED}")
    if not done.shots:
        lines.append(f"no shots: few_shot has no examples ({SHOTS} is empty); --shots FILE brings some")
    lines.append(f"licence: {head.licence}; {head.source}")
    name = done.folder.name
    return [
        *lines,
        f"now: streambench.streams.NAME: {{datasets: [{name}]}} ({place}/{ITEMS}), then benchloom graph",
    ]
