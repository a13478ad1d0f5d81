"""The interface of Wikipedia sources: articles of ordered parts, and skipped pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote

TEXT, CELL, INFOBOX = "text", "cell", "infobox"
LICENCE = "CC BY-SA 4.0"
ATTRIBUTION = "Wikipedia contributors"
MOST_BYTES = 2 * 2**20
"""Of one page's text: what MediaWiki itself allows."""
LONGEST_TITLE = 255
"""In bytes, as in MediaWiki."""
PATH = "/wiki/"
"""Of a page's address, before its title."""


@dataclass(frozen=True)
class Part:
    """A sentence, a table's cell or an infobox's entry.

    position: from 0 on, in the order of the page. section, parent: the heading it stands under and the one
    above that; empty in the lead. headers: none of a text; (row header, column header) of a cell, levels
    joined by ` / `, either may be empty; (key, label) of an infobox entry, label being what a reader sees.
    table: number of the page's table or infobox, from 0 on. row, column: of a cell, from 0 on.
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

    id, revision: MediaWiki's, None where a source does not know them. aliases: titles that redirect here,
    sorted. unread: templates that no rule turns into text, and how often; problems: what was left out of it;
    looks: keys of infobox entries that were left out as being about how the box looks, and how often.
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
    """A page that a source skipped. where: a title, a file or a line of one. reason: a fixed word.

    reason is one of: broken, duplicate, empty, missing, not_wikitext, redirect_circle, redirect_nowhere,
    too_large, too_slow, truncated. ended: whether the source could not be read past this.
    """

    where: str
    reason: str
    detail: str = ""
    ended: bool = False


Skip = Callable[[SkippedPage], None]
"""Called with everything that is skipped, so that none of it must be held in memory."""


class ArticleSource(Protocol):
    """A source of articles, read in streaming: a page is in memory, titles and redirects are on disk."""

    def find(self, title: str) -> Article | None:
        """Find the article of a title, following redirects; None, and a `SkippedPage`, where there is none.

        Raises BadInput if the source cannot be read at all, DatabaseGone if a server does not answer.
        """

    def stream(self, titles: Collection[str] | None = None) -> Iterator[Article]:
        """Yield every article once, in the source's order; with titles, only these, redirects followed.

        Raises as `find` does; pages that cannot be read are skipped.
        """

    def close(self) -> None:
        """Free what the source holds."""


def clean_title(title: str) -> str:
    """Write a title as MediaWiki does: no underscores, no fragment, single spaces, first letter large."""
    name = " ".join(title.partition("#")[0].replace("_", " ").split())
    first = name[:1].upper()
    # MediaWiki leaves a letter small whose large form is two (ß), and Georgian, which has no large ones.
    if len(first) != 1 or "\u1c90" <= first <= "\u1cbf":
        return name
    return first + name[1:]


def read_path(text: str) -> str:
    """Clean a title that may be written as the path of its page: `/wiki/Berkeley,_CA`, as OTT-QA has them."""
    return clean_title(unquote(text.removeprefix(PATH)) if text.startswith(PATH) else text)


def is_title(title: str) -> bool:
    """Return whether a cleaned title is one that a page can have."""
    return 0 < len(title.encode("utf-8", "replace")) <= LONGEST_TITLE and not set(title) & set("<>[]{}|\n\0")
