"""The base class of importers of published records: each record becomes a row or a skipped line."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.spool import RUN, Spool
from tasks.errors import BadInput
from tasks.limits import go_on
from tasks.sources.base_importer import (
    BaseImporter,
    Imported,
    Project,
    argument,
    check_name,
    count_reasons,
    name_worst,
)
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.loose_fields import BadRecord

LONGEST = 300


@dataclass(frozen=True)
class ReadRecord:
    """A record as a row. text, name: its question and its own id; counts: what the row has, by word."""

    row: Any
    text: str
    name: str
    counts: Mapping[str, int]


class RecordsImporter(BaseImporter):
    """Reads a file of records into a Parquet file, with about.json and skipped.jsonl beside it."""

    folder: ClassVar[Path]
    file: ClassVar[str]
    row: ClassVar[type]
    source: ClassVar[str]
    licence: ClassVar[str]
    attribution: ClassVar[str]
    rows: ClassVar[str]
    """What about.json calls the rows: `questions`."""
    records: ClassVar[str]
    """What the records are called in what is printed: `list questions`."""
    none: ClassVar[str]
    """What a file gave of which no record could be taken: `no item of {:,} records`."""
    counted: ClassVar[str]
    """What is counted of the rows: `answers`."""
    then: ClassVar[str]
    """What to do next, with `{folder}` and `{file}`."""
    in_memory: ClassVar[int] = RUN
    """Rows in memory while they are sorted."""

    path: Path = argument("The published JSON or JSON Lines file, plain or gzipped.", "PATH")
    called: str = "main"

    skipped: SkippedRecords
    read: int
    kinds: Counter[str]
    counts: Counter[str]

    @abstractmethod
    def read_row(self, where: str, record: object) -> ReadRecord | None:
        """Read a record; None if too little is left of it. Raises BadRecord if it cannot be used."""

    @abstractmethod
    def describe_options(self) -> Mapping[str, object]:
        """Name in about.json what the import was asked for."""

    def describe_source(self) -> dict[str, str]:
        """Describe where the file comes from, and under which terms."""
        return {"source": self.source, "licence": self.licence, "attribution": self.attribution}

    def word_more(self) -> list[str]:
        """Word what else is known of the rows."""
        return []

    def advise(self) -> str:
        """Say why no record was taken."""
        return name_worst(self.skipped.counts) or "it is empty"

    def bring_in(self, project: Project) -> Imported:
        """Write a file's records to a folder. Raises BadInput, and changes nothing, where none is left."""
        check_name(self.called)
        folder = self.folder / self.called
        lines = project.hold(project.place(folder / "skipped.jsonl").open("w", encoding="utf-8"))
        self.skipped, self.read, self.kinds, self.counts = SkippedRecords(lines), 0, Counter(), Counter()
        rows: Spool[Any] = Spool(self.in_memory)
        known: set[str] = set()
        ended = ""
        for where, record in read_records(self.path):
            if isinstance(record, BrokenRecord):
                self.skipped.add("broken", where, record.why)
                ended = f"{self.path.name}, {where}: {record.why}" if record.ended else ended
                continue
            found = self._read(where, record)
            if found is None:
                continue
            if found.row.id in known:
                self.skipped.add("twice", where, found.text, found.name)
                continue
            known.add(found.row.id)
            go_on()
            rows.add(found.row)
            self.kinds[found.row.kind] += 1
            self.counts.update(found.counts)
        if not rows:
            raise BadInput(self.path, f"contains {self.none.format(self.read)}", hint=self.advise())
        write_rows(project.root / folder / self.file, self.row, rows)
        return Imported(
            self._word(folder),
            {folder / "about.json": json.dumps(self._describe(), indent=2) + "\n"},
            ended=[f"ended early: {ended}"] if ended else [],
        )

    def _read(self, where: str, record: object) -> ReadRecord | None:
        self.read += 1
        try:
            return self.read_row(where, record)
        except BadRecord as error:
            reason, _, what = str(error).partition(": ")
            self.skipped.add(reason, where, what)
            return None

    def _word(self, folder: Path) -> list[str]:
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.kinds.items()))
        kinds = f"{self.kinds.total():,} of {self.read:,} {self.records} ({listed})"
        return [
            f"{kinds}, {self.counts[self.counted]:,} {self.counted}: {(folder / self.file).as_posix()}",
            *self.word_more(),
            *count_reasons(self.skipped.counts, folder.as_posix()),
            "licence: {licence}; {attribution}".format(**self.describe_source()),
            self.then.format(folder=folder.as_posix(), file=self.file),
        ]

    def _describe(self) -> dict[str, object]:
        return {
            "name": self.called,
            **self.describe_source(),
            "read_from": self.path.name,
            **self.describe_options(),
            "counts": {
                "read": self.read,
                self.rows: dict(sorted(self.kinds.items())),
                **self.counts,
                "skipped": dict(sorted(self.skipped.counts.items())),
            },
        }


class SkippedRecords:
    """Writes what a published file has and is not taken, a line each, and counts it by reason."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.counts: Counter[str] = Counter()

    def add(self, reason: str, where: str, what: str = "", name: str = "") -> None:
        """Count and write one thing. name: the record's own id."""
        self.counts[reason] += 1
        record = {"reason": reason, "where": where, "id": name[:100], "what": what[:LONGEST]}
        line = {key: value for key, value in record.items() if value}
        self._file.write(json.dumps(line, ensure_ascii=True) + "\n")
