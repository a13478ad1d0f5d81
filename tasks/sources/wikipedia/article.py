"""The interface of Wikipedia sources: articles with their parts in order, and skipped pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote

TEXT, CELL, INFOBOX = "text", "cell", "infobox"
LICENCE = "CC BY-SA 4.0"
ATTRIBUTION = "Wikipedia contributors"
MOST_BYTES = 2 * 2**20
"""Maximum size of one page's text in bytes; MediaWiki's limit is the same."""
LONGEST_TITLE = 255
"""Maximum size of a title in bytes, as in MediaWiki."""
PATH = "/wiki/"
"""The part of a page's URL path before the title."""


@dataclass(frozen=True)
class Part:
    """A sentence, a table cell or an infobox entry.

    - `position`: index of the part in the article, in the order of the page.
    - `section`: the heading above the part; empty in the lead.
    - `parent`: the heading of the enclosing section; empty at the top level.
    - `headers`: empty for text; (row header, column header) for a cell; (key, label) for an infobox entry.
      Either header may be empty; header levels are joined by ` / `. The label is the displayed form of the
      key.
    - `table`: index of the table or infobox on the page, from 0.
    - `row`, `column`: position of a cell, from 0.
    """

    position: int
    kind: str
    section: str
    parent: str
    headers: tuple[str, ...]
    text: str
    table: int | None = None
    row: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Article:
    """A page of the main namespace.

    - `id`, `revision`: MediaWiki's numbers; None if the source does not contain them.
    - `aliases`: titles that redirect to the page, sorted.
    - `unread`: template without a conversion rule -> number of uses.
    - `problems`: descriptions of skipped content.
    - `looks`: key of skipped infobox entries that control the layout -> number of entries.
    """

    title: str
    id: int | None
    revision: int | None
    aliases: tuple[str, ...]
    parts: tuple[Part, ...]
    unread: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    looks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SkippedPage:
    """A page that a source skipped. `where`: a title, a file, or a line of a file.

    `reason`: broken, duplicate, empty, missing, not_wikitext, redirect_circle, redirect_nowhere, too_large,
    too_slow or truncated. `ended`: whether the source is unreadable beyond this point.
    """

    where: str
    reason: str
    detail: str = ""
    ended: bool = False


Skip = Callable[[SkippedPage], None]
"""Callback for every skipped page, so that skipped pages are not stored in memory."""


class ArticleSource(Protocol):
    """A stream of articles: only one page is in memory at a time; titles and redirects are on disk."""

    def find(self, title: str) -> Article | None:
        """Return the article with a title, following redirects; report a missing article, and return None.

        Raises BadInput if the source cannot be read, and DatabaseGone if a server does not answer.
        """

    def stream(self, titles: Collection[str] | None = None) -> Iterator[Article]:
        """Yield every article, or the articles with the given titles, once and in the source's order.

        Redirects are followed. Pages that cannot be read are skipped. Raises the same errors as `find`.
        """

    def close(self) -> None:
        """Release the source's files, processes and connections."""


def clean_title(title: str) -> str:
    """Return a title in MediaWiki's form: no underscores or fragment, single spaces, capitalised."""
    name = " ".join(title.partition("#")[0].replace("_", " ").split())
    first = name[:1].upper()
    # MediaWiki does not capitalise Georgian letters, or letters whose upper case is two letters (ß).
    if len(first) != 1 or "\u1c90" <= first <= "\u1cbf":
        return name
    return first + name[1:]


def read_path(text: str) -> str:
    """Return the clean title for a title or a URL path (`/wiki/Berkeley,_CA`, as in OTT-QA)."""
    return clean_title(unquote(text.removeprefix(PATH)) if text.startswith(PATH) else text)


def is_title(title: str) -> bool:
    """Return whether a cleaned title is valid for a page."""
    return 0 < len(title.encode("utf-8", "replace")) <= LONGEST_TITLE and not set(title) & set("<>[]{}|\n\0")
