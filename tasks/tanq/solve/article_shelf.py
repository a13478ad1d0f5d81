"""Build a temporary index of articles for the open agent, with SQLite's full-text search."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path

from tasks.artifacts.parquet import StoredRows
from tasks.sources.wikipedia.article import TEXT, clean_title
from tasks.sources.wikipedia.rows import ArticleRow, PartRow

ARTICLES, PARTS = "articles.parquet", "parts.parquet"
MOST_WORDS = 32
"""Maximum number of words in a search query; all other words are ignored."""
WORDS = re.compile(r"\w+")
TOKENS = "tokenize = 'porter unicode61 remove_diacritics 2'"
WEIGHTS = "10.0, 5.0, 1.0"
"""BM25 weights of the title, the redirects and the text."""
SCHEMA = (
    "CREATE TABLE articles (place INTEGER PRIMARY KEY, title TEXT NOT NULL)",
    "CREATE TABLE names (name TEXT PRIMARY KEY, place INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE parts (place INTEGER, position INTEGER, kind TEXT, section TEXT, label TEXT, text TEXT)",
    # content = '': the table `parts` has the texts, so the search table stores only the index.
    f"CREATE VIRTUAL TABLE found USING fts5(title, aliases, text, content = '', {TOKENS})",
)


class ArticleShelf:
    """A search index of articles. Names are looked up in the index and never used as paths."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def find(self, name: str) -> str | None:
        """Find an article by title or redirect, ignoring case, and return its title; None if not found."""
        rows = self._base.execute(
            "SELECT title FROM names JOIN articles USING (place) WHERE name = ?", (_fold(name),)
        ).fetchall()
        return str(rows[0][0]) if rows else None

    def search(self, words: str) -> str | None:
        """Return the title of the article that BM25 ranks first for the words; None if no article matches."""
        query = _make_query(words)
        if not query:
            return None
        rows = self._base.execute(
            "SELECT articles.title FROM found JOIN articles ON place = found.rowid WHERE found MATCH ?"  # noqa: S608 - own words
            # Scores are rounded, so that tiny numerical differences do not change the ranking.
            f" ORDER BY round(bm25(found, {WEIGHTS}), 6), articles.title LIMIT 1",
            (query,),
        ).fetchall()
        return str(rows[0][0]) if rows else None

    def read_intro(self, title: str) -> list[str]:
        """Return the sentences of an article before its first section."""
        return [text for _, kind, section, _, text in self._read(title) if kind == TEXT and not section]

    def find_evidence(self, title: str, words: str, most: int) -> list[str]:
        """Return an article's sentences, cells and infobox entries that match any of the words, best first.

        most: maximum number of results.
        """
        query, rows = _make_query(words), self._read(title)
        if not query:
            return []
        with closing(sqlite3.connect(":memory:")) as base:
            base.execute(f"CREATE VIRTUAL TABLE part USING fts5(shown, content = '', {TOKENS})")
            shown = [_show(kind, section, label, text) for _, kind, section, label, text in rows]
            base.executemany("INSERT INTO part (rowid, shown) VALUES (?, ?)", enumerate(shown))
            found = base.execute(
                "SELECT rowid FROM part WHERE part MATCH ? ORDER BY round(bm25(part), 6), rowid LIMIT ?",
                (query, most),
            )
            return [shown[place] for (place,) in found]

    def _read(self, title: str) -> list[tuple[int, str, str, str, str]]:
        return self._base.execute(
            "SELECT position, kind, section, label, text FROM parts JOIN articles USING (place)"
            " WHERE title = ? ORDER BY position",
            (title,),
        ).fetchall()


@contextmanager
def open_shelf(folder: Path) -> Iterator[ArticleShelf]:
    """Yield a temporary index of the articles in a folder (`benchloom import wikipedia`).

    Raises BadInput if the folder contains no imported articles.
    """
    with (
        tempfile.TemporaryDirectory(prefix="benchloom-articles-") as place,
        closing(sqlite3.connect(Path(place) / "shelf.sqlite", isolation_level=None)) as base,
    ):
        # The file is temporary and needs no protection against a crash, so it is written without a journal.
        for setting in ("journal_mode = OFF", "synchronous = OFF"):
            base.execute(f"PRAGMA {setting}")
        for statement in SCHEMA:
            base.execute(statement)
        # All rows are in one transaction, because SQLite is slow if it commits after every row.
        base.execute("BEGIN")
        _fill(base, folder)
        base.execute("COMMIT")
        yield ArticleShelf(base)


def _fill(base: sqlite3.Connection, folder: Path) -> None:
    """Write the articles and their parts to the index; the text of one article is in memory at a time."""
    aliases: dict[str, str] = {}
    places: dict[str, int] = {}
    for row in StoredRows(folder / ARTICLES, ArticleRow):
        places[row.article] = len(places)
        aliases[row.article] = "\n".join(row.aliases)
    base.executemany(
        "INSERT INTO articles VALUES (?, ?)", ((place, title) for title, place in places.items())
    )
    names = [(_fold(title), place) for title, place in places.items()]
    names += [
        (_fold(alias), places[title]) for title in places for alias in aliases[title].split("\n") if alias
    ]
    # A title takes precedence over a redirect whose name differs only by case.
    base.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", names)
    for title, article_parts in groupby(StoredRows(folder / PARTS, PartRow), key=lambda part: part.article):
        parts = list(article_parts)
        if title not in places:
            continue
        place = places[title]
        base.executemany(
            "INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?)",
            ((place, part.position, part.kind, part.section, _label(part), part.text) for part in parts),
        )
        text = "\n".join(f"{_label(part)} {part.text}" for part in parts)
        base.execute(
            "INSERT INTO found (rowid, title, aliases, text) VALUES (?, ?, ?, ?)",
            (place, title, aliases[title], text),
        )
    # The index is created after the rows, because updating an index for every row is slower.
    base.execute("CREATE INDEX of_article ON parts (place)")


def _label(part: PartRow) -> str:
    """Return the label of a part: the headers of a cell, or the label of an infobox entry."""
    headers: Sequence[str] = part.headers[-1:] if part.kind == "infobox" else part.headers
    return ", ".join(filter(None, headers))


def _show(kind: str, section: str, label: str, text: str) -> str:
    before = label if kind != TEXT else section
    return f"{before}: {text}" if before else text


def _fold(name: str) -> str:
    return clean_title(name.encode("utf-8", "replace").decode()).casefold()


def _make_query(words: str) -> str:
    """Return a full-text query that matches any of the words.

    Words are quoted, so that no word is parsed as an operator.
    """
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(WORDS.findall(words.lower())[:MOST_WORDS]))
