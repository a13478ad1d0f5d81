"""Fetch articles from MediaWiki's action API, one title per request; every response is cached in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tasks.errors import BadInput, DatabaseGone
from tasks.sources.answers import KeptAnswers
from tasks.sources.streams import say
from tasks.sources.web import MEDIAWIKI_FIELDS, Client, WebServer, check_accepted, check_passing
from tasks.sources.wikipedia.article import Article, Skip, SkippedPage, clean_title, is_title
from tasks.sources.wikipedia.pages import UnreadablePage
from tasks.sources.wikipedia.reading import PageReader

MOST_PAGES = 200
"""Maximum number of responses per title; a response contains up to 500 redirects."""
PARAMETERS = {
    **MEDIAWIKI_FIELDS, "action": "query", "redirects": "1",
    "prop": "revisions|redirects|info", "rvprop": "ids|content|contentmodel", "rvslots": "main",
    "rdnamespace": "0", "rdlimit": "max",
}  # fmt: skip


class WikipediaApi:
    """The API `https://<language>.wikipedia.org/w/api.php`, or any other MediaWiki API. See `ArticleSource`.

    If a response is in the folder `cache`, the request is not sent again. Raises DatabaseGone if the API does
    not answer.
    """

    def __init__(
        self, server: WebServer, skip: Skip, cache: Path, wait: Callable[[float], None] = time.sleep
    ) -> None:
        """Store the settings. `wait`: called with the number of seconds to wait before a retry."""
        self._server, self._skip = server, skip
        self._kept, self._client = KeptAnswers(cache, server.url), Client(server, wait)
        self._reader = PageReader()

    def find(self, title: str) -> Article | None:
        """Return the article with this title. See `ArticleSource`."""
        name = clean_title(title)
        if not is_title(name):
            return self._lose(SkippedPage(title[:200], "broken", "is not a valid title"))
        pages, redirects, aliases = self._ask_all(name)
        page = pages[0] if pages else {}
        if not pages and redirects:
            return self._lose(SkippedPage(name, "redirect_circle"))
        if not pages or page.get("missing") or page.get("invalid"):
            return self._lose(SkippedPage(name, "redirect_nowhere" if redirects else "missing"))
        if page.get("ns", 0) != 0:
            return self._lose(
                SkippedPage(name, "missing", "is in another namespace, so it is not an article")
            )
        try:
            revision = page["revisions"][0]
            main = revision["slots"]["main"]
            own, text, model = str(page["title"]), main["content"], main.get("contentmodel", "wikitext")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            return self._lose(SkippedPage(name, "broken", f"its revision has no text: {say(error)}"))
        if model != "wikitext" or not isinstance(text, str):
            return self._lose(SkippedPage(name, "not_wikitext", f"its model is {str(model)[:50]}"))
        try:
            read = self._reader.read(text, own)
        except UnreadablePage as error:
            return self._lose(SkippedPage(own, error.reason, error.detail))
        if not read.parts:
            return self._lose(SkippedPage(own, "empty", "no sentence, cell or entry"))
        ids = (page.get("pageid"), revision.get("revid"))
        page_id, revision_id = (value if isinstance(value, int) else None for value in ids)
        others = tuple(sorted(aliases))
        return Article(own, page_id, revision_id, others, read.parts, read.unread, read.problems, read.looks)

    def stream(self, titles: Collection[str] | None = None) -> Iterator[Article]:
        """Yield the distinct articles with these titles, in order. Raises BadInput if no titles are given."""
        if not titles:
            raise BadInput(
                self._server.url,
                "serves articles only by title",
                hint="use --title T, or a dump for all articles",
            )
        given: set[str] = set()
        for title in dict.fromkeys(titles):
            article = self.find(title)
            if article is not None and article.title not in given:
                given.add(article.title)
                yield article

    def close(self) -> None:
        """Close the connection and the child process."""
        self._client.close()
        self._reader.close()

    def _lose(self, skipped: SkippedPage) -> Article | None:
        self._skip(skipped)
        return None

    def _ask_all(self, title: str) -> tuple[list[dict[str, Any]], list[Any], set[str]]:
        """Send all requests for a title; return the title's pages, the followed redirects and aliases."""
        pages: list[dict[str, Any]] = []
        followed: list[Any] = []
        aliases: set[str] = set()
        more: Mapping[str, str] = {}
        for _ in range(MOST_PAGES):
            answer = self._ask({**PARAMETERS, "titles": title, **more})
            query = answer.get("query")
            query = query if isinstance(query, dict) else {}
            found = [page for page in take_list(query, "pages") if isinstance(page, dict)]
            followed += take_list(query, "redirects")
            for page in found:
                aliases |= {
                    str(redirect.get("title"))
                    for redirect in take_list(page, "redirects")
                    if isinstance(redirect, dict)
                }
            if not pages:
                pages = found
            elif found and "revisions" in found[0]:
                # If a request is continued, the text of the page may come only in a later response.
                pages[0].setdefault("revisions", found[0]["revisions"])
            following = answer.get("continue")
            if not isinstance(following, dict):
                return pages, followed, aliases
            more = {str(key): str(value) for key, value in following.items()}
        self._skip(
            SkippedPage(title, "too_large", f"more than {MOST_PAGES} answers; later aliases are left out")
        )
        return pages, followed, aliases

    def _ask(self, fields: Mapping[str, str]) -> dict[str, Any]:
        return self._kept.ask_once(fields, lambda: self._ask_server(fields))

    def _ask_server(self, fields: Mapping[str, str]) -> dict[str, Any]:
        answer = self._client.ask("GET", fields, "application/json", check_passing)
        check_accepted(answer, self._server.url)
        if not isinstance(answer, dict):
            raise DatabaseGone(f"{self._server.url}: the response is not a JSON object")
        return answer


def take_list(answer: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list in a response; empty if the value is not a list."""
    found = answer.get(name)
    return found if isinstance(found, list) else []
