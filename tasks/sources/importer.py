"""The base class for streambench importers, which read a published file and write a dataset's folder.

A new importer is a subclass with a `name`, in tasks/sources/importers/<name>.py, or an entry point in the
group `benchloom.importers`. This module contains the code that all importers share: sampling, counting and
listing skipped records, and writing the dataset.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from heapq import nsmallest
from pathlib import Path
from typing import ClassVar, TypeVar

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput, BenchloomError
from tasks.limits import go_on
from tasks.plugs import tell_error
from tasks.sources.base_importer import (
    BaseImporter,
    Imported,
    Option,
    Project,
    argument,
    check_name,
    count_reasons,
    name_worst,
    option,
)
from tasks.sources.drawing import draw_evenly
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.releases import open_release
from tasks.sources.stream_dataset import (
    SHOTS,
    DatasetHead,
    DatasetItem,
    DatasetShot,
    LeftOutRecord,
    digest_file,
    tidy,
    write_dataset,
)

FOLDER = Path("data/raw/streambench")
DATA = re.compile(r"\.(json|jsonl|csv)(\.gz|\.bz2)?$", re.IGNORECASE)
MOST_SHOTS = 64
"""Maximum number of few-shot examples in a dataset; each stream selects its examples from these."""
MOST_LISTED = 100_000
"""Maximum number of skipped records that are listed one by one; the list is in memory until it is
written."""
# Maximum number of characters of a skipped record's description in skipped.jsonl.
SHOWN = 300
NO_SHOTS = f"no shots: few_shot has no examples ({SHOTS} is empty); --shots FILE brings some"
PAGE = "see docs/plugs.md"
Taken = TypeVar("Taken", DatasetItem, DatasetShot)
Found = TypeVar("Found")


class Importer(BaseImporter):
    """Reads one published dataset.

    `folder` is the dataset's folder, unpacked if it was an archive; `file` is the data file in that folder.
    """

    kind: ClassVar[str]
    """The environment in which a system answers the dataset's items: `hotpotqa`, `sql`, or one that you
    define."""
    title: ClassVar[str]
    licence: ClassVar[str]
    """The dataset's licence, as an SPDX identifier or as text."""
    source: ClassVar[str]
    """Origin of the dataset: a URL or plain text."""
    files: ClassVar[tuple[str, ...]]
    """Possible names of the data file; the first file that exists in the folder or archive is read."""
    train: ClassVar[tuple[str, ...]] = ()
    """Possible file names of a training split for few-shot examples; `split` returns the first existing file.
    """
    stratum: ClassVar[str] = ""
    """The field of `details` by which a sample is stratified; empty for a sample without strata."""

    path: Path = argument("The published folder, an archive of the folder, or the data file.", "PATH")
    called: str = option("Name of the new folder under data/raw/streambench.", "NAME", "--name")
    take: int | None = option("Number of items to import, sampled with --seed. Default: all.", "N", least=1)
    seed: int = option("Random seed for the sampling.", "N", default=42)
    shots: Path | None = option('Your own few-shot examples: JSON Lines with "text" and "answer".', "FILE")

    folder: Path
    file: Path
    project: Project

    def __init_subclass__(cls) -> None:
        """Use the importer's name as the default name of the dataset's folder."""
        if isinstance(cls.called, Option):
            cls.called = replace(cls.called, default=getattr(cls, "name", ""))

    @abstractmethod
    def read_items(self) -> Iterable[tuple[str, DatasetItem | LeftOutRecord]]:
        """Yield all records, each with its position (`line 3`); an invalid record is a LeftOutRecord.

        This method may be called twice, and must yield the same records each time: sampling needs two passes,
        because the first pass stores only keys in memory.
        """

    def read_shots(self) -> Iterable[tuple[str, DatasetShot | LeftOutRecord]]:
        """Yield few-shot examples, for instance from a training split; by default there are none."""
        return ()

    def list_files(self, items: Sequence[DatasetItem]) -> Mapping[str, Path | bytes]:
        """Return the files that the items need: path in `files/` -> a file to copy, or its content."""
        return {}

    def list_read(self) -> Sequence[Path]:
        """List the files that were read; the dataset stores their checksums."""
        return [self.file, *([self.split] if self.split else [])]

    @cached_property
    def split(self) -> Path | None:
        """Return the file that contains the training split; None if no such file exists."""
        return next((self.folder / name for name in self.train if (self.folder / name).is_file()), None)

    def find_take(self) -> int | None:
        """Return the number of items to sample; None means all."""
        return self.take

    def bring_in(self, project: Project) -> Imported:
        """Write the dataset below data/raw/streambench. Raises BadInput if no item can be imported."""
        check_name(self.called)
        self.project = project
        self.folder, self.file = project.hold(open_published(self.path, self.files))
        sieve = Sieve(self.where)
        take = self.find_take()
        items = self._take_items(take, sieve)
        given = self.read_shots if self.shots is None else partial(read_own_shots, self.shots)
        # A training split can be large; nsmallest keeps only MOST_SHOTS examples in memory.
        shots = nsmallest(
            MOST_SHOTS,
            sieve.sift(given, DatasetShot, "shot"),
            key=lambda shot: (make_id("shot of a split", self.seed, shot.key), shot.key),
        )
        files = self._list_files(items)
        published = [*call(self.where, self.list_read), *([self.shots] if self.shots else [])]
        head = DatasetHead(self.name, self.kind, self.title, self.licence, self.source, self.stratum)
        write_dataset(
            project.root / FOLDER / self.called,
            head,
            items,
            shots,
            files,
            {file.name: digest_file(file) for file in published},
            sieve.lost,
            {"seed": self.seed, "take": take},
        )
        place = (FOLDER / self.called).as_posix()
        counts = f"{len(items):,} items of {sieve.read:,} records, {len(shots):,} shots, {len(files):,} files"
        return Imported(
            [
                f"{counts}: {place}",
                *count_reasons(sieve.skipped, place, len(sieve.lost)),
                *([] if shots else [NO_SHOTS]),
                f"licence: {self.licence}; {self.source}",
                f"next: benchloom add dataset {self.called} {place} "
                "--method zero_shot --method self_stream_icl",
            ],
            ended=[f"a record is broken: {sieve.ended}"] if sieve.ended else [],
        )

    def _take_items(self, take: int | None, sieve: Sieve) -> list[DatasetItem]:
        """Return all items, or a sample of `take` items. Raises BadInput if there are too few items.

        Sampling reads the source twice; the first pass stores only keys and strata.
        """
        pairs: list[tuple[str, str]] = []
        items: list[DatasetItem] = []
        count = 0
        for item in sieve.sift(self.read_items, DatasetItem, "item"):
            count += 1
            if take:
                pairs.append((item.key, str(item.details.get(self.stratum, ""))))
            else:
                items.append(item)
        sieve.read = count + sieve.skipped.total()
        if not count:
            missing = "--databases DIR says where they are" if sieve.skipped["no_database"] else ""
            reasons = name_worst(sieve.skipped) or "it is empty"
            advice = "; ".join(filter(None, (reasons, sieve.first, missing)))
            raise BadInput(self.path, f"none of the {sieve.read:,} records can be imported", hint=advice)
        if not take:
            return items
        if count < take:
            raise BadInput("--take", f"is {take:,}, but the source has {count:,} items")
        drawn = draw_evenly(
            pairs, take, self.seed, lambda pair: pair[0], lambda pair: pair[1] if self.stratum else ""
        )
        wanted = {key for key, _ in drawn}
        for _, record in self.read_items():
            if isinstance(record, DatasetItem) and record.key in wanted:
                wanted.remove(record.key)
                items.append(record)
        return items

    def _list_files(self, items: Sequence[DatasetItem]) -> Mapping[str, Path | bytes]:
        """Return the files of the items. Raises BadInput if a path leads outside the dataset's folder."""
        files = call(self.where, lambda: self.list_files(items))
        for name in files:
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise BadInput(self.where, f"the file {name[:80]!r} would be outside the dataset's folder")
        return files


class Sieve:
    """Filters out invalid records and duplicate keys, and counts the skipped records."""

    def __init__(self, where: str) -> None:
        """Start without records. `where`: the importer's name, for error messages."""
        self._where = where
        self._seen: set[str] = set()
        self.read = 0
        self.skipped: Counter[str] = Counter()
        self.lost: list[dict[str, str]] = []
        self.ended = ""
        """The position of the first broken record, with the reason; empty if no record is broken."""
        self.first = ""
        """The description of the first skipped record."""

    def sift(
        self, read: Callable[[], Iterable[tuple[str, Taken | LeftOutRecord]]], kind: type[Taken], what: str
    ) -> Iterator[Taken]:
        """Yield the valid records. Raises BadInput if the importer fails or yields invalid values.

        `what`: "item" or "shot", for the list of skipped records.
        """
        for place, record in watch(read, kind, self._where):
            if isinstance(record, LeftOutRecord):
                reason, said = record.reason, record.what
                if reason == "broken" and not self.ended:
                    self.ended = f"{place}: {said}"
            elif record.key in self._seen:
                reason, said = "twice", record.key
            else:
                self._seen.add(record.key)
                go_on()
                yield record
                continue
            self.skipped[reason if what == "item" else f"{what}_{reason}"] += 1
            self.first = self.first or said[:SHOWN]
            if len(self.lost) < MOST_LISTED:
                self.lost.append({"of": what, "reason": reason, "where": place, "what": said[:SHOWN]})


def watch(
    read: Callable[[], Iterable[tuple[str, Taken | LeftOutRecord]]], kind: type[Taken], where: str
) -> Iterator[tuple[str, Taken | LeftOutRecord]]:
    """Yield records with positions. Raises BadInput if the importer fails or a value has the wrong type."""
    records = iter(call(where, read))
    number = 0
    while (pair := call(where, lambda: next(records, None), f"after {number:,} records")) is not None:
        number += 1
        place, record = pair if isinstance(pair, tuple) and len(pair) == 2 else ("", None)
        if not isinstance(place, str) or not isinstance(record, kind | LeftOutRecord):
            problem = f"record {number:,} is not a pair of a place and a {kind.__name__}"
            raise BadInput(where, problem, hint=PAGE)
        if isinstance(record, kind) and (lack := find_lack(record)):
            raise BadInput(
                where,
                f"{place}: the field {lack!r} of the {kind.__name__} is empty or not text",
                hint="yield a LeftOutRecord instead",
            )
        yield place, record


def find_lack(record: DatasetItem | DatasetShot) -> str:
    """Return the name of the first required field that is empty or not text; "" if all fields are valid."""
    needed = ("key", "text", "memory_key", "gold" if isinstance(record, DatasetItem) else "answer")
    values = ((name, getattr(record, name)) for name in needed)
    return next((name for name, value in values if not isinstance(value, str) or not value), "")


def call(where: str, work: Callable[[], Found], when: str = "") -> Found:
    """Call an importer's code, and return its result. Errors other than BenchloomError become BadInput."""
    try:
        return work()
    except (BenchloomError, MemoryError):
        raise
    # An importer that calls sys.exit must not end the command without an error message.
    except (Exception, SystemExit) as error:
        said = f"raised {tell_error(error)}"
        raise BadInput(where, f"{said} {when}".strip(), hint="nothing was imported") from error


def read_own_shots(path: Path) -> Iterator[tuple[str, DatasetShot | LeftOutRecord]]:
    """Yield examples from JSON Lines with `text`, `answer` and optionally `memory_key`."""
    for number, (place, record) in enumerate(read_records(path)):
        if isinstance(record, BrokenRecord):
            yield place, LeftOutRecord("broken", record.why)
            continue
        fields = record if isinstance(record, Mapping) else {}
        text, answer = tidy(fields.get("text")), tidy(fields.get("answer"))
        if not text or not answer:
            yield place, LeftOutRecord("incomplete", f"no {'answer' if text else 'text'}")
        else:
            key = tidy(fields.get("memory_key")) or text
            yield place, DatasetShot(f"{path.stem}-{number}", text, key, answer)


@contextmanager
def open_published(path: Path, names: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Yield a dataset's folder and its data file.

    The data file is `path`, or the first name in `names` that exists in the folder or archive `path`.

    Raises BadInput if a path is neither a data file, nor a folder or archive that contains one of the files.
    """
    if path.is_file() and DATA.search(path.name):
        yield path.parent, path
        return
    with open_release(path, *names) as folder:
        yield folder, next(folder / name for name in names if (folder / name).is_file())
