"""Stage: copy the articles of a graph's entities; only these articles are searched for evidence (step 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Counts, schema_of
from tasks.errors import BadInput
from tasks.files import write_beside
from tasks.sources.wikipedia.article import clean_title
from tasks.sources.wikipedia.rows import ArticleRow, PartRow
from tasks.tanq.entries import GraphSource
from tasks.tanq.graph.article_index import ARTICLES, GROUP, PARTS, IndexedArticle
from tasks.tanq.graph.things import Thing

BATCH = 16_384
"""Maximum number of source rows in memory at a time."""


@dataclass(frozen=True)
class _Found:
    revision: int | None
    licence: str
    attribution: str
    things: list[str]


def articles(things: Iterable[Thing], entry: GraphSource, out: Path) -> Counts:
    """Find the articles of all entities by title or redirect, and copy these articles.

    out: the folder for parts.parquet (the text) and articles.parquet (the position and entities of each
    article). Drop reason: `no_article` (the source has neither an article nor a redirect with the entity's
    title). Raises BadInput if the source cannot be read.
    """
    wanted: defaultdict[str, list[str]] = defaultdict(list)
    for thing in things:
        if thing.article:
            wanted[clean_title(thing.article)].append(thing.id)
    found = _find_articles(entry.articles / ARTICLES, wanted)
    out.mkdir(parents=True, exist_ok=True)
    places = _copy_parts(entry.articles / PARTS, found, out / PARTS)
    rows = [
        IndexedArticle(
            title,
            article_parts.revision,
            *places.get(title, (0, 0)),
            tuple(sorted(article_parts.things)),
            article_parts.licence,
            article_parts.attribution,
        )
        for title, article_parts in found.items()
    ]
    write_rows(out / ARTICLES, IndexedArticle, rows)
    asked = sum(map(len, wanted.values()))
    return Counts(asked, len(rows), {"no_article": asked - sum(len(row.things) for row in rows)})


def _find_articles(path: Path, wanted: Mapping[str, list[str]]) -> dict[str, _Found]:
    """Find the articles with the wanted titles or redirects. Returns a map from titles to articles."""
    found: dict[str, _Found] = {}
    redirected: dict[str, tuple[str, _Found]] = {}
    for batch in _read(path, ArticleRow, ["article", "revision", "aliases", "licence", "attribution"]):
        for row in batch.to_pylist():
            told = (row["revision"], row["licence"], row["attribution"])
            if row["article"] in wanted:
                found[row["article"]] = _Found(*told, list(wanted[row["article"]]))
            for alias in row["aliases"]:
                if alias in wanted:
                    redirected.setdefault(alias, (row["article"], _Found(*told, [])))
    for alias, (title, article) in sorted(redirected.items()):
        # An article with the wanted title takes precedence over a redirect with that title.
        if alias not in found:
            found.setdefault(title, article).things.extend(wanted[alias])
    return found


def _copy_parts(path: Path, found: Mapping[str, object], out: Path) -> dict[str, tuple[int, int]]:
    """Copy the parts of articles to `out`, and write them in row groups of a fixed size.

    Returns a map from titles to (first row, number of rows). Raises BadInput if the parts of an article are
    not adjacent in the source.
    """
    places: dict[str, tuple[int, int]] = {}
    titles = pa.array(sorted(found), pa.string())
    with write_beside(out) as draft, _open_writer(draft) as writer:
        row, pending = 0, schema_of(PartRow).empty_table()
        for batch in _read(path, PartRow, schema_of(PartRow).names):
            kept = batch.filter(pc.is_in(batch.column("article"), titles))
            for title in kept.column("article").to_pylist():
                first, count = places.get(title, (row, 0))
                if first + count != row:
                    raise BadInput(
                        path, f"the parts of {title!r} are not adjacent", hint="import the articles again"
                    )
                places[title] = (first, count + 1)
                row += 1
            pending = pa.concat_tables([pending, pa.Table.from_batches([kept]).cast(pending.schema)])
            # ArticleIndex divides row numbers by GROUP, so every row group but the last must have GROUP rows.
            while pending.num_rows >= GROUP:
                writer.write_table(pending.slice(0, GROUP).combine_chunks())
                pending = pending.slice(GROUP)
        writer.write_table(pending.combine_chunks())
    return places


def _read(path: Path, row: type, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a source's table. Raises BadInput if the file or one of its columns is missing."""
    try:
        with pq.ParquetFile(path) as file:
            missing = sorted(set(schema_of(row).names) - set(file.schema_arrow.names))
            if missing:
                raise BadInput(path, f"has no column {missing[0]!r}", hint="see docs/wikidata.md")
            yield from file.iter_batches(BATCH, columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(path, "cannot be read as Parquet", hint="see `benchloom import wikipedia`") from error


def _open_writer(path: Path) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema_of(PartRow), compression="zstd", store_schema=False)
