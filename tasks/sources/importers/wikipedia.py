"""Import Wikipedia articles as two tables, and write a list of skipped pages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.artifacts.rows import schema_of
from tasks.errors import BadInput
from tasks.limits import go_on
from tasks.sources.base_importer import (
    CONTACT,
    NOT_STATED,
    BaseImporter,
    Imported,
    Project,
    argument,
    check_name,
    option,
)
from tasks.sources.wikipedia.article import Article, SkippedPage
from tasks.sources.wikipedia.opening import open_source
from tasks.sources.wikipedia.rights import find_rights
from tasks.sources.wikipedia.rows import ArticleRow, PartRow

FOLDER = Path("data/raw/wikipedia")
GROUP_PARTS = 65_536
"""Number of rows per row group of parts.parquet; at most one row group and one article are in memory."""
GROUP_ARTICLES = 4_096
MOST_NAMES = 100_000
"""Maximum number of distinct names to count, separately for templates without a rule and for layout keys."""
# Number of templates or layout keys that the printed summary lists.
NAMED = 5


@dataclass
class ImportCounts:
    """The counts of an import.

    - `skipped`: number of pages by reason.
    - `unread`: number of uses of each template without a rule.
    - `looks`: number of skipped infobox entries that control the layout, by key.
    - `ended`: the positions at which a truncated source ended early.
    """

    articles: int = 0
    aliases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    looks: Counter[str] = field(default_factory=Counter)
    ended: list[str] = field(default_factory=list)


class Wikipedia(BaseImporter):
    """Import Wikipedia articles as sentences, table cells and infobox entries (docs/wikidata.md).

    Example: benchloom import wikipedia enwiki-latest-pages-articles.xml.bz2 --name english --title Dublin
    """

    name = "wikipedia"

    path: str = argument(
        "A dump, structured contents (NDJSON), wikitext, a JSON file of texts, or the URL of an api.php.",
        "PATH",
    )
    called: str = option(
        "Name of the new folder under data/raw/wikipedia.", "NAME", "--name", default="articles"
    )
    titles: list[str] | None = option("Import only this article. Repeatable.", "T", "--title")
    licence: str | None = option("Licence of texts from another source, such as your own.", "NAME")
    attribution: str | None = option("Credit for texts from another source.", "TEXT")
    contact: str = option(CONTACT, "MAIL", default="", variable="BENCHLOOM_CONTACT")

    def bring_in(self, project: Project) -> Imported:
        """Write the articles of a source, their parts, and the list of skipped pages.

        All files are renamed into place together at the end. Raises BadInput, and changes nothing, if the
        name or the source is invalid, or if the source contains no article.
        """
        check_name(self.called)
        folder = FOLDER / self.called
        outcome = ImportCounts()
        skipped = project.hold(closing(_Skipped(project.place(folder / "skipped.jsonl"), outcome)))
        cache = project.root / folder / "cache"
        source = project.hold(closing(open_source(self.path, skipped.add, cache, self.contact)))
        found = find_rights(self.path)
        licence, attribution = self.licence or found[0], self.attribution or found[1]
        articles, parts = (
            project.hold(closing(_Table(project.place(folder / name), row, group)))
            for name, row, group in (
                ("articles.parquet", ArticleRow, GROUP_ARTICLES),
                ("parts.parquet", PartRow, GROUP_PARTS),
            )
        )
        for article in source.stream(self.titles or None):
            go_on()
            outcome.articles += 1
            outcome.aliases += len(article.aliases)
            articles.add([_make_row(article, licence, attribution)])
            parts.add(PartRow(article.title, **vars(part)) for part in article.parts)
            outcome.kinds.update(part.kind for part in article.parts)
            for problem in article.problems:
                outcome.problems += 1
                skipped.write({"where": article.title, "reason": "part", "detail": problem})
            _count(outcome.unread, article.unread)
            _count(outcome.looks, article.looks)
        if not outcome.articles:
            advice = _say_counts(outcome.skipped) or "is it the right file?"
            raise BadInput(self.path, "contains no article", hint=advice)
        skipped.end()
        text = f"{attribution}, {licence}. The pages and revisions: articles.parquet.\n"
        rights = f"licence: {licence}, attribution: {attribution}"
        if NOT_STATED in (licence, attribution):
            rights += " (--licence, --attribution)"
            text = f"Licence: {licence}. Attribution: {attribution}.\n"
        ended = [f"ended early: {line}" for line in outcome.ended]
        said = [*say_outcome(outcome, folder.as_posix()), rights]
        return Imported(said, {folder / "LICENCE.md": text}, ended=ended)


def say_outcome(outcome: ImportCounts, folder: str) -> list[str]:
    """Return lines that summarise an import."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(outcome.kinds.items()))
    lines = [f"{outcome.articles:,} articles, {outcome.aliases:,} aliases: {folder}/articles.parquet"]
    lines.append(f"{outcome.kinds.total():,} parts ({kinds}): {folder}/parts.parquet")
    left = [_say_counts(outcome.skipped)] if outcome.skipped else []
    left += [f"{outcome.problems:,} parts of pages"] if outcome.problems else []
    left += _say_most(outcome.unread, "templates without a rule")
    left += _say_most(outcome.looks, "infobox entries about looks")
    lines.append(f"left out: {'; '.join(left) or 'nothing'}: {folder}/skipped.jsonl")
    return lines


def _say_most(counts: Counter[str], what: str) -> list[str]:
    if not counts:
        return []
    more = ", ..." if len(counts) > NAMED else ""
    most = ", ".join(f"{name} {count:,}" for name, count in _order(counts)[:NAMED])
    return [f"{counts.total():,} {what} ({most}{more})"]


def _count(counts: Counter[str], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        if name in counts or len(counts) < MOST_NAMES:
            counts[name] += count


def _make_row(article: Article, licence: str, attribution: str) -> ArticleRow:
    return ArticleRow(
        article.title, article.id, article.revision, article.aliases, len(article.parts), licence, attribution
    )


def _say_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in _order(counts))


def _order(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


class _Skipped:
    """Writes skipped.jsonl while the import runs."""

    def __init__(self, path: Path, outcome: ImportCounts) -> None:
        self._file: IO[str] = path.open("w", encoding="utf-8", errors="replace")
        self._outcome = outcome

    def add(self, skipped: SkippedPage) -> None:
        self._outcome.skipped[skipped.reason] += 1
        if skipped.ended:
            self._outcome.ended.append(f"{skipped.where}: {skipped.reason} {skipped.detail}")
        self.write({"where": skipped.where, "reason": skipped.reason, "detail": skipped.detail})

    def write(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def end(self) -> None:
        for name, count in _order(self._outcome.unread):
            self.write({"where": name, "reason": "template", "detail": f"{count} times without a rule"})
        for name, count in _order(self._outcome.looks):
            self.write({"where": name, "reason": "infobox_look", "detail": f"{count} times about looks"})
        self.close()

    def close(self) -> None:
        self._file.close()


class _Table:
    """Writes rows to Parquet in groups of a fixed size, so that the same rows give the same bytes."""

    def __init__(self, path: Path, row: type, group: int) -> None:
        self._schema: pa.Schema = schema_of(row)
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd", store_schema=False)
        self._rows: list[dict[str, Any]] = []
        self._group = group

    def add(self, rows: Iterable[Any]) -> None:
        for row in rows:
            self._rows.append(vars(row))
            if len(self._rows) == self._group:
                self._flush()

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []
