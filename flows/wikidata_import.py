"""`benchloom import wikidata`: entities and claims of a dump, a server or a table become Parquet files."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import portalocker

from flows.run.shards import ShardEngine
from flows.wikidata_shards import import_shards
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.spool import Spool
from tasks.errors import BadInput, LockHeld
from tasks.files import write_beside, write_text
from tasks.sources.web import WebServer
from tasks.sources.wikidata.api import ApiSource
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import Entity, EntitySelection, EntitySource
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, make_claim_row, make_entity_row
from tasks.sources.wikidata.sparql import SparqlSource
from tasks.sources.wikidata.table import PropertyColumn, TableSource, is_database

FOLDER = Path("data/raw/wikidata")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,60}")
LICENCE, SOURCE = "CC0-1.0", "https://www.wikidata.org"
ATTRIBUTION = (
    "Wikidata, the Wikidata contributors (structured data under CC0 1.0; credit is asked, not required)"
)
WIKIS = {
    "be-tarask": "be_x_old",
    "gsw": "als",
    "lzh": "zh_classical",
    "nan": "zh_min_nan",
    "nb": "no",
    "rup": "roa_rup",
    "sgs": "bat_smg",
    "vro": "fiu_vro",
    "yue": "zh_yue",
}
"""Languages whose Wikipedias' databases are not named by their codes."""
IN_MEMORY = 4_096
"""Number of rows of entities in memory while they are sorted: they may be large, those of claims are not."""


@dataclass(frozen=True)
class _Counts:
    entities: int
    claims: int
    report: ReadingReport

    def as_record(self) -> dict[str, object]:
        report = self.report
        return {
            "entities": self.entities,
            "claims": self.claims,
            "not_asked_for": report.not_asked,
            "redirects": len(report.redirects),
            "skipped": dict(sorted(report.counts.items())),
        }


def make_selection(
    entities: Sequence[str] | None,
    classes: Sequence[str] | None,
    properties: Sequence[str] | None,
    languages: Sequence[str] | None,
) -> EntitySelection:
    """Make a selection of what was said; what was not said is not filtered, but for languages (English).

    Raises BadInput for what is no id.
    """
    codes = frozenset(languages or ("en",))
    every = "all" in codes
    return EntitySelection(
        entities=frozenset(entities) if entities else None,
        classes=frozenset(classes or ()),
        properties=frozenset(properties) if properties else None,
        languages=None if every else codes,
        sites=None
        if every
        else frozenset(f"{WIKIS.get(code, code).replace('-', '_')}wiki" for code in codes),
    )


def import_wikidata(
    root: Path,
    places: Sequence[str],
    name: str,
    selection: EntitySelection,
    *,
    columns: Sequence[PropertyColumn] = (),
    contact: str = "",
    engine: ShardEngine | None = None,
) -> list[str]:
    """Bring entities into data/raw/wikidata/NAME of a project; return what was done, a line each.

    places: files of a dump, or one address of an API (.../api.php) or SPARQL endpoint (.../sparql), or one
    SQLite database. engine: what reads the parts of a dump; without one, this process does.
    Writes entities.parquet, claims.parquet, skipped.jsonl and about.json, which replace what
    was there; nothing is replaced where it ends early. Raises BadInput, DatabaseGone, LockHeld.
    """
    if not NAME.fullmatch(name):
        raise BadInput("--name", f"{name!r:.40} is no name", hint="lower-case letters, digits, - and _")
    folder = root / FOLDER / name
    source = open_source(places, folder, columns, contact)
    with hold_folder(folder):
        with ExitStack() as stack:
            skipped = stack.enter_context(write_beside(folder / "skipped.jsonl"))
            file = stack.enter_context(skipped.open("w", encoding="utf-8"))
            report = ReadingReport(lambda line: print(line, file=file))
            if isinstance(source, DumpSource):
                found = import_shards(
                    source.paths,
                    selection,
                    folder,
                    report,
                    root=root,
                    engine=engine,
                    say_progress=say_progress,
                )
                counts = _Counts(*found, report)
            else:
                counts = write_all(folder, source.read(selection, report), report)
            if not counts.entities:
                raise refuse_nothing(", ".join(places), report)
        about = {
            "name": name,
            "source": SOURCE,
            "licence": LICENCE,
            "attribution": ATTRIBUTION,
            "read_from": [Path(place).name if "://" not in place else place for place in places],
            "counts": counts.as_record(),
        }
        write_text(folder / "about.json", json.dumps(about, ensure_ascii=False, indent=2) + "\n")
    return describe(name, counts)


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep a folder to this import until the block ends. Raises LockHeld where another one has it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with portalocker.Lock(folder.with_name(f".{folder.name}.lock"), fail_when_locked=True):
            yield
    except portalocker.AlreadyLocked as error:
        raise LockHeld(
            f"--name {folder.name}: another import is writing it; wait for its end, or take another name"
        ) from error


def open_source(
    places: Sequence[str], folder: Path, columns: Sequence[PropertyColumn], contact: str
) -> EntitySource:
    """Choose how to read: by the end of an address, or by what a file begins with. Raises BadInput."""
    first = places[0]
    alone = len(places) == 1
    if "://" in first and alone and first.endswith("/api.php"):
        return ApiSource(WebServer(first, contact), folder / "answers")
    if "://" in first and alone and first.endswith("/sparql"):
        return SparqlSource(WebServer(first, contact), folder / "answers")
    if any("://" in place for place in places):
        raise BadInput(first, "is no address that can be read", hint="one alone, .../w/api.php or .../sparql")
    databases = [place for place in places if is_database(Path(place))]
    if databases and alone:
        return TableSource(Path(first), columns)
    if databases:
        raise BadInput(databases[0], "is a database", hint="one at a time, and no dump beside it")
    if columns:
        raise BadInput("--column", "is for a table of a database", hint="of a dump, --property P577")
    return DumpSource([Path(place) for place in places])


def say_progress(line: str) -> None:
    """Say what a person who waits should know."""
    print(f"benchloom: {line}", file=sys.stderr)


def refuse_nothing(where: str, report: ReadingReport) -> BadInput:
    """Make the error for a source in which nothing was found."""
    read = f"; {report.not_asked:,} others were read" if report.not_asked else ""
    worst = "; ".join(f"{reason}: {count:,}" for reason, count in report.counts.most_common(3))
    return BadInput(where, f"holds no entity that is asked for{read}", hint=worst)


def write_all(folder: Path, entities: Iterable[Entity], report: ReadingReport) -> _Counts:
    """Write both Parquet files unless nothing at all was read, and end the report."""
    found: Spool[EntityRow] = Spool(IN_MEMORY)
    claims: Spool[ClaimRow] = Spool()
    for entity in entities:
        found.add(make_entity_row(entity, {}))
        for claim in entity.claims:
            claims.add(make_claim_row(entity.id, claim))
    report.finish()
    if not found:
        return _Counts(0, 0, report)
    old: defaultdict[str, list[str]] = defaultdict(list)
    for name, target in sorted(report.redirects.items()):
        old[target].append(name)
    write_rows(folder / "claims.parquet", ClaimRow, claims)
    if old:
        renamed: Spool[EntityRow] = Spool(IN_MEMORY)
        for row in _with_redirects(found, old):
            renamed.add(row)
        found = renamed
    write_rows(folder / "entities.parquet", EntityRow, found)
    return _Counts(len(found), len(claims), report)


def _with_redirects(rows: Iterable[EntityRow], old: dict[str, list[str]]) -> Iterator[EntityRow]:
    for row in rows:
        yield EntityRow(**{**row.__dict__, "redirects": tuple(old.get(row.id, ()))})


def describe(name: str, counts: _Counts) -> list[str]:
    """Say what was read, what was not, and whose it is."""
    report = counts.report
    place = (FOLDER / name).as_posix()
    lines = [f"{name}: {counts.entities:,} entities, {counts.claims:,} claims ({place})"]
    if report.not_asked:
        lines.append(f"not asked for: {report.not_asked:,} entities")
    if report.redirects:
        lines.append(f"redirects followed: {len(report.redirects):,}")
    lines += [f"skipped: {reason}: {count:,}" for reason, count in sorted(report.counts.items())]
    if report.counts:
        lines.append(f"each of these is a line of {place}/skipped.jsonl, values by property")
    return [*lines, f"licence: {LICENCE}; {ATTRIBUTION}"]
