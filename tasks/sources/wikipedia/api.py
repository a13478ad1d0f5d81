"""Articles by MediaWiki's action API, one request a title, with every answer kept in a folder."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import orjson

from tasks.errors import BadInput
from tasks.files import write_beside
from tasks.sources.wikipedia.article import Article, Skip, Skipped, clean_title, is_title
from tasks.sources.wikipedia.pages import UnreadablePage
from tasks.sources.wikipedia.reading import PageReader
from tasks.sources.wikipedia.streams import say

AGENT = "benchloom/0.1 (question-answering benchmarks; {contact})"
MAXLAG_S = 5
TRIES = 6
LONGEST_WAIT_S = 120.0
TIMEOUT_S = 60.0
MOST_ANSWER = 32 * 2**20
"""Bytes of one answer."""
MOST_PAGES = 200
"""Answers to one title: each brings up to 500 redirects."""
AGAIN = frozenset({429, 500, 502, 503, 504})
WAIT_CODES = frozenset({"maxlag", "ratelimited", "readonly", "internal_api_error_DBQueryError"})
PARAMETERS = {
    "action": "query", "format": "json", "formatversion": "2", "redirects": "1",
    "prop": "revisions|redirects|info", "rvprop": "ids|content|contentmodel", "rvslots": "main",
    "rdnamespace": "0", "rdlimit": "max", "maxlag": str(MAXLAG_S),
}  # fmt: skip


class WikipediaApi:
    """`https://<language>.wikipedia.org/w/api.php`, or any MediaWiki's. See `ArticleSource`.

    Requests go one after the other, as the API's etiquette asks; where it is busy (`maxlag`, 429, 5xx) they
    are sent again after what `Retry-After` says. An answer that lies in `cache` is not asked for again.
    """

    def __init__(
        self,
        url: str,
        skip: Skip,
        cache: Path,
        contact: str = "no contact given",
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """contact: an address by which a wiki's keepers reach who asks. wait: waits so many seconds."""
        if not url.startswith(("https://", "http://")):
            raise BadInput(url, "is no address of an API", hint="https://en.wikipedia.org/w/api.php")
        self._url, self._skip, self._cache, self._wait = url, skip, cache, wait
        agent = AGENT.format(contact=" ".join(contact.split())).encode("ascii", "replace").decode()
        self._client = httpx2.Client(
            headers={"User-Agent": agent, "Accept-Encoding": "gzip"},
            timeout=TIMEOUT_S,
            follow_redirects=False,
        )
        self._reader = PageReader()

    def find(self, title: str) -> Article | None:
        """Find one article. See `ArticleSource`."""
        name = clean_title(title)
        if not is_title(name):
            return self._lose(Skipped(title[:200], "broken", "is no title"))
        pages, redirects, aliases = self._ask_all(name)
        page = pages[0] if pages else {}
        if not pages and redirects:
            return self._lose(Skipped(name, "redirect_circle"))
        if not pages or page.get("missing") or page.get("invalid"):
            return self._lose(Skipped(name, "redirect_nowhere" if redirects else "missing"))
        if page.get("ns", 0) != 0:
            return self._lose(Skipped(name, "missing", "is no article, but of another namespace"))
        try:
            revision = page["revisions"][0]
            main = revision["slots"]["main"]
            own, text, model = str(page["title"]), main["content"], main.get("contentmodel", "wikitext")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            return self._lose(Skipped(name, "broken", f"its revision has no text: {say(error)}"))
        if model != "wikitext" or not isinstance(text, str):
            return self._lose(Skipped(name, "not_wikitext", f"its model is {str(model)[:50]}"))
        try:
            read = self._reader.read(text, own)
        except UnreadablePage as error:
            return self._lose(Skipped(own, error.reason, error.detail))
        if not read.parts:
            return self._lose(Skipped(own, "empty", "no sentence, cell or entry"))
        ids = (page.get("pageid"), revision.get("revid"))
        page_id, revision_id = (value if isinstance(value, int) else None for value in ids)
        return Article(
            own, page_id, revision_id, tuple(sorted(aliases)), read.parts, read.unread, read.problems
        )

    def stream(self, titles: Collection[str] | None = None) -> Iterator[Article]:
        """Yield the articles of titles, in their order, each once. Raises BadInput without titles."""
        if not titles:
            raise BadInput(
                self._url, "is asked for articles by title alone", hint="--title T; all of them: a dump"
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

    def _lose(self, skipped: Skipped) -> Article | None:
        self._skip(skipped)
        return None

    def _ask_all(self, title: str) -> tuple[list[dict[str, Any]], list[Any], set[str]]:
        """Ask for all of a title: its pages, the redirects followed, its aliases."""
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
                    str(one.get("title")) for one in take_list(page, "redirects") if isinstance(one, dict)
                }
            if not pages:
                pages = found
            elif found and "revisions" in found[0]:
                pages[0].setdefault("revisions", found[0]["revisions"])
            following = answer.get("continue")
            if not isinstance(following, dict):
                return pages, followed, aliases
            more = {str(key): str(value) for key, value in following.items()}
        self._skip(Skipped(title, "too_large", f"more than {MOST_PAGES} answers; later aliases are left out"))
        return pages, followed, aliases

    def _ask(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        key = hashlib.sha256(orjson.dumps([self._url, parameters], option=orjson.OPT_SORT_KEYS)).hexdigest()
        path = self._cache / f"{key[:32]}.json"
        if path.is_file():
            try:
                answer = orjson.loads(path.read_bytes())["answer"]
            except (ValueError, KeyError, TypeError) as error:
                raise BadInput(
                    path, f"is no kept answer: {say(error)}", hint="remove it, and it is asked again"
                ) from error
            return dict(answer)
        answer = self._fetch(parameters)
        record = {"url": self._url, "parameters": dict(parameters), "answer": answer}
        with write_beside(path) as draft:
            draft.write_bytes(orjson.dumps(record, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2))
        return answer

    def _fetch(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Ask the API, again while it is busy. Raises BadInput for what it refuses, or if it stays busy."""
        problem, pause = "", 0.0
        for number in range(TRIES):
            if number:
                self._wait(min(pause or 2.0**number, LONGEST_WAIT_S))
            pause = 0.0
            try:
                status, after, body = self._get(parameters)
            except httpx2.HTTPError as error:
                problem = say(error)
                continue
            pause = after
            if status in AGAIN:
                problem = f"answers {status}"
                continue
            if status != 200:
                raise BadInput(self._url, f"answers {status}", hint="is it the address of an api.php?")
            try:
                answer = orjson.loads(body)
            except ValueError as error:
                raise BadInput(self._url, f"answers no JSON: {say(error)}") from error
            if not isinstance(answer, dict):
                raise BadInput(self._url, "answers no JSON object")
            fault = answer.get("error")
            if fault is None:
                return answer
            code, info = (
                (str(fault.get(name, ""))[:200] for name in ("code", "info"))
                if isinstance(fault, dict)
                else ("", "")
            )
            problem = f"{code}: {' '.join(info.split())}"
            if code not in WAIT_CODES:
                raise BadInput(self._url, f"refuses: {problem}")
        raise BadInput(
            self._url, f"is busy or out of reach after {TRIES} tries: {problem}", hint="try again later"
        )

    def _get(self, parameters: Mapping[str, str]) -> tuple[int, float, bytes]:
        with self._client.stream("GET", self._url, params=dict(parameters)) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MOST_ANSWER:
                    raise BadInput(self._url, f"answers more than {MOST_ANSWER:,} bytes")
            said = response.headers.get("retry-after", "").strip()
            return response.status_code, float(said) if said.isdigit() and len(said) < 7 else 0.0, bytes(body)


def take_list(answer: Mapping[str, Any], name: str) -> list[Any]:
    """Take a list of an answer; one that is none holds nothing."""
    found = answer.get(name)
    return found if isinstance(found, list) else []
