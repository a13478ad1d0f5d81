"""Articles of a JSON file `{title: text}` of plain text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ijson

from tasks.errors import BadInput
from tasks.sources.wikipedia.article import Skip, Skipped, clean_title
from tasks.sources.wikipedia.pages import PageText, read_plain
from tasks.sources.wikipedia.streams import BROKEN, Metered, TooLong, open_bytes, say
from tasks.sources.wikipedia.wikitext import PageSource, RawPage


class PlainTexts(PageSource):
    """One object of titles and their texts; .json or .json.gz. See `ArticleSource`."""

    def __init__(self, path: Path, skip: Skip) -> None:
        super().__init__(skip)
        self._path = path

    def read_text(self, page: RawPage) -> PageText:
        """Read plain text: no parser that could hang stands behind it."""
        return read_plain(page.text)

    def list_pages(self, *, only_titles: bool) -> Iterator[RawPage | Skipped]:
        """Yield a page a title; a damaged end of the file is a `Skipped` that ended it."""
        count = 0
        with open_bytes(self._path) as file:
            metered = Metered(file)
            try:
                for title, text in ijson.kvitems(metered, ""):
                    metered.reset()
                    count += 1
                    if isinstance(text, str):
                        yield RawPage(clean_title(title), None, None, text)
                    elif only_titles:
                        yield Skipped(
                            title[:200], "broken", f"its value is no text but a {type(text).__name__}"
                        )
            except (ijson.JSONError, TooLong, UnicodeDecodeError, RecursionError, *BROKEN) as error:
                if not count:
                    raise BadInput(self._path, f"is no JSON of titles and texts: {say(error)}") from error
                yield Skipped(
                    self._path.name, "truncated", f"after {count:,} titles: {say(error)}", ended=True
                )
        if not count:
            raise BadInput(self._path, "is no JSON of titles and texts", hint='{"title": "text"}')
