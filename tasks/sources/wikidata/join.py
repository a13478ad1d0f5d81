"""Join the parts of a dump in order; the result has the same bytes as a single pass over the dump."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tasks.artifacts.rows import schema_of
from tasks.artifacts.sorted_tables import RUN, iterate_tables, merge_files, write_tables
from tasks.limits import go_on
from tasks.sources.wikidata.dump import TWICE, FileProgress, name_files, name_line
from tasks.sources.wikidata.entities import EntitySelection, report_missing
from tasks.sources.wikidata.known_ids import KnownIds
from tasks.sources.wikidata.parts import CLAIMS, ENTITIES, iterate_order, iterate_skipped, load_summary
from tasks.sources.wikidata.report import ReadingReport, SkippedEntity
from tasks.sources.wikidata.rows import ClaimRow, EntityRow
from tasks.sources.wikidata.shards import DumpPart

TABLES: dict[str, type] = {ENTITIES: EntityRow, CLAIMS: ClaimRow}
OWNERS = {ENTITIES: "id", CLAIMS: "entity"}
"""Table name -> the column with the entity's id."""


class PartJoiner:
    """Joins a dump's parts. `folder` contains a subfolder per part, and temporary files during the join."""

    def __init__(self, folder: Path, selection: EntitySelection, report: ReadingReport) -> None:
        self._folder, self._selection, self._report = folder, selection, report
        self._known = KnownIds()
        self._tables: dict[str, list[Path]] = {name: [] for name in TABLES}

    def join(self, parts: Sequence[DumpPart], target: Path) -> tuple[int, int]:
        """Write entities.parquet and claims.parquet; return row counts. Without entities, write nothing."""
        with tempfile.TemporaryDirectory(prefix=".join-", dir=self._folder) as scratch:
            self._read_all(parts, Path(scratch))
            files = list(dict.fromkeys(part.path for part in parts))
            report_missing(self._selection, self._known, name_files(files), self._report)
            self._report.finish()
            claims = merge_files(self._tables[CLAIMS], Path(scratch))
            entities = merge_files(self._tables[ENTITIES], Path(scratch))
            first = next(entities, None)
            if first is None:
                return 0, 0
            count = write_tables(target / CLAIMS, schema_of(ClaimRow), claims)
            tables = add_redirects(_chain(first, entities), self._report.list_redirects())
            return write_tables(target / ENTITIES, schema_of(EntityRow), tables), count

    def _read_all(self, parts: Sequence[DumpPart], scratch: Path) -> None:
        progress, ended = FileProgress(), False
        for number, part in enumerate(parts):
            if part.begin == 0:
                progress, ended = FileProgress(), False
            if not ended:
                ended = self._read_part(part, progress, scratch / f"{number:06d}")
            if number + 1 == len(parts) or parts[number + 1].begin == 0:
                progress.check_end(part.path, self._report)

    def _read_part(self, part: DumpPart, progress: FileProgress, scratch: Path) -> bool:
        """Add a part to the result; return whether the later parts of its file must be skipped.

        Later parts are skipped if this part was read to the end of the file, or if the file is damaged.
        """
        folder, report, before = self._folder / part.key, self._report, progress.lines
        summary = load_summary(folder)
        skipped = iterate_skipped(folder)
        again: list[str] = []
        written = 0
        for name, line, place in iterate_order(folder):
            go_on()
            if self._known.add(name):
                continue
            again.append(name)
            while written < place:
                report.skip(_move(next(skipped), part.path, before))
                written += 1
            where = name_line(part.path, before + line)
            report.skip(SkippedEntity(TWICE, where, name, detail="the first one counts"))
        for record in skipped:
            report.skip(_move(record, part.path, before))
        for record in summary.kept_out:
            moved = _move(record, part.path, before)
            report.keep_out(
                moved.reason, moved.where, moved.entity, moved.property, moved.detail, moved.count
            )
        report.not_asked += summary.not_asked
        report.redirects.update(summary.redirects)
        report.foreign = report.foreign or summary.foreign
        self._add_tables(folder, again, scratch)
        progress.lines += summary.progress.lines
        progress.broken = summary.progress.broken
        if summary.progress.opened is not None:
            progress.opened = summary.progress.opened
        return summary.to_end or progress.broken

    def _add_tables(self, folder: Path, again: Sequence[str], scratch: Path) -> None:
        for name, row in TABLES.items():
            path = folder / name
            if again:
                scratch.mkdir(exist_ok=True)
                path = scratch / name
                tables = _leave_out(iterate_tables(folder / name), OWNERS[name], pa.array(again))
                write_tables(path, schema_of(row), tables, RUN)
            self._tables[name].append(path)


def add_redirects(tables: Iterator[pa.Table], old: Mapping[str, list[str]]) -> Iterator[pa.Table]:
    """Yield the tables with the column `redirects` filled in. `old`: entity id -> ids that redirect to it."""
    for table in tables:
        if old:
            place = table.schema.get_field_index("redirects")
            own = table.schema.field(place)
            column = pa.array([old.get(name, []) for name in table["id"].to_pylist()], own.type)
            table = table.set_column(place, own, column)
        yield table


def _chain(first: pa.Table, others: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from others


def _leave_out(tables: Iterator[pa.Table], column: str, names: pa.Array) -> Iterator[pa.Table]:
    for table in tables:
        kept = table.filter(pc.invert(pc.is_in(table[column], value_set=names)))
        if kept.num_rows:
            yield kept


def _move(skipped: SkippedEntity, path: Path, before: int) -> SkippedEntity:
    """Convert a record's line number within a part to the line number within the file."""
    line = int(skipped.where.rpartition(" ")[2])
    return replace(skipped, where=name_line(path, before + line))
