"""Read a part of a dump into a separate folder: entities, skipped records, and the position reached."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tasks.artifacts.part_folders import write_folder_beside
from tasks.artifacts.sorted_tables import SortedWriter
from tasks.limits import go_on
from tasks.sources.wikidata.dump import MOST_BYTES, TWICE, FileProgress, name_line, read_records
from tasks.sources.wikidata.entities import EntitySelection
from tasks.sources.wikidata.known_ids import KnownIds
from tasks.sources.wikidata.report import ReadingReport, SkippedEntity
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, make_claim_row, make_entity_row
from tasks.sources.wikidata.shards import DumpPart, open_part
from tasks.sources.wikidata.wikibase_json import read_entity

ENTITIES, CLAIMS, ORDER, SKIPPED, SUMMARY = (
    "entities.parquet", "claims.parquet", "order.txt", "skipped.jsonl", "summary.json",
)  # fmt: skip


@dataclass(frozen=True)
class PartSummary:
    """The results of a part except its rows. `kept_out`: the result of `ReadingReport.list_kept_out`.

    `to_end`: whether the part was read to the end of its file. This is so if a bzip2 stream was damaged or
    did not end at the expected position.
    """

    entities: int
    claims: int
    not_asked: int
    to_end: bool
    progress: FileProgress
    redirects: dict[str, str] = field(default_factory=dict)
    kept_out: list[SkippedEntity] = field(default_factory=list)
    foreign: str = ""
    """The same as `ReadingReport.foreign`."""


def read_part(part: DumpPart, selection: EntitySelection, folder: Path, most: int = MOST_BYTES) -> None:
    """Read a part into the subfolder `part.key`, which is created atomically.

    Raises BadInput if the part is a whole file that cannot be read or is not a dump.
    """
    with write_folder_beside(folder / part.key) as draft:
        if not _read(part, selection, draft, most):
            # Read to the end of the file instead, like a serial reader: the data that follows belongs to the
            # same stream or is unreadable.
            shutil.rmtree(draft)
            draft.mkdir()
            _read(replace(part, end=None), selection, draft, most, to_end=True)


def _read(
    part: DumpPart, selection: EntitySelection, folder: Path, most: int, *, to_end: bool = False
) -> bool:
    """Read a part; return False if its data is damaged or does not end at `part.end`.

    If `part.end` is None, the result is always True.
    """
    known, progress, skipped = KnownIds(), FileProgress(), 0
    with (
        (folder / SKIPPED).open("w", encoding="utf-8") as skips,
        (folder / ORDER).open("w", encoding="utf-8") as order,
        SortedWriter(EntityRow, folder) as entities,
        SortedWriter(ClaimRow, folder) as claims,
        open_part(part) as (stream, streams),
    ):

        def write(line: str) -> None:
            nonlocal skipped
            skipped += 1
            print(line, file=skips)

        report = ReadingReport(write)
        for number, record in read_records(
            stream, part.path, selection, report, progress, most, begins=part.begin == 0
        ):
            where = name_line(part.path, number)
            entity = read_entity(record, selection, report, where)
            if entity is None:
                continue
            if not known.add(entity.id):
                report.skip(SkippedEntity(TWICE, where, entity.id, detail="the first one counts"))
                continue
            go_on()
            print(f"{entity.id} {number} {skipped}", file=order)
            entities.add(make_entity_row(entity, {}))
            for claim in entity.claims:
                claims.add(make_claim_row(entity.id, claim))
        if part.end is not None and (progress.broken or (streams is not None and streams.early)):
            return False
        entities.finish(folder / ENTITIES)
        claims.finish(folder / CLAIMS)
    summary = PartSummary(
        entities.count, claims.count, report.not_asked, to_end, progress, report.redirects,
        report.list_kept_out(), report.foreign,
    )  # fmt: skip
    (folder / SUMMARY).write_text(json.dumps(asdict(summary)), encoding="utf-8")
    return True


def load_summary(folder: Path) -> PartSummary:
    """Load the summary of a finished part."""
    record = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    record["progress"] = FileProgress(**record["progress"])
    record["kept_out"] = [SkippedEntity(**skipped) for skipped in record["kept_out"]]
    return PartSummary(**record)


def iterate_skipped(folder: Path) -> Iterator[SkippedEntity]:
    """Yield a part's skipped entities and statements, in file order."""
    with (folder / SKIPPED).open(encoding="utf-8") as file:
        for line in file:
            yield SkippedEntity(**json.loads(line))


def iterate_order(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield (id, line, number of skipped records before the entity) for a part's entities, in file order."""
    with (folder / ORDER).open(encoding="utf-8") as file:
        for line in file:
            name, number, skipped = line.split()
            yield name, int(number), int(skipped)
