"""Read articles from a JSON file `{title: text}` of plain text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ijson

from tasks.errors import BadInput
from tasks.sources.streams import BROKEN, Metered, TooLong, open_packed, say
from tasks.sources.wikipedia.article import Skip, SkippedPage, read_path
from tasks.sources.wikipedia.pages import PageText, read_plain
from tasks.sources.wikipedia.wikitext import PageSource, RawPage


class PlainTexts(PageSource):
    """Reads a .json or .json.gz object that maps titles or page paths to texts. See `ArticleSource`."""

    def __init__(self, path: Path, skip: Skip) -> None:
        super().__init__(skip)
        self._path = path

    def read_text(self, page: RawPage) -> PageText:
        """Convert plain text to parts, without a child process: there is no parser that could hang."""
        return read_plain(page.text)

    def list_pages(self, *, only_titles: bool) -> Iterator[RawPage | SkippedPage]:
        """Yield one page per title; if the file is truncated, the last value is a `SkippedPage`."""
        count = 0
        with open_packed(self._path) as file:
            metered = Metered(file)
            try:
                for title, text in _list_texts(metered):
                    count += 1
                    if text is not None:
                        yield RawPage(read_path(title), None, None, text)
                    elif only_titles:
                        yield SkippedPage(title[:200], "broken", "its value is not a string")
            except (ijson.JSONError, TooLong, UnicodeDecodeError, RecursionError, *BROKEN) as error:
                if not count:
                    raise BadInput(
                        self._path, f"is not a JSON file with titles and texts: {say(error)}"
                    ) from error
                yield SkippedPage(
                    self._path.name, "truncated", f"after {count:,} titles: {say(error)}", ended=True
                )
        if not count:
            raise BadInput(
                self._path, "is not a JSON file with titles and texts", hint='expected {"title": "text"}'
            )


def _list_texts(file: Metered) -> Iterator[tuple[str, str | None]]:
    """Yield the (title, text) pairs of a JSON object; the text is None if the value is not a string."""
    depth = 0
    title: str | None = None
    for event, value in ijson.basic_parse(file):
        if event in {"end_map", "end_array"}:
            depth -= 1
        if event == "map_key" and depth == 1:
            title = value
        elif depth == 1 and title is not None and event != "end_map":
            file.reset()
            yield title, value if event == "string" else None
            title = None
        if event in {"start_map", "start_array"}:
            if depth == 0 and event != "start_map":
                raise TooLong("is not a JSON object")
            depth += 1
