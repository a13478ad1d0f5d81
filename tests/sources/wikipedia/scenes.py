"""Test data for Wikipedia's sources: small sources of each kind with the same articles."""

import bz2
import json
from pathlib import Path
from xml.sax.saxutils import escape

from tasks.sources.wikipedia.article import ArticleSource, SkippedPage

ALM = "'''Alm''' is a town. It has {{convert|5|km|mi}} of walls.\n== Sights ==\nA tower."
HEAD = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n'
SITE = "<siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname></siteinfo>\n"


def make_page(
    title: str, text: str, number: int = 1, space: int = 0, redirect: str = "", model: str = "wikitext"
) -> str:
    to = f'<redirect title="{escape(redirect)}" />' if redirect else ""
    return (
        f"<page><title>{escape(title)}</title><ns>{space}</ns><id>{number}</id>{to}<revision><id>{number + 900}</id>"
        f"<parentid>5</parentid><contributor><username>Ann</username><id>77</id></contributor><model>{model}</model>"
        f'<format>text/x-wiki</format><text bytes="9" xml:space="preserve">{escape(text)}</text></revision></page>\n'
    )


PAGES = (
    make_page("Alm", ALM, 1),
    make_page("Alm town", "#REDIRECT [[Alm]]", 2, redirect="Alm"),
    make_page("Talk:Alm", "chat", 3, space=1),
    make_page("Old Alm", "#REDIRECT [[alm town]]", 4),
    make_page("A", "#REDIRECT [[B]]", 5, redirect="B"),
    make_page("B", "#REDIRECT [[A]]", 6, redirect="A"),
    make_page("Gone", "#REDIRECT [[Nowhere]]", 7, redirect="Nowhere"),
    make_page("Alm", "Another of the same title.", 8),
    make_page("Brack", "Brack & its river.", 9),
    make_page("Data", "{}", 10, model="json"),
    make_page("Blank", "", 11),
)


def write_dump(path: Path, pages=PAGES, end: str = "</mediawiki>\n") -> Path:
    content = (HEAD + SITE + "".join(pages) + end).encode()
    path.write_bytes(bz2.compress(content) if path.suffix == ".bz2" else content)
    return path


def write_lines(path: Path, records) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def read_all(source: ArticleSource, titles=None):
    """Read a source to its end: title -> article."""
    try:
        return {article.title: article for article in source.stream(titles)}
    finally:
        source.close()


class Heard(list[SkippedPage]):
    """Collects the skipped pages."""

    def reasons(self) -> dict[str, str]:
        return {skipped.where: skipped.reason for skipped in self}
