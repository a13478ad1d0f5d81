"""Import Wikidata entities and claims as Parquet files, from a dump, a server or a database."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import portalocker

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.spool import Spool
from tasks.errors import BadInput, LockHeld
from tasks.limits import go_on
from tasks.sources.base_importer import (
    CONTACT,
    NOT_STATED,
    BaseImporter,
    Imported,
    ImportStep,
    Project,
    argument,
    check_name,
    count_reasons,
    name_worst,
    option,
)
from tasks.sources.web import WebServer
from tasks.sources.wikidata.api import ApiSource
from tasks.sources.wikidata.dump import DumpSource
from tasks.sources.wikidata.entities import Entity, EntitySelection, EntitySource
from tasks.sources.wikidata.join import PartJoiner
from tasks.sources.wikidata.left_out import count_left_out, word_left_out
from tasks.sources.wikidata.parts import read_part
from tasks.sources.wikidata.report import ReadingReport
from tasks.sources.wikidata.rows import ClaimRow, EntityRow, make_claim_row, make_entity_row
from tasks.sources.wikidata.shards import SIZE, DumpPart, PartSize, identify, plan_parts
from tasks.sources.wikidata.sparql import SparqlSource
from tasks.sources.wikidata.table import PropertyColumn, TableSource, is_database, read_column

FOLDER = Path("data/raw/wikidata")
PARTS = ".parts"
"""Folder for the parts of a dump that were already read; it is deleted once the import is complete."""
LICENCE, SOURCE = "CC0-1.0", "https://www.wikidata.org"
HOST = re.compile(r"(?:[a-z0-9-]+\.)*wikidata\.org")
"""Matches the host names of Wikidata's servers."""
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
"""Language code -> database name of its Wikipedia, for names that do not follow from the language code."""
IN_MEMORY = 4_096
"""Maximum number of entity rows in memory during sorting; unlike claim rows, entity rows can be large."""


class Wikidata(BaseImporter):
    """Import Wikidata entities and claims as Parquet files (docs/wikidata.md).

    Example: benchloom import wikidata latest-all.json.bz2 --class Q11424 --property P57 --property P577
    """

    name = "wikidata"

    places: list[str] = argument(
        "Files of a JSON dump (.json, .gz, .bz2), a SQLite database with item ids, or the URL of an API "
        "(.../w/api.php) or SPARQL endpoint (.../sparql).",
        "PATH|URL",
    )
    properties: list[str] | None = option(
        "Import only claims with this property. Repeatable.", "P..", "--property"
    )
    entities: list[str] | None = option("Import this item. Repeatable.", "Q..", "--entity")
    classes: list[str] | None = option("Import instances of this class. Repeatable.", "Q..", "--class")
    languages: list[str] | None = option(
        "Language of labels and pages; `all` for every language. Default: en.", "CODE", "--language"
    )
    columns: list[str] | None = option(
        "SQLite: a column and its property. NAME=P2047:Q7727 adds a unit.", "NAME=P..", "--column"
    )
    licence: str | None = option("Licence of a source other than Wikidata, such as your own table.", "NAME")
    attribution: str | None = option("Credit for a source other than Wikidata.", "TEXT")
    called: str = option("Name of the new folder under data/raw/wikidata.", "NAME", "--name", default="main")
    contact: str = option(CONTACT, "MAIL", default="", variable="BENCHLOOM_CONTACT")
    workers: int | None = option("Number of processes that read a dump. Default: one per core.", "N", least=1)
    engine: str = option(
        "Where these processes run; see docs/engines.md.", "threads|dask|ray", default="threads"
    )

    def bring_in(self, project: Project) -> Imported:
        """Write entities.parquet, claims.parquet, skipped.jsonl and about.json, replacing existing files.

        Nothing is replaced if the import fails. Raises BadInput, DatabaseGone or LockHeld.
        """
        check_name(self.called)
        selection = self.make_selection()
        columns = [read_column(text) for text in self.columns or []]
        place = FOLDER / self.called
        folder = project.root / place
        source = open_source(self.places, folder, columns, self.contact)
        project.hold(hold_folder(folder))
        skipped = project.hold(project.place(place / "skipped.jsonl").open("w", encoding="utf-8"))
        report = ReadingReport(lambda line: print(line, file=skipped))
        if isinstance(source, DumpSource):
            found = read_dump(
                source.paths,
                selection,
                folder,
                report,
                work=lambda pieces: project.work(pieces, self.engine, self.workers),
                say=project.say,
            )
        else:
            found = write_all(folder, source.read(selection, report), report)
        if not found[0]:
            raise refuse_nothing(", ".join(self.places), report)
        whole = selection.takes_all_items() and not isinstance(source, TableSource)
        left_out = Counter[str]() if whole else count_left_out(folder)
        about = self._describe(found, report, left_out)
        return Imported(
            self._word(found, report, left_out),
            {place / "about.json": json.dumps(about, ensure_ascii=False, indent=2) + "\n"},
        )

    def make_selection(self) -> EntitySelection:
        """Return the entity selection from the command's options; an unset option does not filter.

        The language is English by default. Raises BadInput if an id is invalid.
        """
        codes = frozenset(self.languages or ("en",))
        every = "all" in codes
        sites = frozenset(f"{WIKIS.get(code, code).replace('-', '_')}wiki" for code in codes)
        return EntitySelection(
            entities=frozenset(self.entities) if self.entities else None,
            classes=frozenset(self.classes or ()),
            properties=frozenset(self.properties) if self.properties else None,
            languages=None if every else codes,
            sites=None if every else sites,
        )

    def state_rights(self, foreign: str = "") -> tuple[str, str, str]:
        """Return the source, licence and attribution of the imported data.

        The defaults are Wikidata's. For another Wikibase or a database, the default source is the host or
        file name, and the licence and attribution are `not stated`.

        `foreign`: the host name of the Wikibase that a dump comes from, if it is not Wikidata.
        """
        first = self.places[0]
        host = urlsplit(first).hostname or "" if "://" in first else foreign
        own = not HOST.fullmatch(host) if host else is_database(Path(first))
        source, licence, credit = SOURCE, LICENCE, ATTRIBUTION
        if own:
            source, licence, credit = host or Path(first).name, NOT_STATED, NOT_STATED
        return source, self.licence or licence, self.attribution or credit

    def _describe(
        self, found: tuple[int, int], report: ReadingReport, left_out: Counter[str]
    ) -> dict[str, object]:
        """Return the content of about.json."""
        entities, claims = found
        source, licence, attribution = self.state_rights(report.foreign)
        return {
            "name": self.called,
            "source": source,
            "licence": licence,
            "attribution": attribution,
            "read_from": [Path(place).name if "://" not in place else place for place in self.places],
            "counts": {
                "entities": entities,
                "claims": claims,
                "not_asked_for": report.not_asked,
                "redirects": len(report.redirects),
                "claims_of_items_not_read": dict(sorted(left_out.items())),
                "skipped": dict(sorted(report.counts.items())),
            },
        }

    def _word(self, found: tuple[int, int], report: ReadingReport, left_out: Counter[str]) -> list[str]:
        """Return lines with the numbers of imported and skipped records, the licence and the attribution."""
        place = (FOLDER / self.called).as_posix()
        lines = [f"{self.called}: {found[0]:,} entities, {found[1]:,} claims ({place})"]
        if report.not_asked:
            lines.append(f"not asked for: {report.not_asked:,} entities")
        if left_out:
            lines.append(word_left_out(left_out))
        if report.redirects:
            lines.append(f"redirects followed: {len(report.redirects):,}")
        lines += count_reasons(report.counts, place)
        if report.counts:
            lines[-1] += ", values of other types by property"
        _, licence, attribution = self.state_rights(report.foreign)
        if NOT_STATED in (licence, attribution):
            return [*lines, f"licence: {licence}; attribution: {attribution} (--licence, --attribution)"]
        return [*lines, f"licence: {licence}; {attribution}"]


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for this import until the block ends. Raises LockHeld if another import has locked it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with portalocker.Lock(folder.with_name(f".{folder.name}.lock"), fail_when_locked=True):
            yield
    except portalocker.AlreadyLocked as error:
        raise LockHeld(
            f"--name {folder.name}: another import is writing to this folder; wait until that import "
            "finishes, or choose another name"
        ) from error


def open_source(
    places: Sequence[str], folder: Path, columns: Sequence[PropertyColumn], contact: str
) -> EntitySource:
    """Open a source. A URL's suffix or a file's first bytes determine the type of the source.

    Responses are cached in `folder`/answers. Raises BadInput for a URL that ends with neither
    `/api.php` nor `/sparql`, for a URL or database that is not the only source, and for `columns` without a
    database.
    """
    first = places[0]
    alone = len(places) == 1
    databases = [place for place in places if "://" not in place and is_database(Path(place))]
    if columns and not databases:
        raise BadInput(
            "--column",
            "requires a SQLite database as the source",
            hint="for other sources, use --property P577",
        )
    if "://" in first and alone and first.endswith("/api.php"):
        return ApiSource(WebServer(first, contact), folder / "answers")
    if "://" in first and alone and first.endswith("/sparql"):
        return SparqlSource(WebServer(first, contact), folder / "answers")
    if any("://" in place for place in places):
        raise BadInput(first, "is not a usable URL", hint="give one URL that ends with /w/api.php or /sparql")
    if databases and alone:
        return TableSource(Path(first), columns)
    if databases:
        raise BadInput(databases[0], "is a database, which must be the only source", hint="import it alone")
    return DumpSource([Path(place) for place in places])


def read_dump(
    paths: Sequence[Path],
    selection: EntitySelection,
    folder: Path,
    report: ReadingReport,
    *,
    work: Callable[[Sequence[ImportStep]], None],
    say: Callable[[str], None],
    size: PartSize = SIZE,
) -> tuple[int, int]:
    """Read dump files into entities.parquet and claims.parquet in `folder`; return the row count of each.

    `work`: function that runs the steps; each step reads one part of a file. Finished parts stay in
    `folder`/.parts until the import is complete, so that an interrupted import can resume. Raises BadInput if
    a file is invalid, or changes while it is read.
    """
    parts = plan_parts(paths, selection, size)
    before = [identify(path) for path in paths]
    store = folder / PARTS
    wanted = {part.key: part for part in parts}
    for old in store.iterdir() if store.is_dir() else ():
        if old.name not in wanted:
            shutil.rmtree(old, ignore_errors=True)
    left = [part for key, part in wanted.items() if not (store / key).is_dir()]
    if len(left) < len(wanted):
        say(f"{len(wanted) - len(left)} of {len(wanted)} parts were already read")
    work(
        [ImportStep(name_part(part), read_part, (part, selection, store), store / part.key) for part in left]
    )
    for path, found in zip(paths, before, strict=True):
        if identify(path) != found:
            raise BadInput(path, "changed while it was being read", hint="repeat the import")
    counts = PartJoiner(store, selection, report).join(parts, folder)
    shutil.rmtree(store)
    return counts


def name_part(part: DumpPart) -> str:
    """Return a part's name for messages: the file and the byte range."""
    end = "the end" if part.end is None else f"{part.end:,}"
    return f"{part.path.name}, bytes {part.begin:,} to {end}"


def refuse_nothing(where: str, report: ReadingReport) -> BadInput:
    """Return the error for a source that contains none of the selected entities."""
    read = f"; it contains {report.not_asked:,} other entities" if report.not_asked else ""
    return BadInput(where, f"contains none of the requested entities{read}", hint=name_worst(report.counts))


def write_all(folder: Path, entities: Iterable[Entity], report: ReadingReport) -> tuple[int, int]:
    """Write both Parquet files, or neither if there are no entities; return the row count of each."""
    found: Spool[EntityRow] = Spool(IN_MEMORY)
    claims: Spool[ClaimRow] = Spool()
    for entity in entities:
        go_on()
        found.add(make_entity_row(entity, {}))
        for claim in entity.claims:
            claims.add(make_claim_row(entity.id, claim))
    report.finish()
    if not found:
        return 0, 0
    old = report.list_redirects()
    write_rows(folder / "claims.parquet", ClaimRow, claims)
    if old:
        renamed: Spool[EntityRow] = Spool(IN_MEMORY)
        for row in _with_redirects(found, old):
            renamed.add(row)
        found = renamed
    write_rows(folder / "entities.parquet", EntityRow, found)
    return len(found), len(claims)


def _with_redirects(rows: Iterable[EntityRow], old: dict[str, list[str]]) -> Iterator[EntityRow]:
    for row in rows:
        yield EntityRow(**{**row.__dict__, "redirects": tuple(old.get(row.id, ()))})
