"""The base class for sources with wikitext pages, and an index of their titles and redirects.

The index is on disk, because a dump has millions of titles and redirects.
"""

from __future__ import annotations

import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tasks.sources.wikipedia.article import Article, Skip, SkippedPage, clean_title, is_title
from tasks.sources.wikipedia.pages import PageText, UnreadablePage, find_redirect
from tasks.sources.wikipedia.reading import PageReader

LONGEST_CHAIN = 10
"""Maximum number of redirects that are followed in a row; MediaWiki follows only one."""
SCHEMA = (
    "CREATE TABLE pages (title TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE redirects (title TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE aliases (target TEXT, title TEXT, PRIMARY KEY (target, title)) WITHOUT ROWID",
)


class RedirectCircle(ValueError):
    """Raised if redirects are circular."""


class Titles:
    """An index of the titles and redirects of a source, in a temporary file that `close` deletes."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="benchloom-titles-")
        self._base = sqlite3.connect(Path(self._folder.name) / "titles.sqlite", isolation_level=None)
        # The file is temporary and never read after a crash, so a journal would only cost time.
        self._base.execute("PRAGMA journal_mode = OFF")
        self._base.execute("PRAGMA synchronous = OFF")
        for statement in SCHEMA:
            self._base.execute(statement)
        self._base.execute("BEGIN")

    def add_page(self, title: str) -> bool:
        """Add an article's title; return False if the title is already in use."""
        if self._has("redirects", title):
            return False
        return self._base.execute("INSERT OR IGNORE INTO pages VALUES (?)", (title,)).rowcount == 1

    def add_redirect(self, title: str, target: str) -> bool:
        """Add a redirect; return False if its title is already in use."""
        if self._has("pages", title):
            return False
        row = (title, clean_title(target))
        return self._base.execute("INSERT OR IGNORE INTO redirects VALUES (?, ?)", row).rowcount == 1

    def link(self) -> list[tuple[str, str]]:
        """Link every redirect to its article; return (title, reason) for each redirect without an article."""
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
        """Return the title of the article that a title names, directly or by redirects, or None.

        Raises RedirectCircle if redirects are circular, or if a chain exceeds `LONGEST_CHAIN`.
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
        """Return the titles that redirect to an article, sorted."""
        rows = self._base.execute("SELECT title FROM aliases WHERE target = ? ORDER BY title", (title,))
        return tuple(row[0] for row in rows)

    def close(self) -> None:
        """Close the index and delete its file."""
        self._base.close()
        self._folder.cleanup()

    def _has(self, table: str, title: str) -> bool:
        return self._base.execute(f"SELECT 1 FROM {table} WHERE title = ?", (title,)).fetchone() is not None  # noqa: S608


@dataclass(frozen=True)
class RawPage:
    """A page before its text is parsed.

    `redirect`: the target title; None for an article. `problem`: why the page cannot be read, or None.
    """

    title: str
    id: int | None
    revision: int | None
    text: str
    redirect: str | None = None
    problem: SkippedPage | None = None


class PageSource(ABC):
    """A source that is read from start to end: first for titles and redirects, then for the pages."""

    def __init__(self, skip: Skip) -> None:
        """Store `skip`; the index is built when articles are first read.

        `skip`: called once per skipped page, even if the source is read several times.
        """
        self._skip = skip
        self._titles: Titles | None = None
        self._reader = PageReader()

    @abstractmethod
    def list_pages(self, *, only_titles: bool) -> Iterator[RawPage | SkippedPage]:
        """Yield the pages of the main namespace in the source's order; invalid pages become SkippedPages."""

    def read_text(self, page: RawPage) -> PageText:
        """Convert a page's text to parts. Raises UnreadablePage."""
        return self._reader.read(page.text, page.title)

    def find(self, title: str) -> Article | None:
        """Return one article; the source is read only up to this article. See `ArticleSource`."""
        return next(self.stream([title]), None)

    def stream(self, titles: Collection[str] | None = None) -> Iterator[Article]:
        """Yield the articles in the source's order. See `ArticleSource`."""
        known = self._titles = self._titles or self._scan()
        wanted = None if titles is None else set(self._resolve(known, titles))
        if wanted is not None and not wanted:
            return
        given: set[str] = set()
        firsts = Titles()
        try:
            for page in self.list_pages(only_titles=False):
                if isinstance(page, SkippedPage) or page.redirect is not None:
                    continue
                if wanted is not None and page.title not in wanted:
                    continue
                # Only the first page with a title is used; if it is broken, no later page replaces it.
                if not firsts.add_page(page.title) or known.resolve(page.title) != page.title:
                    continue
                article = self._read(page, known)
                if article is not None:
                    yield article
                if wanted is not None:
                    given.add(page.title)
                    if given == wanted:
                        return
        finally:
            firsts.close()

    def close(self) -> None:
        """Stop the child process and delete the index of titles."""
        self._reader.close()
        if self._titles is not None:
            self._titles.close()
            self._titles = None

    def _scan(self) -> Titles:
        known = Titles()
        for page in self.list_pages(only_titles=True):
            if isinstance(page, SkippedPage):
                self._skip(page)
            elif not is_title(page.title):
                self._skip(SkippedPage(page.title[:200], "broken", "is not a valid title"))
            elif page.redirect is not None:
                if not known.add_redirect(page.title, page.redirect):
                    self._skip(SkippedPage(page.title, "duplicate", "an earlier redirect has the same title"))
            elif not known.add_page(page.title):
                self._skip(SkippedPage(page.title, "duplicate", "an earlier page has the same title"))
        for title, reason in known.link():
            self._skip(SkippedPage(title, reason))
        return known

    def _resolve(self, known: Titles, titles: Collection[str]) -> Iterator[str]:
        for title in dict.fromkeys(titles):
            try:
                article = known.resolve(title)
            except RedirectCircle:
                self._skip(SkippedPage(title, "redirect_circle"))
                continue
            if article is None:
                self._skip(SkippedPage(title, "missing"))
            else:
                yield article

    def _read(self, page: RawPage, known: Titles) -> Article | None:
        if page.problem is not None:
            self._skip(page.problem)
            return None
        try:
            read = self.read_text(page)
        except UnreadablePage as error:
            self._skip(SkippedPage(page.title, error.reason, error.detail))
            return None
        if not read.parts:
            self._skip(SkippedPage(page.title, "empty", "no sentence, cell or entry"))
            return None
        aliases = known.list_aliases(page.title)
        return Article(
            page.title, page.id, page.revision, aliases, read.parts, read.unread, read.problems, read.looks
        )


def make_page(
    title: str, page_id: int | None, revision: int | None, text: str, redirect: str | None = None
) -> RawPage:
    """Return a page with a clean title; without `redirect`, the text is searched for a redirect."""
    return RawPage(clean_title(title), page_id, revision, text, redirect or find_redirect(text))
