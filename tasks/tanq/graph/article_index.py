"""Find the articles of a graph's entities on disk, and read them one row group at a time."""

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
"""Number of parts in a row group of parts.parquet; reading an article reads whole row groups."""


@dataclass(frozen=True)
class IndexedArticle:
    """A row of the index: an article, and the position of its parts in parts.parquet.

    - first, parts: the first row of the article in parts.parquet, and its number of rows.
    - things: ids of the entities that the article is about.
    - licence, attribution: the licence terms of the text, as stated by the source.
    """

    article: str
    revision: int | None
    first: int
    parts: int
    things: tuple[str, ...]
    licence: str
    attribution: str


class ArticleIndex:
    """An index of the articles in the folder that stage `articles` writes."""

    def __init__(self, folder: Path) -> None:
        """Load the index into memory. Raises BadInput if the folder has no readable index."""
        self._folder = folder
        self._by_thing: Mapping[str, IndexedArticle] = {
            thing: row for row in read_rows(folder / ARTICLES, IndexedArticle) for thing in row.things
        }

    def find(self, thing: str) -> IndexedArticle | None:
        """Return the article of an entity, or None if the entity has no article."""
        return self._by_thing.get(thing)

    def read(self, wanted: Iterable[IndexedArticle]) -> Iterator[tuple[IndexedArticle, list[PartRow]]]:
        """Yield each article with its parts, in file order, so that no row group is read twice."""
        with pq.ParquetFile(self._folder / PARTS) as file:
            groups: dict[int, list[dict[str, Any]]] = {}
            for article in sorted(set(wanted), key=lambda row: (row.first, row.article)):
                start, stop = article.first, article.first + article.parts
                needed = range(start // GROUP, -(-stop // GROUP))
                # Articles are read in file order, so row groups of earlier articles are not needed again.
                groups = {number: groups[number] for number in groups if number in needed}
                for number in needed:
                    if number not in groups:
                        groups[number] = file.read_row_group(number).to_pylist()
                rows = [row for number in needed for row in groups[number]]
                offset = start - needed.start * GROUP
                yield article, [_make_part(row) for row in rows[offset : offset + article.parts]]


def _make_part(row: Mapping[str, Any]) -> PartRow:
    return PartRow(**{**row, "headers": tuple(row["headers"])})
