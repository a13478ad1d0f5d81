"""Convert parsed wikitext to plain text, and collect the tables and infoboxes in it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from mwparserfromhell.nodes import (
    Argument,
    Comment,
    ExternalLink,
    Heading,
    HTMLEntity,
    Tag,
    Template,
    Text,
    Wikilink,
)  # fmt: skip

from tasks.sources.wikipedia.arguments import Arguments, normalise_name
from tasks.sources.wikipedia.quantities import raise_text
from tasks.sources.wikipedia.templates import FRACTION_NAMES, expand, guess, is_unseen

DROPPED_TAGS = frozenset(
    {"ref", "references", "gallery", "timeline", "score", "imagemap", "templatestyles", "style", "script",
    "graph",
     "includeonly", "mapframe", "maplink", "inputbox", "indicator", "categorytree", "section", "hiero",
     "ce", "chem"}
)  # fmt: skip
BLOCK_TAGS = frozenset(
    {"p", "div", "blockquote", "poem", "center", "ul", "ol", "dl", "li", "dt", "dd", "hr", "br", "pre",
    "table", "tr"}
)  # fmt: skip
MEDIA = frozenset(
    {"file", "image", "media", "datei", "bild", "fichier", "archivo", "imagen", "ficheiro", "immagine",
    "bestand",
     "afbeelding", "lêer", "plik", "файл", "ファイル"}
)  # fmt: skip
UNSEEN_LINKS = MEDIA | frozenset(
    ["category", "kategorie", "catégorie", "categoría", "categoria", "categorie", "kategorija", "kategoria"]
)
INTERWIKI = re.compile(
    r"(?:[a-z]{2,3}|simple|zh-[a-z-]+|be-x-old|roa-[a-z]+|nds-nl|bat-smg|fiu-vro|map-bms):"
)
QUOTES = re.compile(r"'{2,}")
SWITCHES = re.compile(r"__[A-Z]{3,30}__")
FILE_NAME = re.compile(
    r"(?:File:|Image:)?[^\n|]{1,200}\.(?:svg|jpe?g|png|gif|tiff?|webp|og[gv]|webm|pdf|mid)$", re.IGNORECASE
)
INFOBOX = re.compile(r"(?:infobox|info box|infoboks|ficha|geobox)\b|.*\binfobox$")
INFOBOXES = frozenset(
    {"taxobox", "automatic taxobox", "speciesbox", "subspeciesbox", "chembox", "drugbox", "starbox",
    "protein",
     "enzyme", "personenleiste", "nrhp", "planetbox"}
)  # fmt: skip
NOTE = re.compile(r"<ref\b[^<>]*?(/?)>|</ref\s*>", re.IGNORECASE)
STRAY_TAG = re.compile(
    r"</?(?:span|small|big|div|center|b|i|u|s|br|font|sub|sup|ref|references|p|t[drh]|table|tbody|abbr|cite"
    r"|em|strong|code|includeonly|noinclude|onlyinclude|blockquote|nowiki|li|ul|ol)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)  # fmt: skip


def remove_notes(text: str) -> str:
    """Return wikitext without comments and references; the parser mishandles unclosed references.

    A reference ends at the next closing tag. If a reference is never closed, only its opening tag is removed.
    The run time is linear.
    """
    kept, place = [], 0
    while (start := text.find("<!--", place)) >= 0:
        kept.append(text[place:start])
        end = text.find("-->", start + 4)
        place = end + 3 if end >= 0 else len(text)
    text = "".join([*kept, text[place:]])
    tags = list(NOTE.finditer(text))
    last = max((n for n, tag in enumerate(tags) if tag.group().startswith("</")), default=-1)
    kept, place, inside = [], 0, False
    for number, tag in enumerate(tags):
        if not inside:
            kept.append(text[place : tag.start()])
            inside = number < last and tag.group(1) == ""
        elif tag.group().startswith("</"):
            inside = False
        place = tag.end()
    return "".join([*kept, text[place:]])


class Renderer:
    """Converts the parsed wikitext of one page to text.

    - `found`: tables and infoboxes found since the list was last emptied, in order.
    - `unread`: template without a rule -> number of uses.
    - `looks`: key of infobox entries that control the layout -> number of entries.
    """

    def __init__(self, title: str = "") -> None:
        self.found: list[Any] = []
        self.unread: Counter[str] = Counter()
        self.looks: Counter[str] = Counter()
        self._title = title

    def render(self, code: Any) -> str:
        """Convert a Wikicode object or nodes to text; blocks, lists and breaks become line breaks."""
        nodes = list(getattr(code, "nodes", code))
        pieces: list[str] = []
        for place, node in enumerate(nodes):
            piece = self._render_node(node, nodes, place)
            if _is_fraction(node) and piece[:1].isdigit() and pieces and pieces[-1][-1:].isdigit():
                pieces.append(" ")  # so that 5{{frac|1|2}} does not become 51/2
            pieces.append(piece)
        return SWITCHES.sub("", QUOTES.sub(_keep_quotes, "".join(pieces)))

    def _render_node(self, node: Any, nodes: list[Any], place: int) -> str:
        if isinstance(node, Text):
            return str(node.value)
        if isinstance(node, Wikilink):
            return self._render_link(node)
        if isinstance(node, Template):
            return self._render_template(node, _stands_alone(nodes, place))
        if isinstance(node, Tag):
            return self._render_tag(node)
        if isinstance(node, ExternalLink):
            return self._render_external(node)
        if isinstance(node, HTMLEntity):
            return _decode(node)
        if isinstance(node, Heading):
            return f"\n\n{self.render(node.title)}\n\n"
        if isinstance(node, Argument):
            return self.render(node.default) if node.default is not None else ""
        if not isinstance(node, Comment):
            self.unread[type(node).__name__.lower()] += 1
        return ""

    def _render_link(self, link: Any) -> str:
        target = str(link.title).strip()
        prefix, colon, _ = target.partition(":")
        if colon and prefix.strip().lower() in UNSEEN_LINKS:
            return ""
        if INTERWIKI.match(target) and link.text is None:
            return ""
        text = self.render(link.text) if link.text is not None else self.render(link.title)
        return text.lstrip(":") if link.text is None else text

    def _render_external(self, link: Any) -> str:
        if link.title is not None:
            return self.render(link.title)
        return "" if link.brackets else str(link.url)

    def _render_template(self, template: Any, alone: bool) -> str:
        name = normalise_name(str(template.name))
        if is_infobox(name):
            self.found.append(template)
            return "\n\n"
        if is_unseen(name):
            return ""
        if name in {"pagename", "fullpagename", "subst:pagename"}:
            return self._title
        arguments = Arguments.read(template, self.render)
        text = expand(arguments)
        if text is None:
            self.unread[name[:100]] += 1
            text = "" if alone else guess(arguments)
        return text

    def _render_tag(self, tag: Any) -> str:
        name = str(tag.tag).strip().lower()
        if name in DROPPED_TAGS:
            return ""
        if name == "table":
            self.found.append(tag)
            return "\n\n"
        text = self.render(tag.contents) if tag.contents is not None else ""
        if name == "br":
            return f"\n{text}"
        if name == "sup":
            return raise_text(text)
        if name == "nowiki":
            return str(tag.contents or "")
        if name in BLOCK_TAGS:
            return f"\n\n{text}\n\n" if not tag.wiki_markup else f"\n\n{text}"
        return text


def is_infobox(name: str) -> bool:
    """Return whether a template with this normalised name is an infobox."""
    return name in INFOBOXES or INFOBOX.match(name) is not None


def make_paragraphs(text: str) -> list[str]:
    """Split rendered text into paragraphs at blank lines; a single line break becomes a space."""
    pieces = re.split(r"\n\s*\n", text)
    return [line for piece in pieces if (line := tidy(piece.replace("\n", " ")))]


def make_value(text: str) -> str:
    """Return a rendered value on one line, with its lines joined by `; `."""
    joined = ""
    for line in filter(None, map(tidy, text.split("\n"))):
        if joined:
            glued = line[0] in "(,;)–" or joined[-1] in "(,;:–/&-"
            joined += " " if glued else "; "
        joined += line
    return joined


def make_label(text: str) -> str:
    """Return a rendered header or label on one line."""
    return tidy(text.replace("\n", " ")).strip(" :")


def tidy(text: str) -> str:
    """Return text on one line, without stray tags or the gaps that templates leave: `( , born 1950)`."""
    if "<" in text:
        text = STRAY_TAG.sub(" ", text)
    # Pages that were escaped twice still contain this entity.
    text = text.replace("&nbsp;", " ")
    text = " ".join(text.replace("\u200b", "").replace("\u00ad", "").replace("\ufeff", "").split())
    # The pattern's run time is quadratic in repeated spaces, so they are collapsed first.
    if "equivalent to" in text:
        text = re.sub(r" ?\((?:equivalent|equal) to [^\d()]*\)", "", text)
    text = re.sub(r"\(\s*[;,:]\s*", "(", re.sub(r"[;,:]?\s+\)", ")", re.sub(r"\(\s+", "(", text)))
    text = re.sub(r"\s*\((?:[\s;,:/]|or|and)*\)", "", text)
    text = re.sub(r" +([,.;:!?])(?=\s|$)", r"\1", text)
    return re.sub(r",(?:\s*,)+", ",", text).lstrip(":;, ").rstrip()


def _stands_alone(nodes: list[Any], place: int) -> bool:
    """Return whether a template is alone on its line."""
    before = str(nodes[place - 1]) if place else "\n"
    after = str(nodes[place + 1]) if place + 1 < len(nodes) else "\n"
    return before.rstrip(" \t").endswith("\n") and after.lstrip(" \t")[:1] in {"\n", ""} and len(nodes) > 1


def _is_fraction(node: Any) -> bool:
    return isinstance(node, Template) and normalise_name(str(node.name)) in FRACTION_NAMES


def _keep_quotes(found: re.Match[str]) -> str:
    count = len(found.group())
    return "'" if count == 4 else "'" * max(0, count - 5)


def _decode(entity: Any) -> str:
    try:
        text = str(entity.normalize())
    except (ValueError, OverflowError):
        return str(entity)
    if "\ud800" <= text <= "\udfff":
        return "\ufffd"  # a lone surrogate, which cannot be written to a file
    return " " if text in {"\u00a0", "\u2009", "\u200a", "\u2002", "\u2003"} else text.replace("\n", " ")
