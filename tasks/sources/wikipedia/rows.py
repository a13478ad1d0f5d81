"""The row types of articles.parquet and parts.parquet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ArticleRow:
    """A row of articles.parquet."""

    article: str
    page: int | None
    revision: int | None
    aliases: tuple[str, ...]
    parts: int
    licence: str
    attribution: str


@dataclass(frozen=True)
class PartRow:
    """A row of parts.parquet; see `tasks.sources.wikipedia.article.Part`."""

    article: str
    position: int
    kind: str
    section: str
    parent: str
    headers: tuple[str, ...]
    text: str
    table: int | None
    row: int | None
    column: int | None
