"""Define the base class for importers that convert each record to a row or a line of skipped.jsonl."""

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
"""Maximum number of characters of a skipped text in skipped.jsonl."""


@dataclass(frozen=True)
class ReadRecord:
    """A record after its conversion to a row.

    text: the record's question. name: the published id. counts: maps nouns such as `proofs` to numbers, which
    are added up for the report.
    """

    row: Any
    text: str
    name: str
    counts: Mapping[str, int]


class RecordsImporter(BaseImporter):
    """Imports a file of records as a Parquet file, with about.json and skipped.jsonl in the same folder."""

    folder: ClassVar[Path]
    file: ClassVar[str]
    row: ClassVar[type]
    source: ClassVar[str]
    licence: ClassVar[str]
    attribution: ClassVar[str]
    rows: ClassVar[str]
    """The word for rows in about.json, such as `questions`."""
    records: ClassVar[str]
    """The word for records in the printed report, such as `list questions`."""
    none: ClassVar[str]
    """The message for a file without a usable record, such as `no item of {:,} records`."""
    counted: ClassVar[str]
    """The key in `counts` for the number that the report prints, such as `answers`."""
    then: ClassVar[str]
    """The next step for the user, with `{folder}` and `{file}` as placeholders."""
    in_memory: ClassVar[int] = RUN
    """Maximum number of rows in memory during sorting."""

    path: Path = argument("The published JSON or JSON Lines file, plain or gzipped.", "PATH")
    called: str = "main"

    skipped: SkippedRecords
    read: int
    kinds: Counter[str]
    counts: Counter[str]

    @abstractmethod
    def read_row(self, where: str, record: object) -> ReadRecord | None:
        """Return the row of a record, or None if the record lacks usable content.

        Raises BadRecord if the record is not valid.
        """

    @abstractmethod
    def describe_options(self) -> Mapping[str, object]:
        """Return the options of the import for about.json."""

    def describe_source(self) -> dict[str, str]:
        """Return the source, the licence and the attribution of the file."""
        return {"source": self.source, "licence": self.licence, "attribution": self.attribution}

    def word_more(self) -> list[str]:
        """Return additional lines for the printed report."""
        return []

    def advise(self) -> str:
        """Return the reason why no record could be imported."""
        return name_worst(self.skipped.counts) or "it is empty"

    def bring_in(self, project: Project) -> Imported:
        """Write the records of a file to a folder.

        Raises BadInput, without changing anything, if no record can be imported.
        """
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
    """Writes each skipped part of a file to skipped.jsonl, and counts the parts by reason."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.counts: Counter[str] = Counter()

    def add(self, reason: str, where: str, what: str = "", name: str = "") -> None:
        """Write and count a skipped part of the file. name: the id of the part's record."""
        self.counts[reason] += 1
        record = {"reason": reason, "where": where, "id": name[:100], "what": what[:LONGEST]}
        line = {key: value for key, value in record.items() if value}
        # ASCII, because a skipped text may contain lone surrogates, which the file cannot encode.
        self._file.write(json.dumps(line, ensure_ascii=True) + "\n")
