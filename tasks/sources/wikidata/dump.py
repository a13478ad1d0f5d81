"""Read Wikidata's JSON dumps: an array with one entity per line, in one file or several, plain or compressed.

JSON Lines and saved responses of Special:EntityData or the API, with one or more entities, are also
supported.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

from tasks.errors import BadInput
from tasks.sources.streams import BROKEN, TooLong, is_packed, open_packed, read_line
from tasks.sources.wikidata.entities import Entity, EntitySelection, report_missing
from tasks.sources.wikidata.known_ids import KnownIds
from tasks.sources.wikidata.report import ReadingReport, SkippedEntity
from tasks.sources.wikidata.wikibase_json import read_entity

MOST_BYTES = 16 * 2**20
"""Maximum size of a line in bytes; Wikidata's largest entities are less than half this size."""
BROKEN_LINE, LONG_LINE, TWICE = "broken line", "line too long", "entity twice"
CUT_OFF, NO_END = "archive cut off or damaged", "array without its end"
HEAD = re.compile(rb'\{"type": ?"item", ?"id": ?"(Q\d+)"')
"""Matches the start of an item's line in a dump."""
FOREIGN = re.compile(
    rb'"(?:unit|globe)"\s*:\s*"https?:(?:\\?/){2}(?!(?:www\.)?wikidata\.org[/\\])([^/"\\]+)(?:\\?/)entity\b'
)
"""Matches the URL of another Wikibase's unit or globe; calendars always have Wikidata's URLs."""
SOME = b'"somevalue"'
OPEN_CLASS = re.compile(rb'"somevalue"\s*,\s*"property"\s*:\s*"P31"|"P31"\s*,\s*"snaktype"\s*:\s*"somevalue"')
"""Matches a class statement (P31) whose value is unknown."""
BOM = b"\xef\xbb\xbf"
JSON_BEGINS = (b"", b"[", b"{", b" ", b"\n", b"\r", b"\t")


class DumpSource:
    """Reads the entities in a dump's files, one file after another.

    If the start of a line shows that its item is not selected, the item is counted, but not parsed.
    """

    def __init__(self, paths: Sequence[Path], most_bytes: int = MOST_BYTES) -> None:
        self.paths, self._most = paths, most_bytes

    def read(self, selection: EntitySelection, report: ReadingReport) -> Iterator[Entity]:
        """Yield the selected entities in the dump's order; see `EntitySource.read`."""
        known = KnownIds()
        for path in self.paths:
            for where, record in self._read_file(path, selection, report):
                entity = read_entity(record, selection, report, where)
                if entity is None:
                    continue
                if known.add(entity.id):
                    yield entity
                else:
                    report.skip(SkippedEntity(TWICE, where, entity.id, detail="the first one counts"))
        report_missing(selection, known, name_files(self.paths), report)

    def _read_file(
        self, path: Path, selection: EntitySelection, report: ReadingReport
    ) -> Iterator[tuple[str, object]]:
        progress = FileProgress()
        with open_dump(path) as stream:
            for number, record in read_records(stream, path, selection, report, progress, self._most):
                yield name_line(path, number), record
        progress.check_end(path, report)


@dataclass
class FileProgress:
    """The progress of reading a file or a part of a file.

    - `lines`: the number of lines read.
    - `opened`: whether the JSON array is still open; None if no line with `[` or `]` was read.
    - `broken`: whether the file ended early because it is damaged.
    """

    lines: int = 0
    opened: bool | None = None
    broken: bool = False

    def check_end(self, path: Path, report: ReadingReport) -> None:
        """Report an array that was opened but not closed at the end of the file."""
        if self.opened and not self.broken:
            where = name_line(path, self.lines + 1)
            report.skip(SkippedEntity(NO_END, where, detail="the file may be cut off"))


def name_files(paths: Sequence[Path]) -> str:
    """Return the file names of a dump for the report."""
    return ", ".join(path.name for path in paths)


def name_line(path: Path, number: int) -> str:
    """Return the name of a line for the report, such as `dump.json, line 3`."""
    return f"{path.name if path.is_absolute() else path.as_posix()}, line {number}"


def read_records(
    stream: IO[bytes],
    path: Path,
    selection: EntitySelection,
    report: ReadingReport,
    progress: FileProgress,
    most: int = MOST_BYTES,
    *,
    begins: bool = True,
) -> Iterator[tuple[int, object]]:
    """Yield (line number, record) for each record that may be selected.

    `path`: the file that `report` names. `begins`: whether the stream starts at the beginning of this file.
    """
    passes = _Filter(selection)
    while True:
        number = progress.lines + 1
        first = begins and number == 1
        where = name_line(path, number)
        try:
            line = read_line(stream, most)
            if first and line.strip() == b"{":
                line += _read_rest(stream, len(line), most)
        except TooLong as error:
            report.skip(SkippedEntity(LONG_LINE, where, detail=str(error)))
            progress.lines = number
            continue
        except BROKEN as error:
            report.skip(SkippedEntity(CUT_OFF, where, detail=" ".join(str(error).split())))
            progress.broken = True
            return
        if not line:
            return
        progress.lines = number
        text = line.removeprefix(BOM).strip() if first else line.strip()
        if text in (b"[", b"]"):
            progress.opened = text == b"["
        elif text and passes.may_be_wanted(text):
            if not report.foreign and (found := FOREIGN.search(text)):
                report.foreign = found[1].decode("utf-8", "replace")[:100]
            try:
                records = decode(text)
            except orjson.JSONDecodeError as error:
                report.skip(SkippedEntity(BROKEN_LINE, where, detail=f"{error}; {len(text):,} bytes"))
                continue
            for record in records:
                yield number, record
        elif text:
            report.not_asked += 1


def _read_rest(stream: IO[bytes], size: int, most: int) -> bytes:
    """Read the rest of a JSON document whose first line is `{`.

    Raises TooLong if the document is too large.
    """
    rest = stream.read(most - size + 1)
    if size + len(rest) <= most:
        return rest
    size += len(rest)
    while block := stream.read(most):
        size += len(block)
    raise TooLong(f"has {size:,} bytes; at most {most:,} are allowed")


class _Filter:
    """Checks whether the item in a line may be selected, without parsing the line."""

    def __init__(self, selection: EntitySelection) -> None:
        self._all = selection.takes_all_items()
        self._entities = {name.encode() for name in selection.entities or ()}
        # A line contains the item's class as "Q5"; dumps of the first years have only the number.
        self._classes = [f'"{name}"'.encode() for name in sorted(selection.classes)]
        numbers = "|".join(name[1:] for name in sorted(selection.classes))
        self._numbers = re.compile(rf'"numeric-id"\s*:\s*(?:{numbers})\b'.encode())

    def may_be_wanted(self, line: bytes) -> bool:
        if self._all:
            return True
        head = HEAD.match(line)
        if head is None or head[1] in self._entities:
            return True
        if any(name in line for name in self._classes):
            return True
        if not self._classes:
            return False
        # An item of unknown class may be an instance of a selected class.
        return self._numbers.search(line) is not None or (
            SOME in line and OPEN_CLASS.search(line) is not None
        )


@contextmanager
def open_dump(path: Path) -> Iterator[io.BufferedReader]:
    """Open a dump's file, compressed or not. Raises BadInput if the file is neither compressed nor JSON."""
    with open_packed(path) as stream:
        if not is_packed(stream):
            begin = stream.peek(len(BOM))[: len(BOM)]
            if begin != BOM and begin[:1] not in JSON_BEGINS:
                raise BadInput(path, "is not a dump", hint="give a .json, .json.gz or .json.bz2 file")
        yield stream


def decode(text: bytes) -> list[object]:
    """Parse a line, or a document with several entities, into records.

    Raises orjson.JSONDecodeError if the text is not valid JSON.
    """
    # In the array of a dump, a comma follows each entity.
    record = orjson.loads(text.removesuffix(b","))
    if isinstance(record, list):
        return record
    if isinstance(record, dict) and "id" not in record and isinstance(record.get("entities"), dict):
        return list(record["entities"].values())
    return [record]
