"""The articles of a graph's things on disk: found by thing, and read a group of parts at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tasks.artifacts.parquet import read_rows
from tasks.sources.wikipedia.rows import PartRow

ARTICLES, PARTS = "articles.parquet", "parts.parquet"
GROUP = 4_096
"""Parts of a row group: what is read to find one article."""


@dataclass(frozen=True)
class IndexedArticle:
    """A row of the index. first, parts: where its parts stand in parts.parquet; things: whose it is.

    licence, attribution: of its text, as the source has them.
    """

    article: str
    revision: int | None
    first: int
    parts: int
    things: tuple[str, ...]
    licence: str
    attribution: str


class ArticleIndex:
    """The folder that stage `articles` writes."""

    def __init__(self, folder: Path) -> None:
        """Read the index, which is in memory. Raises BadInput for a folder that is none."""
        self._folder = folder
        self._by_thing: Mapping[str, IndexedArticle] = {
            thing: row for row in read_rows(folder / ARTICLES, IndexedArticle) for thing in row.things
        }

    def find(self, thing: str) -> IndexedArticle | None:
        """Find the article of a thing."""
        return self._by_thing.get(thing)

    def read(self, wanted: Iterable[IndexedArticle]) -> Iterator[tuple[IndexedArticle, list[PartRow]]]:
        """Yield articles with their parts, in the order of their places: each group is read once."""
        with pq.ParquetFile(self._folder / PARTS) as file:
            groups: dict[int, list[dict[str, Any]]] = {}
            for article in sorted(set(wanted), key=lambda row: (row.first, row.article)):
                start, stop = article.first, article.first + article.parts
                needed = range(start // GROUP, -(-stop // GROUP))
                groups = {number: groups[number] for number in groups if number in needed}
                for number in needed:
                    if number not in groups:
                        groups[number] = file.read_row_group(number).to_pylist()
                rows = [row for number in needed for row in groups[number]]
                offset = start - needed.start * GROUP
                yield article, [_make_part(row) for row in rows[offset : offset + article.parts]]


def _make_part(row: Mapping[str, Any]) -> PartRow:
    return PartRow(**{**row, "headers": tuple(row["headers"])})
