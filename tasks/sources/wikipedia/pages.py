"""Convert a page's wikitext to its parts: sentences, table cells, and labelled infobox entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import mwparserfromhell
from mwparserfromhell.nodes import Heading, Tag, Template
from mwparserfromhell.parser import ParserError

from tasks.sources.wikipedia.article import CELL, INFOBOX, MOST_BYTES, TEXT, Part
from tasks.sources.wikipedia.markup import (
    FILE_NAME,
    Renderer,
    make_label,
    make_paragraphs,
    make_value,
    remove_notes,
)
from tasks.sources.wikipedia.sentences import split_sentences
from tasks.sources.wikipedia.tables import TableTooLarge, read_table

LOOKS = re.compile(
    r"(?:.*_)?(?:image|img|photo|logo|map|flag|seal|shield|crest|signature|sound)_?"
    r"(?:size|width|height|alt|upright|zoom|style|class|frame)?\d*$"
    r"|picture$|(?:.*_)?picture_?(?:size|width|height|alt|upright|zoom|style|class|frame)\d*$"
    r"|(?:above|below|label|data|header|body|title|caption|list)_?(?:style|class)\d*$"
    r"|(?:bg_?colou?r|background(?:_?colou?r)?|(?:text|box|header)_?colou?r|box_width|caption_align|italic_title)$"
    r"|(?:pattern_|leftarm|rightarm|body|shorts|socks)\w*\d+$|(?:pushpin_\w+|unit_pref|embed|nocat|show-medals)$"
)
"""Matches the keys of infobox entries that control the layout."""
PAIRS = (
    (re.compile(r"(.*)_date(\d*)$"), r"\1_title\2"),
    (re.compile(r"(.*)_name(\d*)$"), r"\1_type\2"),
    (re.compile(r"(.*)_name(\d*)$"), r"\1_title\2"),
    (re.compile(r"(.*)_info(\d*)(.*)$"), r"\1_name\2\3"),
    (re.compile(r"(.*)data(\d+)$"), r"\1label\2"),
    (re.compile(r"(.*)value(\d+)$"), r"\1name\2"),
    (re.compile(r"(leader)_name(\d*)$"), r"\1_title\2"),
    (re.compile(r"((?:area|population)_blank\d+)(?:_\w+)?$"), r"\1_title"),
)
"""Pattern of a value's key -> key of the entry with the label for this value: `established_date2` ->
`established_title2`."""
LOOK = re.compile(
    r"(?:#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3}))+$"
    r"|(?=.*\d)(?=.*[a-fA-F])[0-9a-fA-F]{6}$|\d{1,4} ?px$"
)
SIDE = re.compile(r"(?:.*_)?(?:align|float|label_position)\d*$")
"""Matches the keys of entries in which the values `left` and `right` control the layout.

In other entries, these values name a hand or a side of a road.
"""
CONTAINERS = frozenset(
    ["div", "center", "section", "onlyinclude", "noinclude", "blockquote", "span", "small", "big"]
)
"""Tags at the top level of a page that may contain headings."""
REDIRECT = re.compile(
    r"\s*#(?:redirect|weiterleitung|redirection|redirección|redireccion|rinvia|doorverwijzing|omdirigering"
    r"|перенаправление|aanstuur|przekierowanie|patrz|転送|重定向)\s*:?\s*\[\[([^\[\]|]{1,600})", re.IGNORECASE
)  # fmt: skip
LEFT = re.compile(r"\{\{|\}\}|\{\||\|\}|\|-|\|\||\[\[|\]\]|(?<!=)={2,6}(?!=)[^=]+={2,6}|^\||</?ref\b")
"""Matches markup that appears in a sentence only if the page's markup is broken."""


def read_infobox(template: Any, renderer: Renderer) -> Iterator[tuple[str, str, str]]:
    """Yield (key, label, value) for every non-empty infobox entry, in the order of the page.

    Entries that control the layout are not yielded, but counted by key in `renderer.looks`.
    """
    values: dict[str, str] = {}
    for parameter in template.params:
        key = str(parameter.name).strip()
        if parameter.showkey and key and len(key) <= 100:
            values[key] = make_value(renderer.render(parameter.value))
    labelling = {key: name for key in values if (name := _find_label(key, values))}
    for key, value in values.items():
        named = any(labelling[other] == key and values[other] for other in labelling)
        if value and not named and is_look(key, value):
            renderer.looks[key] += 1
        elif value and not named:
            label = (
                make_label(values[labelling[key]])
                if key in labelling
                else " ".join(key.replace("_", " ").split())
            )
            yield key, label, value


def is_look(key: str, value: str) -> bool:
    """Return whether an infobox entry controls the layout, such as an image file, a size or a colour."""
    if value in {"left", "right"} and SIDE.match(key.lower()):
        return True
    return any((LOOKS.match(key.lower()), FILE_NAME.match(value), LOOK.match(value)))


def _find_label(key: str, values: dict[str, str]) -> str:
    for pattern, name in PAIRS:
        if (found := pattern.match(key)) and values.get(other := found.expand(name)) and other != key:
            return other
    return ""


class UnreadablePage(ValueError):
    """Raised if a page's text cannot be read. `reason`: the same as in `SkippedPage`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True)
class PageText:
    """The parts of a page, and the content that was not converted; see the fields of `Article`."""

    parts: tuple[Part, ...]
    unread: dict[str, int]
    problems: tuple[str, ...]
    looks: dict[str, int] = field(default_factory=dict)


def find_redirect(text: str) -> str | None:
    """Return a redirect page's target title, unchanged; None if the page is not a redirect."""
    found = REDIRECT.match(text[:2000])
    return found.group(1).strip() if found else None


def read_page(text: str, title: str = "") -> PageText:
    """Convert wikitext to parts, in the order of the page.

    Raises UnreadablePage if the text exceeds `MOST_BYTES`, or if the parser fails.
    """
    if len(text) > MOST_BYTES or len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise UnreadablePage("too_large", f"{len(text):,} characters of wikitext")
    try:
        reader = PageBuilder(title, is_wikitext=True)
        # mwparserfromhell mishandles improperly nested quotes ('' and '''), so `Renderer` removes quotes.
        reader.read(mwparserfromhell.parse(remove_notes(text), skip_style_tags=True).nodes)
    except (ParserError, RecursionError) as error:
        raise UnreadablePage("broken", f"the parser failed: {type(error).__name__}") from error
    unread, looks = (dict(sorted(found.items())) for found in (reader.renderer.unread, reader.renderer.looks))
    return PageText(tuple(reader.parts), unread, tuple(reader.problems), looks)


def read_plain(text: str) -> PageText:
    """Convert plain text to parts; each line is a paragraph, and `== Heading ==` starts a section.

    MediaWiki's TextExtracts has this format. Raises UnreadablePage if the text exceeds `MOST_BYTES`.
    """
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise UnreadablePage("too_large", f"{len(text):,} characters of text")
    reader = PageBuilder("")
    for line in text.splitlines():
        heading = re.fullmatch(r"(={2,6})([^=\n].{0,300}?)\1", line.strip())
        if heading:
            reader.enter(len(heading.group(1)), heading.group(2).strip())
        elif line.strip():
            reader.add_text(" ".join(line.split()))
    return PageText(tuple(reader.parts), {}, ())


class PageBuilder:
    """Collects the parts of one page in order, with their section headings.

    `is_wikitext`: whether to drop sentences that contain markup. In wikitext, markup in a sentence is a sign
    of broken wikitext; in other sources, the markup is part of the text.
    """

    def __init__(self, title: str, *, is_wikitext: bool = False) -> None:
        self._is_wikitext = is_wikitext
        self.parts: list[Part] = []
        self.problems: list[str] = []
        self.renderer = Renderer(title)
        self.headings: list[tuple[int, str]] = []
        self._waiting: list[Any] = []
        self.boxes = 0
        self.left = 0

    def read(self, nodes: list[Any]) -> None:
        """Convert all nodes of a page to parts; count sentences with broken markup as a problem."""
        self._walk(nodes)
        self._flush()
        if self.left:
            self.problems.append(f"{self.left} sentences with broken markup")

    def enter(self, level: int, title: str) -> None:
        """Start a section with this heading, which ends sections of the same or a deeper level."""
        self.headings = [*((depth, name) for depth, name in self.headings if depth < level), (level, title)]

    def add_text(self, paragraph: str) -> None:
        """Add the sentences of a paragraph."""
        for sentence in split_sentences(paragraph):
            if self._is_wikitext and LEFT.search(sentence):
                self.left += 1
            elif any(map(str.isalnum, sentence)):
                self.add(TEXT, (), sentence)

    def _walk(self, nodes: list[Any]) -> None:
        for node in nodes:
            if isinstance(node, Heading):
                self._flush()
                self.enter(int(node.level), make_label(self.renderer.render(node.title)))
            elif isinstance(node, Tag) and node.contents is not None and _holds_headings(node):
                self._walk(node.contents.nodes)
            else:
                self._waiting.append(node)

    def _flush(self) -> None:
        """Convert the collected nodes to parts; the text before a table or infobox comes first."""
        run: list[Any] = []
        for node in self._waiting:
            run.append(node)
            if isinstance(node, Tag | Template) and self._is_box(node):
                self._read_prose(run)
                run = []
        self._waiting = []
        self._read_prose(run)

    def _is_box(self, node: Any) -> bool:
        name = str(node.tag if isinstance(node, Tag) else node.name).strip().lower()
        return name == "table" or "infobox" in name

    def _read_prose(self, nodes: list[Any]) -> None:
        if not nodes:
            return
        rendered = self.renderer.render(nodes)
        for paragraph in make_paragraphs(rendered):
            self.add_text(paragraph)
        # A box may contain another box, such as a table in a cell.
        while self.renderer.found:
            found, self.renderer.found = self.renderer.found, []
            for box in found:
                self._read_box(box)

    def _read_box(self, box: Any) -> None:
        number, self.boxes = self.boxes, self.boxes + 1
        if isinstance(box, Template):
            for key, label, value in read_infobox(box, self.renderer):
                self.add(INFOBOX, (key, label), value, number)
            return
        try:
            caption, cells = read_table(box, self.renderer)
        except TableTooLarge as error:
            self.problems.append(f"table {number}: {error}")
            return
        if caption:
            self.add_text(caption)
        for cell in cells:
            self.add(
                CELL,
                (cell.row_header, cell.column_header),
                cell.text,
                number,
                row=cell.row,
                column=cell.column,
            )

    def add(
        self,
        kind: str,
        headers: tuple[str, ...],
        text: str,
        table: int | None = None,
        row: int | None = None,
        column: int | None = None,
    ) -> None:
        """Add a part at the next position, in the current section."""
        section = self.headings[-1][1] if self.headings else ""
        parent = self.headings[-2][1] if len(self.headings) > 1 else ""
        self.parts.append(Part(len(self.parts), kind, section, parent, headers, text, table, row, column))


def _holds_headings(tag: Any) -> bool:
    if str(tag.tag).strip().lower() not in CONTAINERS:
        return False
    return any(isinstance(node, Heading) or _is_holder(node) for node in tag.contents.nodes)


def _is_holder(node: Any) -> bool:
    return isinstance(node, Tag) and node.contents is not None and _holds_headings(node)
