"""Stream articles from an untrusted pages-articles dump: XML, plain or compressed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.sax import SAXException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import create_parser

from tasks.errors import BadInput
from tasks.sources.streams import BROKEN, CHUNK, open_packed, say
from tasks.sources.wikipedia.article import MOST_BYTES, Skip, SkippedPage
from tasks.sources.wikipedia.wikitext import PageSource, RawPage, make_page

# Maximum nesting depth of XML elements.
DEEPEST = 20
FIELDS = {
    ("page", "title"), ("page", "ns"), ("page", "id"), ("page", "revision", "id"),
    ("page", "revision", "model"), ("page", "revision", "text"),
}  # fmt: skip
LONGEST_TOKEN = 16 * 2**20
"""Maximum number of bytes of a tag or comment; in real dumps, both are shorter."""


class Dump(PageSource):
    """A pages-articles dump in MediaWiki's export format (.xml, .xml.bz2, .xml.gz). See `ArticleSource`.

    Raises BadInput if the file is not an export, or declares a document type (which could define entities).
    """

    def __init__(self, path: Path, skip: Skip) -> None:
        super().__init__(skip)
        self._path = path

    def list_pages(self, *, only_titles: bool) -> Iterator[RawPage | SkippedPage]:
        """Yield the pages of namespace 0; if the file is truncated, the last value is a `SkippedPage`."""
        parser, handler = create_parser(forbid_dtd=True), _Pages()
        parser.setContentHandler(handler)
        quiet = 0
        with open_packed(self._path) as file:
            try:
                while data := file.read1(CHUNK):
                    seen = handler.events
                    parser.feed(data)
                    quiet = 0 if handler.events > seen else quiet + len(data)
                    if quiet > LONGEST_TOKEN:
                        raise SAXException("a tag or comment is never closed")  # noqa: TRY301
                    yield from handler.take()
                if not handler.opened:
                    raise SAXException("the file has no XML element")  # noqa: TRY301
                parser.close()
            except DefusedXmlException as error:
                raise BadInput(
                    self._path, f"contains a DOCTYPE, which dumps never contain: {say(error)}"
                ) from error
            except (SAXException, LookupError, ValueError, *BROKEN) as error:  # LookupError: unknown encoding
                yield from handler.take()
                if not handler.opened:
                    raise BadInput(
                        self._path,
                        f"is not a MediaWiki XML export: {say(error)}",
                        hint="give a file such as pages-articles.xml.bz2",
                    ) from error
                yield SkippedPage(
                    self._path.name, "truncated", f"after {handler.last!r}: {say(error)}", ended=True
                )
        yield from handler.take()


class _Pages(ContentHandler):
    """Collects pages; at most `MOST_BYTES` characters of each text are stored."""

    def __init__(self) -> None:
        super().__init__()
        self.events = 0
        self.opened = False
        self.last = ""
        self._done: list[RawPage | SkippedPage] = []
        self._path: list[str] = []
        self._fields: dict[tuple[str, ...], list[str]] = {}
        self._sizes: dict[tuple[str, ...], int] = {}
        self._redirect: str | None = None

    def take(self) -> list[RawPage | SkippedPage]:
        """Return the pages that were completed since the last call."""
        done, self._done = self._done, []
        return done

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802 (SAX's)
        """Handle the start of an element.

        Raises SAXException if the file is not a dump, or if its elements are nested too deeply.
        """
        self.events += 1
        if not self.opened and name != "mediawiki":
            raise SAXException(f"expected the root element <mediawiki>, got <{name[:40]}>")
        self.opened = True
        self._path.append(name)
        if len(self._path) > DEEPEST:
            raise SAXException(f"elements are nested more than {DEEPEST} levels deep")
        if self._path[1:] == ["page"]:
            self._fields, self._sizes, self._redirect = {}, {}, None
        elif self._path[1:] == ["page", "redirect"]:
            self._redirect = attrs.get("title")
        elif self._path[1:] == ["page", "revision"]:
            # A full history has many revisions per page; the last revision counts, as in pages-articles.
            for key in [key for key in self._fields if key[1] == "revision"]:
                del self._fields[key], self._sizes[key]

    def characters(self, content: str) -> None:
        """Collect the text of the fields in `FIELDS`."""
        self.events += 1
        key = tuple(self._path[1:])
        if key in FIELDS:
            size = self._sizes[key] = self._sizes.get(key, 0) + len(content)
            if size <= MOST_BYTES:
                self._fields.setdefault(key, []).append(content)

    def endElement(self, name: str) -> None:  # noqa: N802 (SAX's)
        """Handle the end of an element, which may complete a page."""
        self.events += 1
        if self._path[1:] == ["page"]:
            self._end_page()
        self._path.pop()

    def _end_page(self) -> None:
        title = self._text("page", "title")
        self.last = title[:100]
        if self._text("page", "ns").strip() not in {"0", ""}:
            return
        text = self._text("page", "revision", "text")
        page_id, revision = self._number("page", "id"), self._number("page", "revision", "id")
        size = self._sizes.get(("page", "revision", "text"), 0)
        model = self._text("page", "revision", "model").strip() or "wikitext"
        page = make_page(title, page_id, revision, text, self._redirect)
        problem = None
        if not title.strip():
            self._done.append(SkippedPage(f"page {page_id}", "broken", "has no title"))
            return
        if size > MOST_BYTES:
            problem = SkippedPage(page.title, "too_large", f"{size:,} characters of wikitext")
        elif model != "wikitext":
            problem = SkippedPage(page.title, "not_wikitext", f"its model is {model[:50]}")
        elif not text.strip():
            problem = SkippedPage(page.title, "empty", "has no text")
        if problem is not None:
            page = RawPage(page.title, page_id, revision, "", page.redirect, problem)
        self._done.append(page)

    def _text(self, *path: str) -> str:
        return "".join(self._fields.get(path, ()))

    def _number(self, *path: str) -> int | None:
        text = self._text(*path).strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
