"""Send requests to public servers one at a time, with a user agent, and obey Retry-After.

`Client` works with any JSON API; the functions that read error objects are for MediaWiki APIs.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import re
import reprlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

import aiohttp
import orjson

from tasks.errors import BadInput, DatabaseGone

# HTTP statuses of temporary failures, after which a request is sent again.
RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
BLOCK = 2**16
# Maximum number of characters of a server's message in an error.
SAID = 200
WRONG_ADDRESS = "is it the URL of an API?"
MEDIAWIKI_FIELDS = {"format": "json", "formatversion": "2", "maxlag": "5"}
"""Parameters of every MediaWiki request; if replication lags over 5 seconds, the server returns an error."""
PASSING = frozenset(
    {
        "maxlag",
        "ratelimited",
        "readonly",
        "failed-save",
        "internal_api_error_DBQueryError",
        "internal_api_error_DBQueryTimeoutError",
    }
)
"""Codes of temporary errors in MediaWiki's API."""


@dataclass(frozen=True)
class WebServer:
    """A server, with timeouts and limits for requests.

    - `contact`: the user's e-mail address or web page.
    - `retries`: the maximum number of retries per request.
    - `patience_s`: the maximum total wait in seconds per request.
    - `most_bytes`: the maximum size of a response in bytes.
    """

    url: str
    contact: str = ""
    timeout_s: float = 70.0
    retries: int = 8
    first_wait_s: float = 1.0
    patience_s: float = 900.0
    most_bytes: int = 256 * 2**20

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            host = parts.hostname
        except ValueError:
            host = None
        if host is not None and (parts.username or parts.password):
            raise BadInput(
                "the server",
                f"the URL of {host} contains a user name or password, which Benchloom never sends",
            )
        if host is None or parts.scheme not in ("http", "https"):
            raise BadInput(
                "the server", f"{self.url[:80]!r} is not a valid URL", hint="expected https://host/path"
            )
        if not self.contact and not is_loopback(host):
            raise BadInput(
                "--contact",
                "is missing",
                hint=f"{host} requires a contact address: your email address or web address",
            )
        if any(mark in self.contact for mark in "()\r\n") or not self.contact.isprintable():
            raise BadInput(
                "--contact", f"{self.contact[:40]!r} is neither an email address nor a web address"
            )


class NotYet(Exception):
    """Raised if the server reports a temporary failure."""


class Client:
    """An HTTP client for JSON with a private event loop; do not use it inside a running event loop."""

    def __init__(self, server: WebServer, sleep: Callable[[float], None] = time.sleep) -> None:
        self._server, self._sleep = server, sleep
        self._runner = asyncio.Runner()
        self._session: aiohttp.ClientSession | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and the event loop."""
        if self._session is not None:
            self._runner.run(self._session.close())
        self._runner.close()

    def ask(
        self,
        method: Literal["GET", "POST"],
        fields: Mapping[str, str],
        accept: str,
        check: Callable[[object], None] = lambda reply: None,
    ) -> object:
        """Send fields as a query (GET) or a form (POST); return the parsed JSON response.

        `accept`: the Accept header. `check`: function that raises NotYet if the response asks the client to
        retry later. Raises DatabaseGone if the request fails, or if it still fails after all retries.
        """
        server, waited, wait = self._server, 0.0, self._server.first_wait_s
        for attempt in range(server.retries + 1):
            asked: float | None = None
            try:
                status, headers, body = self._runner.run(self._send(method, fields, accept))
                asked = read_retry_after(headers.get("Retry-After"))
                problem = f"answered {status}: {tell(body)}"
                if status == 404:
                    raise DatabaseGone(f"{server.url}: {problem} ({WRONG_ADDRESS})")
                if status == 200 and headers.get("Content-Type", "").startswith("text/html"):
                    raise DatabaseGone(
                        f"{server.url}: returned an HTML page instead of JSON ({WRONG_ADDRESS})"
                    )
                if status == 200:
                    reply = orjson.loads(body)
                    check(reply)
                    return reply
                if status not in RETRIED:
                    raise DatabaseGone(f"{server.url}: {problem}")
            except NotYet as error:
                problem = str(error)
            except orjson.JSONDecodeError as error:
                problem = f"returned invalid JSON: {error}"
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                problem = tell(f"{type(error).__name__}: {error}")
            pause = max(wait, asked or 0.0)
            if attempt == server.retries or waited + pause > server.patience_s:
                break
            self._sleep(pause)
            waited, wait = waited + pause, min(wait * 2, 60.0)
        raise DatabaseGone(f"{server.url}: {problem} ({attempt + 1} attempts)")

    async def _send(
        self, method: str, fields: Mapping[str, str], accept: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            contact = f" ({self._server.contact})" if self._server.contact else ""
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self._server.timeout_s),
                headers={"User-Agent": f"benchloom/{version('benchloom')}{contact}"},
                # A proxy from the environment would look for a loopback address on its own machine.
                trust_env=not is_loopback(urlsplit(self._server.url).hostname or ""),
            )
        request = self._session.request(
            method,
            self._server.url,
            params=fields if method == "GET" else None,
            data=None if method == "GET" else fields,
            headers={"Accept": accept},
            allow_redirects=False,
        )
        async with request as reply:
            body = bytearray()
            # Content-Length may be missing or wrong, so the received bytes are counted.
            async for block in reply.content.iter_chunked(BLOCK):
                body += block
                if len(body) > self._server.most_bytes:
                    raise DatabaseGone(
                        f"{self._server.url}: sent more than {self._server.most_bytes:,} bytes"
                    )
            return reply.status, reply.headers, bytes(body)


def read_retry_after(text: str | None) -> float | None:
    """Return the wait in seconds that a Retry-After header requests; None if the header is not valid."""
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def is_loopback(host: str) -> bool:
    """Return whether a host name or address refers to the local machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def tell(said: object) -> str:
    """Convert a server's response (bytes, text or JSON) to one line of at most 200 characters."""
    if isinstance(said, bytes):
        said = said[:SAID].decode("utf-8", "replace")
    text = said if isinstance(said, str) else reprlib.repr(said)
    return "".join(mark for mark in " ".join(text[:SAID].split()) if mark.isprintable())


def find_error(reply: object) -> dict[str, object]:
    """Return the error object in a MediaWiki API response; empty if the response has no error."""
    error = reply.get("error") if isinstance(reply, dict) else None
    return error if isinstance(error, dict) else {}


def check_passing(reply: object) -> None:
    """Raise NotYet for a temporary error of MediaWiki's API, such as a replication lag."""
    error = find_error(reply)
    code = error.get("code")
    if isinstance(code, str) and code in PASSING:
        raise NotYet(tell_error(error))


def check_accepted(reply: object, url: str) -> None:
    """Raise DatabaseGone if a MediaWiki API response contains an error."""
    if isinstance(reply, dict) and "error" in reply:
        raise DatabaseGone(f"{url}: refused the request: {tell_error(find_error(reply))}")


def tell_error(error: Mapping[str, object]) -> str:
    """Convert a MediaWiki API error to a single line."""
    return f"{tell(error.get('code', ''))}: {tell(error.get('info', ''))}"


def name_server(url: str) -> str:
    """Return a folder name for a server's cached responses: host, port and path without `/w/api.php`."""
    parts = urlsplit(url)
    path = parts.path.removesuffix("/w/api.php")
    return re.sub(r"[^A-Za-z0-9.]+", "-", parts.netloc.lower() + path).strip("-.") or "server"
