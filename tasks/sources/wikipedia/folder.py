"""Read articles from wikitext files, one page per file; the file's name is the title."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tasks.errors import BadInput
from tasks.sources.wikipedia.article import MOST_BYTES, Skip, SkippedPage, clean_title
from tasks.sources.wikipedia.wikitext import PageSource, RawPage, make_page

ENDINGS = (".txt", ".wiki", ".wikitext", ".mediawiki")
NO_PAGES = frozenset({"licence-note.txt", "license.txt", "licence.txt", "readme.txt"})
"""Lower-case names of files that are not pages."""


class WikitextFolder(PageSource):
    """Reads one wikitext file, or the wikitext files in a folder by name, without subfolders.

    See `ArticleSource`.
    """

    def __init__(self, path: Path, skip: Skip) -> None:
        super().__init__(skip)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        self._files = [
            file for file in files if file.suffix.lower() in ENDINGS and file.name.lower() not in NO_PAGES
        ]
        if not self._files:
            raise BadInput(
                path, "contains no wikitext file", hint=f"expected the suffix {', '.join(ENDINGS)}"
            )

    def list_pages(self, *, only_titles: bool) -> Iterator[RawPage | SkippedPage]:
        """Yield one page per file; with `only_titles`, read only the start of a file, to detect redirects."""
        for file in self._files:
            title = clean_title(file.stem)
            try:
                with file.open("rb") as opened:
                    # The extra byte shows that a page exceeds MOST_BYTES.
                    content = opened.read(4096 if only_titles else MOST_BYTES + 1)
                # The first 4096 bytes may end inside a character.
                text = content.decode("utf-8-sig", "ignore" if only_titles else "strict")
            except (OSError, UnicodeDecodeError) as error:
                problem = SkippedPage(
                    title, "broken", f"{file.name}: cannot be read: {' '.join(str(error).split())[:200]}"
                )
                if not only_titles:
                    yield RawPage(title, None, None, "", None, problem)
                    continue
                text = ""
            yield make_page(title, None, None, text)
