"""Read articles in Wikimedia Enterprise's Structured Contents format: NDJSON, one article per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from tasks.errors import BadInput
from tasks.sources.streams import BROKEN, TooLong, open_packed, read_line, say
from tasks.sources.wikipedia.article import CELL, INFOBOX, MOST_BYTES, Skip, SkippedPage, clean_title
from tasks.sources.wikipedia.markup import make_label, make_value, tidy
from tasks.sources.wikipedia.pages import PageBuilder, PageText, UnreadablePage
from tasks.sources.wikipedia.wikitext import PageSource, RawPage

PATTERNS = ("*.ndjson", "*.jsonl", "*.ndjson.gz", "*.jsonl.gz")
INFOBOXES, SECTIONS = ("infoboxes", "infobox"), ("sections", "article_sections")
"""Field names: the current name, then the name in the first version of the format."""
DEEPEST = 30
"""Maximum nesting depth of sections, lists and fields."""
LONGEST_RECORD = 8 * MOST_BYTES
"""Maximum size of a line in bytes; a line contains an article with its links and citations."""


class StructuredContents(PageSource):
    """Reads a Structured Contents file, or a folder's files (.ndjson, .jsonl, .gz) sorted by name.

    The format separates infoboxes from the text, so infobox entries come first. The key and the label of an
    infobox entry are equal. A table follows the section that refers to the table, or the last section if no
    section does.
    """

    def __init__(self, path: Path, skip: Skip) -> None:
        super().__init__(skip)
        self._files = (
            sorted({file for pattern in PATTERNS for file in path.glob(pattern)}) if path.is_dir() else [path]
        )
        if not self._files:
            raise BadInput(
                path,
                "contains no file in the Structured Contents format",
                hint=f"expected {', '.join(PATTERNS)}",
            )

    def list_pages(self, *, only_titles: bool) -> Iterator[RawPage | SkippedPage]:
        """Yield pages for each line's article and its redirects; an article's text is the JSON line."""
        for file in self._files:
            yield from _read_file(file)

    def read_text(self, page: RawPage) -> PageText:
        """Convert an article's JSON line to parts. Raises UnreadablePage if the line has another layout."""
        try:
            return read_record(orjson.loads(page.text))
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise UnreadablePage(
                "broken", f"is not in the Structured Contents format: {say(error)}"
            ) from error


def read_record(record: Mapping[str, Any]) -> PageText:
    """Return an article's parts.

    Raises UnreadablePage for deep nesting, and TypeError for an invalid layout.
    """
    builder = PageBuilder("")
    for box in _list_first(record, INFOBOXES):
        number, builder.boxes = builder.boxes, builder.boxes + 1
        for name, value in _list_fields(box, 0):
            builder.add(INFOBOX, (name, name), value, number)
    tables = {str(table.get("identifier", "")): table for table in _list(record, "tables")}
    count = len(tables)
    for section in _list_first(record, SECTIONS):
        _read_part(builder, section, 1, tables)
    builder.enter(1, "")
    for name in list(tables):
        _read_table(builder, tables.pop(name))
    lost = len(_list(record, "tables")) - count
    problems = (f"{lost} tables with the identifier of another",) if lost else ()
    return PageText(tuple(builder.parts), {}, (*builder.problems, *problems))


def _read_file(path: Path) -> Iterator[RawPage | SkippedPage]:
    good = number = 0
    with open_packed(path) as file:
        while True:
            where = f"{path.name}, line {number + 1}"
            try:
                line = read_line(file, LONGEST_RECORD)
            except TooLong:
                number += 1
                yield SkippedPage(where, "too_large", f"a line of more than {LONGEST_RECORD:,} bytes")
                continue
            except BROKEN as error:
                yield SkippedPage(path.name, "truncated", f"after line {number:,}: {say(error)}", ended=True)
                break
            if not line:
                break
            number += 1
            if line.strip():
                for page in _read_line(line, where):
                    good += isinstance(page, RawPage)
                    yield page
    if not good:
        raise BadInput(
            path,
            "contains no article in the Structured Contents format",
            hint="expected NDJSON from Wikimedia Enterprise",
        )


def _read_line(line: bytes, where: str) -> Iterator[RawPage | SkippedPage]:
    try:
        record = orjson.loads(line)
    except ValueError as error:
        yield SkippedPage(where, "broken", f"is not valid JSON: {say(error)}")
        return
    name = record.get("name") if isinstance(record, dict) else None
    if not isinstance(name, str) or not name.strip():
        yield SkippedPage(where, "broken", "is not an article: has no name")
        return
    space = record.get("namespace")
    if isinstance(space, dict) and space.get("identifier", 0) != 0:
        return
    version = record.get("version")
    revision = version.get("identifier") if isinstance(version, dict) else None
    title = clean_title(name)
    yield RawPage(
        title, _integer(record.get("identifier")), _integer(revision), line.decode("utf-8", "replace")
    )
    redirects = record.get("redirects")
    for redirect in redirects if isinstance(redirects, list) else ():
        other = redirect.get("name") if isinstance(redirect, dict) else None
        if isinstance(other, str) and clean_title(other) != title:
            yield RawPage(clean_title(other), None, None, "", title)


def _read_part(builder: PageBuilder, part: Mapping[str, Any], depth: int, tables: dict[str, Any]) -> None:
    if depth > DEEPEST:
        raise UnreadablePage("broken", f"parts are nested more than {DEEPEST} levels deep")
    above = builder.headings
    if part.get("type") == "section":
        name = make_label(_text(part, "name"))
        builder.enter(depth, "" if depth == 1 and name == "Abstract" else name)
    if value := _text(part, "value"):
        for line in value.split("\n"):
            builder.add_text(tidy(line))
    for inner in _list(part, "has_parts"):
        _read_part(builder, inner, depth + (part.get("type") == "section"), tables)
    for reference in _list(part, "table_references"):
        if table := tables.pop(str(reference.get("identifier", "")), None):
            _read_table(builder, table)
    builder.headings = above  # after a nested section, the outer section continues


def _read_table(builder: PageBuilder, table: Mapping[str, Any]) -> None:
    number, builder.boxes = builder.boxes, builder.boxes + 1
    heads = [[make_label(_text(cell, "value")) for cell in _cells(row)] for row in table.get("headers") or ()]
    for row_number, row in enumerate(table.get("rows") or ()):
        texts = [make_value(_text(cell, "value")) for cell in _cells(row)]
        name = next(
            (text for text in texts[:3] if any(map(str.isalpha, text))), next(filter(None, texts), "")
        )
        for column, text in enumerate(texts):
            if text:
                levels = dict.fromkeys(head[column] for head in heads if column < len(head) and head[column])
                header = "" if text == name else name
                builder.add(CELL, (header, " / ".join(levels)), text, number, len(heads) + row_number, column)


def _list_fields(part: Mapping[str, Any], depth: int, heading: str = "") -> Iterator[tuple[str, str]]:
    if depth > DEEPEST:
        raise UnreadablePage("broken", f"parts are nested more than {DEEPEST} levels deep")
    name = make_label(_text(part, "name"))
    values = part.get("values")
    texts = [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
    value = make_value("\n".join(texts)) or make_value(_text(part, "value"))
    if value and part.get("type") != "image":
        yield name or heading, value
    for inner in _list(part, "has_parts"):
        yield from _list_fields(inner, depth + 1, name if part.get("type") == "section" and name else heading)


def _cells(row: Any) -> list[Mapping[str, Any]]:
    if not isinstance(row, list) or any(not isinstance(cell, dict) for cell in row):
        raise TypeError("a table row is not a list of cells")
    return row


def _list(part: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = part.get(name) or []
    if not isinstance(found, list) or any(not isinstance(part, dict) for part in found):
        raise TypeError(f"{name!r} is not a list of objects")
    return found


def _list_first(part: Mapping[str, Any], names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the objects in the first of these fields that is not empty."""
    return next(filter(None, (_list(part, name) for name in names)), [])


def _text(part: Mapping[str, Any], name: str) -> str:
    value = part.get(name)
    return value if isinstance(value, str) else ""


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None
