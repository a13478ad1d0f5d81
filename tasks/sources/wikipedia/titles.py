"""Titles and redirects of a whole source, on disk: a dump has millions of both."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from tasks.sources.wikipedia.article import clean_title

LONGEST_CHAIN = 10
"""Redirects followed one after the other; MediaWiki itself follows one."""
SCHEMA = (
    "CREATE TABLE pages (title TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE redirects (title TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE aliases (target TEXT, title TEXT, PRIMARY KEY (target, title)) WITHOUT ROWID",
)


class RedirectCircle(ValueError):
    """Redirects that lead to each other."""


class Titles:
    """The titles of a source, in a temporary file that goes with it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="benchloom-titles-")
        self._base = sqlite3.connect(Path(self._folder.name) / "titles.sqlite", isolation_level=None)
        self._base.execute("PRAGMA journal_mode = OFF")
        self._base.execute("PRAGMA synchronous = OFF")
        for statement in SCHEMA:
            self._base.execute(statement)
        self._base.execute("BEGIN")

    def add_page(self, title: str) -> bool:
        """Add an article's title; False if there is a page of it already."""
        if self._has("redirects", title):
            return False
        return self._base.execute("INSERT OR IGNORE INTO pages VALUES (?)", (title,)).rowcount == 1

    def add_redirect(self, title: str, target: str) -> bool:
        """Add a redirect; False if there is a page of its title already."""
        if self._has("pages", title):
            return False
        row = (title, clean_title(target))
        return self._base.execute("INSERT OR IGNORE INTO redirects VALUES (?, ?)", row).rowcount == 1

    def link(self) -> list[tuple[str, str]]:
        """Find every redirect's article; return title and `SkippedPage.reason` of those without."""
        lost = []
        cursor = self._base.execute("SELECT title FROM redirects ORDER BY title")
        for (title,) in cursor:
            try:
                article = self.resolve(title)
            except RedirectCircle:
                lost.append((title, "redirect_circle"))
                continue
            if article is None:
                lost.append((title, "redirect_nowhere"))
            else:
                self._base.execute("INSERT OR IGNORE INTO aliases VALUES (?, ?)", (article, title))
        return lost

    def resolve(self, title: str) -> str | None:
        """Return the title of the article that a title leads to; None if there is none.

        Raises RedirectCircle for redirects in a circle, or longer than `LONGEST_CHAIN`.
        """
        title = clean_title(title)
        for _ in range(LONGEST_CHAIN + 1):
            if self._has("pages", title):
                return title
            found = self._base.execute("SELECT target FROM redirects WHERE title = ?", (title,)).fetchone()
            if found is None:
                return None
            title = found[0]
        raise RedirectCircle(title)

    def list_aliases(self, title: str) -> tuple[str, ...]:
        """List the titles that redirect to an article, sorted."""
        rows = self._base.execute("SELECT title FROM aliases WHERE target = ? ORDER BY title", (title,))
        return tuple(row[0] for row in rows)

    def close(self) -> None:
        """Remove the file."""
        self._base.close()
        self._folder.cleanup()

    def _has(self, table: str, title: str) -> bool:
        return self._base.execute(f"SELECT 1 FROM {table} WHERE title = ?", (title,)).fetchone() is not None  # noqa: S608
